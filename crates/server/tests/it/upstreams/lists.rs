//! Many upstreams, one list: aliases, canonical names, and URIs that stay apart.

use serde_json::{Value, json};
use toolyard_testkit::upstream::{OfferListKind, UpstreamEra};

use super::world::{add, full, live, names, plain, text, tool};
use crate::{
    mcp::client::LEGACY,
    platform::{Person, Platform},
};

async fn list(person: &Person<'_>, method: &str, member: &str) -> Vec<Value> {
    person.modern(method, json!({})).await.result()[member].as_array().unwrap().clone()
}

#[tokio::test]
async fn tools_of_all_upstreams_are_listed_under_distinct_names() {
    let p = Platform::start().await;
    let (first, second) = (plain(UpstreamEra::Modern).await, plain(UpstreamEra::Legacy).await);
    first.set_list(OfferListKind::Tools, vec![tool("same"), tool("only-first")]);
    second.set_list(OfferListKind::Tools, vec![tool("same"), tool("x.y/z")]);
    add(&p, "first", &first.url()).await;
    add(&p, "second", &second.url()).await;
    let (_app, _device) = p.echo().await;
    let ada = p.user("ada");
    let tools = list(&ada, "tools/list", "tools").await;
    let canonical: Vec<_> =
        tools.iter().map(|tool| tool["_meta"]["toolyard/name"].as_str().unwrap()).collect();
    let expected = [
        "com.example.echo:echo",
        "mcp.first:same",
        "mcp.first:only-first",
        "mcp.second:same",
        "mcp.second:x.y/z",
    ];
    assert_eq!(canonical, expected);
    assert_eq!(ada.tools().await, expected, "REST has the same");
    for tool in &tools {
        let alias = tool["name"].as_str().unwrap();
        assert!(
            alias.len() <= 64 && alias.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_'),
            "{alias}"
        );
    }
    // Each can be called by both names, and reaches its own server under the original name.
    let odd = tools[4]["name"].as_str().unwrap();
    ada.run(tools[1]["name"].as_str().unwrap(), json!({})).await;
    ada.run("mcp.second:same", json!({})).await;
    ada.run(odd, json!({ "a": 1 })).await;
    let called = |upstream: &toolyard_testkit::upstream::FakeUpstream| {
        let seen = upstream.messages("tools/call");
        seen.iter().map(|seen| seen.params["name"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(called(&first), ["same"]);
    assert_eq!(called(&second), ["same", "x.y/z"]);
}

#[tokio::test]
async fn prompts_resources_and_templates_of_all_upstreams_are_listed_and_routed_back() {
    let p = Platform::start().await;
    let (one, two) = (full(UpstreamEra::Modern).await, full(UpstreamEra::Legacy).await);
    add(&p, "one", &one.url()).await;
    add(&p, "two", &two.url()).await;
    let ada = p.user("ada");
    let prompts = list(&ada, "prompts/list", "prompts").await;
    assert_eq!(prompts.len(), 10);
    assert_eq!(prompts[0]["name"], "mcp_one__test_simple_prompt");
    assert_eq!(prompts[0]["_meta"]["toolyard/name"], "mcp.one:test_simple_prompt");
    assert_eq!(prompts[5]["_meta"]["toolyard/name"], "mcp.two:test_simple_prompt");
    let resources = names(&ada, "resources/list").await;
    assert_eq!(resources.len(), 6);
    assert_eq!(
        (&*resources[0], &*resources[3]),
        ("test://mcp.one/static-text", "test://mcp.two/static-text")
    );
    let templates = names(&ada, "resources/templates/list").await;
    assert_eq!(templates, ["test://mcp.one/template/{id}/data", "test://mcp.two/template/{id}/data"]);

    // Listed items can be requested, and each upstream gets its original names.
    for (name, upstream) in [("mcp_one__test_simple_prompt", &one), ("mcp.two:test_simple_prompt", &two)] {
        let got = ada.modern("prompts/get", json!({ "name": name })).await.result();
        assert!(got["messages"][0]["content"]["text"].as_str().unwrap().contains("simple prompt"));
        assert_eq!(upstream.messages("prompts/get").last().unwrap().params["name"], "test_simple_prompt");
    }
    for (uri, upstream, own) in [
        ("test://mcp.one/static-text", &one, "test://static-text"),
        ("test://mcp.two/static-text", &two, "test://static-text"),
        ("test://mcp.two/template/7/data", &two, "test://template/7/data"),
    ] {
        let read = ada.modern("resources/read", json!({ "uri": uri })).await.result();
        assert_eq!(read["contents"][0]["uri"], uri, "under the name that was asked for");
        assert_eq!(upstream.messages("resources/read").last().unwrap().params["uri"], own);
    }
    // The original URI would be ambiguous.
    let either = ada.modern("resources/read", json!({ "uri": "test://static-text" })).await;
    assert_eq!(either.refusal(), (200, -32602), "{}", either.text);
}

#[tokio::test]
async fn a_resource_that_one_upstream_alone_has_is_read_under_either_name() {
    let p = Platform::start().await;
    let (one, two) = (full(UpstreamEra::Modern).await, plain(UpstreamEra::Modern).await);
    add(&p, "one", &one.url()).await;
    add(&p, "two", &two.url()).await;
    let session = p.user("ada").handshake(LEGACY).await;
    for uri in ["test://static-text", "test://mcp.one/static-text"] {
        let read = session.ask("resources/read", json!({ "uri": uri })).await.result();
        assert_eq!(read["contents"][0]["uri"], uri);
        assert_eq!(read["contents"][0]["text"], "This is the content of the static text resource.");
        assert!(read["resultType"].is_null(), "in the words of its era");
    }
    let foreign = session.ask("resources/read", json!({ "uri": "test://mcp.two/static-text" })).await;
    assert_eq!(foreign.refusal(), (200, -32002), "{}", foreign.text);
}

#[tokio::test]
async fn ui_resources_keep_their_scheme_and_can_be_read() {
    let p = Platform::start().await;
    let upstream = full(UpstreamEra::Modern).await;
    let page = json!({ "name": "show", "inputSchema": { "type": "object" }, "_meta": {
        "ui": { "resourceUri": "ui://widget/main.html", "visibility": ["model", "app"] },
        "openai/outputTemplate": "ui://widget/main.html", "vendor": { "kept": true } } });
    upstream.set_list(OfferListKind::Tools, vec![page]);
    let html = "text/html;profile=mcp-app";
    upstream.set_list(
        OfferListKind::Resources,
        vec![json!({ "uri": "ui://widget/main.html", "name": "w", "mimeType": html })],
    );
    add(&p, "ui", &upstream.url()).await;
    let ada = live(&p, "ada").await;
    let listed = list(&ada, "tools/list", "tools").await;
    let meta = &listed[0]["_meta"];
    let uri = "ui://mcp.ui/widget/main.html";
    assert_eq!(meta["ui"], json!({ "resourceUri": uri, "visibility": ["model", "app"] }));
    assert_eq!((&meta["openai/outputTemplate"], &meta["vendor"]), (&json!(uri), &json!({ "kept": true })));
    assert_eq!(names(&ada, "resources/list").await, [uri]);
    let read = ada.modern("resources/read", json!({ "uri": uri })).await.result();
    assert_eq!((&read["contents"][0]["uri"], &read["contents"][0]["mimeType"]), (&json!(uri), &json!(html)));
    assert_eq!(upstream.messages("resources/read")[0].params["uri"], "ui://widget/main.html");
}

#[tokio::test]
async fn links_in_results_can_be_followed() {
    use toolyard_testkit::upstream::{InjectedFault, RequestMatch};
    let p = Platform::start().await;
    let upstream = full(UpstreamEra::Modern).await;
    let link = json!({ "type": "resource_link", "uri": "test://static-text", "name": "text" });
    upstream.inject_fault(
        RequestMatch::for_tool("test_simple_text"),
        InjectedFault::Result(json!({ "content": [link] })),
    );
    add(&p, "one", &upstream.url()).await;
    let ada = p.user("ada");
    let result = ada.run("mcp.one:test_simple_text", json!({})).await;
    let uri = &result["content"][0]["uri"];
    assert_eq!(uri, "test://mcp.one/static-text");
    ada.modern("resources/read", json!({ "uri": uri })).await.result();
    upstream.clear_faults();
    assert!(text(&ada.run("mcp.one:test_simple_text", json!({})).await).contains("simple text"));
}
