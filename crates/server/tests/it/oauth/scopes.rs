//! What a connected client may do: its scopes and apps, in every API, and the step-up.

use serde_json::json;
use toolyard_server::auth::Role;
use toolyard_testkit::AppBehavior;

use super::client::Client;
use crate::{
    approvals::{DELETE, NOTES, answer, notes},
    mcp::client::Ask,
    platform::{Person, Platform, tokens_only},
};

/// The statuses of a client with these scopes: list, read, write and delete a note, chat, account.
async fn statuses(p: &Platform, token: &str) -> Vec<u16> {
    let client = p.bearer(token);
    let call = async |tool: &str| client.call(&format!("{NOTES}:{tool}"), json!({ "id": "milk" })).await;
    let mut found = vec![client.get("/api/tools").await.status.as_u16()];
    for tool in ["look", "read", "delete"] {
        found.push(call(tool).await.status.as_u16());
    }
    found.push(client.post("/api/chat", &json!({ "messages": [] })).await.status.as_u16());
    found.push(client.get("/api/me").await.status.as_u16());
    found.push(client.get("/api/session").await.status.as_u16());
    found
}

#[tokio::test]
async fn scopes_decide_in_every_api() {
    let p = Platform::start().await;
    let (_app, _device) = notes(&p).await;
    let look = json!({ "name": "look", "description": "Looks at a note", "inputSchema": { "type": "object" },
        "annotations": { "readOnlyHint": true } });
    let tools = p.nobody().get(&format!("/api/apps/{NOTES}/tools")).await.expect(200).json();
    let mut all = tools["tools"].as_array().unwrap().clone();
    all.push(look);
    p.nobody().post(&format!("/api/apps/{NOTES}/tools"), &json!({ "tools": all })).await.expect(200);
    let client = Client::register(&p).await;
    // 202: the call waits for an approval, which is another question than the scope.
    for (scope, expected) in [
        ("tools:read", [200, 200, 403, 403, 403, 403, 403]),
        ("tools:write", [200, 200, 200, 403, 403, 403, 403]),
        ("tools:destructive", [200, 200, 200, 202, 403, 403, 403]),
        ("chat", [403, 403, 403, 403, 400, 403, 403]),
        ("account", [403, 403, 403, 403, 403, 200, 200]),
        ("openid", [403, 403, 403, 403, 403, 403, 403]),
    ] {
        let granted = client.connect(&p.user("ada"), scope, json!({})).await;
        assert_eq!(statuses(&p, &granted.access).await, expected, "{scope}");
    }
}

#[tokio::test]
async fn a_client_sees_only_the_apps_that_the_user_chose() {
    let p = Platform::start().await;
    let (_app, _device) = notes(&p).await;
    let (_echo, _device) = p.echo().await;
    let client = Client::register(&p).await;
    let granted = client.connect(&p.user("ada"), "tools:write", json!({ "apps": [NOTES] })).await;
    assert_eq!(granted.body["scope"], format!("tools:write apps:{NOTES}"));
    let bearer = p.bearer(&granted.access);
    let tools = bearer.tools().await;
    assert!(!tools.is_empty() && tools.iter().all(|tool| tool.starts_with(NOTES)), "{tools:?}");
    bearer.call("com.example.echo:echo", json!({ "text": "x" })).await.expect(404);
    let listed = bearer.modern("tools/list", json!({})).await.result();
    assert_eq!(listed["tools"].as_array().unwrap().len(), tools.len());
    // The user can narrow and not widen.
    let wider = json!({ "scopes": ["tools:read", "tools:destructive", "account"] });
    let granted = client.connect(&p.user("ada"), "tools:write", wider).await;
    assert_eq!(granted.body["scope"], "tools:read tools:write");
    let body = json!({ "request": client.request("tools:read").await, "approve": true, "apps": [] });
    p.user("ada").post("/api/oauth/consent", &body).await.expect(400);
    let body = json!({ "request": client.request("tools:read").await, "approve": true, "scopes": ["chat"] });
    p.user("ada").post("/api/oauth/consent", &body).await.expect(400);
}

#[tokio::test]
async fn mcp_names_the_scopes_that_a_call_needs() {
    let p = Platform::start().await;
    let (app, _device) = notes(&p).await;
    let client = Client::register(&p).await;
    let granted = client.connect(&p.user("ada"), "tools:read chat", json!({})).await;
    for ask in [Ask::call("com_example_notes__delete", json!({ "id": "milk" }))] {
        let refused = p.bearer(&granted.access).ask(ask).await.expect(403);
        let challenge = refused.header("www-authenticate").to_owned();
        for part in [
            "Bearer error=\"insufficient_scope\"",
            "scope=\"tools:read tools:destructive chat\"",
            "resource_metadata=\"",
        ] {
            assert!(challenge.contains(part), "{part} in {challenge}");
        }
    }
    assert!(app.requests("/tool").is_empty());
    let only_chat = client.connect(&p.user("ada"), "chat", json!({})).await;
    let refused = p.bearer(&only_chat.access).ask(Ask::modern("tools/list", json!({}))).await.expect(403);
    assert!(refused.header("www-authenticate").contains("scope=\"tools:read\""));
    // With the scopes it works, and the call waits for the user.
    let more = client.connect(&p.user("ada"), "tools:read tools:destructive chat", json!({})).await;
    let waiting =
        p.bearer(&more.access).ask(Ask::call("com_example_notes__delete", json!({ "id": "milk" }))).await;
    assert!(waiting.expect(200).text.contains("/console/approvals/"));
}

