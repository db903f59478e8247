//! Upstreams for one test, and the ways to add them and to ask through them.

use serde_json::{Value, json};
use toolyard_protocol::mcp::meta;
use toolyard_testkit::upstream::{FakeUpstream, FixtureSet, UpstreamEra, UpstreamOptions};

use crate::{
    mcp::client::{Ask, LEGACY, Session, hello, soon},
    platform::{Person, Platform},
};

/// An upstream with all fixtures of the conformance suite.
pub(crate) async fn full(era: UpstreamEra) -> FakeUpstream {
    FakeUpstream::start_with(UpstreamOptions {
        era,
        fixtures: FixtureSet::Conformance,
        ..UpstreamOptions::default()
    })
    .await
}

/// An upstream with a few plain tools.
pub(crate) async fn plain(era: UpstreamEra) -> FakeUpstream {
    FakeUpstream::start_with(UpstreamOptions { era, ..UpstreamOptions::default() }).await
}

/// A tool without arguments. Its description has its name, so that two of them are different tools.
pub(crate) fn tool(name: &str) -> Value {
    json!({ "name": name, "description": format!("The tool {name}."), "inputSchema": { "type": "object" } })
}

/// Adds an upstream for all users, refreshes it, and returns its status.
pub(crate) async fn add(p: &Platform, id: &str, url: &str) -> Value {
    add_with(p, id, json!({ "url": url })).await
}

/// The same, with other details.
pub(crate) async fn add_with(p: &Platform, id: &str, details: Value) -> Value {
    create(p, id, details).await;
    refresh(p, id).await
}

/// Adds an upstream for all users without waiting for it.
pub(crate) async fn create(p: &Platform, id: &str, details: Value) {
    let mut body = json!({ "id": id, "forAll": true });
    body.as_object_mut().unwrap().extend(details.as_object().unwrap().clone());
    p.nobody().post("/api/upstreams", &body).await.expect(201);
}

/// Refreshes an upstream and returns its status.
pub(crate) async fn refresh(p: &Platform, id: &str) -> Value {
    let path = format!("/api/upstreams/{id}/refresh");
    soon(p.nobody().post(&path, &json!({}))).await.expect(200).json()["status"].clone()
}

/// The status of an upstream, without a refresh.
pub(crate) async fn status(p: &Platform, id: &str) -> Value {
    p.nobody().get(&format!("/api/upstreams/{id}")).await.expect(200).json()["status"].clone()
}

/// A user with a session.
pub(crate) async fn live<'a>(p: &'a Platform, user: &str) -> Person<'a> {
    p.user(user).modern("server/discover", json!({})).await.result();
    p.user(user)
}

/// A session of a client with these capabilities.
pub(crate) async fn session_with<'a>(p: &'a Platform, user: &str, capabilities: Value) -> Session<'a> {
    let mut params = hello(LEGACY);
    params["capabilities"] = capabilities;
    let answer = p.user(user).ask(Ask::legacy("initialize", params)).await.expect(200);
    let id = answer.header("mcp-session-id").to_owned();
    Session { person: p.user(user).header("mcp-session-id", &id), id, result: answer.result() }
}

/// A modern request of a client with these capabilities.
pub(crate) fn declaring(ask: Ask, capabilities: Value) -> Ask {
    ask.meta(meta::CLIENT_CAPABILITIES, capabilities)
}

/// The names in a list of the MCP door.
pub(crate) async fn names(person: &Person<'_>, method: &str) -> Vec<String> {
    let result = person.modern(method, json!({})).await.result();
    let (member, name) = match method {
        "tools/list" => ("tools", "name"),
        "prompts/list" => ("prompts", "name"),
        "resources/list" => ("resources", "uri"),
        _ => ("resourceTemplates", "uriTemplate"),
    };
    result[member].as_array().unwrap().iter().map(|one| one[name].as_str().unwrap().to_owned()).collect()
}

/// The text of a result with one text.
pub(crate) fn text(result: &Value) -> &str {
    result["content"][0]["text"].as_str().unwrap_or_else(|| panic!("no text: {result}"))
}

/// Why a tool is hidden from a user. Empty if it is visible.
pub(crate) async fn hidden(person: &Person<'_>, name: &str) -> String {
    let listed = person.get("/api/tools?hidden=true").await.expect(200).json();
    let all = listed["hidden"].as_array().unwrap();
    let found = all.iter().find(|one| one["name"] == name);
    found.map(|one| one["reason"].as_str().unwrap().to_owned()).unwrap_or_default()
}

/// Repeats a request until the response matches. Each attempt is a whole request, so no sleep is needed.
pub(crate) async fn until<T>(mut ask: impl AsyncFnMut() -> T, fits: impl Fn(&T) -> bool) -> T {
    soon(async {
        loop {
            let answer = ask().await;
            if fits(&answer) {
                return answer;
            }
        }
    })
    .await
}