#[tokio::test]
async fn a_client_asks_and_only_the_user_answers() {
    let p = Platform::start().await;
    let (app, _device) = notes(&p).await;
    let client = Client::register(&p).await;
    let granted = client.connect(&p.user("ada"), "tools:destructive account chat", json!({})).await;
    let bearer = p.bearer(&granted.access);
    let waiting = bearer.call(DELETE, json!({ "id": "milk" })).await.expect(202).json();
    let id = waiting["pending"]["id"].as_str().unwrap();
    // Whatever the program calls itself, the user reads the name and the host that they agreed to.
    let shown = p.user("ada").get(&format!("/api/approvals/{id}")).await.expect(200).json();
    assert_eq!(shown["requester"]["connected"], json!({ "name": "Claude", "host": "claude.example" }));
    answer(&bearer, id, "approve").await.expect(403);
    let choice = json!({ "choice": "always" });
    bearer.put(&format!("/api/approvals/choices/{DELETE}"), &choice).await.expect(403);
    assert!(app.requests("/tool").is_empty());
    p.user("ada").get(&format!("/api/approvals/{id}/outcome")).await.expect(404);
    answer(&p.user("ada"), id, "approve").await.expect(200);
    app.wait_requests("/tool", 1).await;
    let outcome = bearer.get(&format!("/api/approvals/{id}/outcome?wait=30")).await.expect(200).json();
    assert_eq!(outcome["content"], "deleted");

    // A client that was disconnected meanwhile gets nothing done.
    let waiting = bearer.call(DELETE, json!({ "id": "bread" })).await.expect(202).json();
    let clients = p.user("ada").get("/api/clients").await.expect(200).json();
    let grant = clients["clients"][0]["id"].as_str().unwrap();
    p.user("ada").delete(&format!("/api/clients/{grant}")).await.expect(204);
    let id = waiting["pending"]["id"].as_str().unwrap();
    answer(&p.user("ada"), id, "approve").await.expect(200);
    let state = loop {
        let shown = p.user("ada").get(&format!("/api/approvals/{id}")).await.expect(200).json();
        match shown["state"].as_str().unwrap() {
            "approved" | "running" => tokio::task::yield_now().await,
            ended => break ended.to_owned(),
        }
    };
    assert_eq!((state.as_str(), app.requests("/tool").len()), ("void", 1));
}

#[tokio::test]
async fn a_client_gets_placeholders_and_keys_of_its_own() {
    let p = Platform::start().await;
    let (app, _device) = p.echo().await;
    app.set_behavior(AppBehavior::reply("the key is ghp_0123456789abcdefghijklmnopqrstuvwxyz01"));
    let client = Client::register(&p).await;
    let granted = client.connect(&p.user("ada"), "tools:write", json!({})).await;
    let call = async |who: &Person<'_>| {
        let keyed = who.clone().header("idempotency-key", "same");
        keyed.call("com.example.echo:echo", json!({ "text": "x" })).await.expect(200).text
    };
    let (own, clients) = (call(&p.user("ada")).await, call(&p.bearer(&granted.access)).await);
    assert!(own.contains("ghp_0123"), "a person reads it: {own}");
    assert!(!clients.contains("ghp_0123"), "a client passes it to a model: {clients}");
    assert_eq!(app.requests("/tool").len(), 2, "the same key of another caller is another key");
}

#[tokio::test]
async fn a_client_is_neither_a_device_nor_more_than_its_user() {
    let p = Platform::with(tokens_only).await;
    let root = p.bearer(&p.token("root", Role::Operator));
    let client = Client::register(&p).await;
    let granted = client.connect(&root, "tools:destructive account", json!({})).await;
    let bearer = p.bearer(&granted.access);
    bearer.get("/api/tools").await.expect(200);
    // Connected by an operator, it is still a user's client.
    bearer.post("/api/apps", &json!({ "packageName": "com.example.new" })).await.expect(403);
    bearer.clone().header("x-user-id", "ada").get("/api/tools").await.expect(403);
    let url = format!("{}/glasses-ws", p.url.replace("http", "ws"));
    let mut request =
        tokio_tungstenite::tungstenite::client::IntoClientRequest::into_client_request(url).unwrap();
    let value = format!("Bearer {}", granted.access).parse().unwrap();
    request.headers_mut().insert("authorization", value);
    let refused = tokio_tungstenite::connect_async(request).await.unwrap_err();
    let tokio_tungstenite::tungstenite::Error::Http(response) = refused else { panic!("{refused}") };
    assert_eq!(response.status(), 401, "not with this token");
    bearer.post("/api/glasses/ticket", &json!({})).await.expect(403);
    // What lets others act for the user is the user's own decision.
    bearer.put("/api/installs/com.example.any/assistant", &json!({})).await.expect(403);
    let change = json!({ "answer": "accept", "digest": "00".repeat(32) });
    bearer.post(&format!("/api/definitions/{}", "0".repeat(32)), &change).await.expect(403);
}
