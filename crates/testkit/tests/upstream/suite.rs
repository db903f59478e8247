//! The official conformance suite against the upstream itself, and the proxy in front of the gateway.

use serde_json::{Value, json};
use toolyard_testkit::{
    conformance::{ConformanceProxy, run_suite},
    upstream::{FakeUpstream, FixtureSet, OfferListKind, UpstreamOptions},
};

use crate::client::{ask, modern, modern_headers, open, piece, send};

#[tokio::test]
async fn the_upstream_passes_the_conformance_suite() {
    let options = UpstreamOptions { fixtures: FixtureSet::Conformance, ..UpstreamOptions::default() };
    let upstream = FakeUpstream::start_with(options).await;
    let said = run_suite(&upstream.url(), &[]).await.unwrap_or_else(|said| panic!("{said}"));
    assert!(said.contains("2025-11-25: 30 of 30 required, 3 of 3 others"), "{said}");
    // The suite has no checks yet for the status notifications of tasks, so they are not passed.
    assert!(said.contains("2026-07-28: 37 of 37 required, 12 of 13 others"), "{said}");
}

#[tokio::test]
async fn the_conformance_script_fails_where_the_suite_does() {
    let upstream = FakeUpstream::start().await;
    let said = run_suite(&upstream.url(), &["2025-11-25"]).await.expect_err("there are no fixtures");
    assert!(said.contains("pass ping") && said.contains("FAIL tools-call-image"), "{said}");
}

async fn proxy(upstream: &FakeUpstream) -> ConformanceProxy {
    let names = ["--prefix", "mcp_fixture__", "--package", "mcp.fixture"];
    let headers = ["--header", "X-User-Id=ada", "--header", "Authorization=Bearer a=b"];
    ConformanceProxy::start(&upstream.url(), &[names, headers].concat()).await
}

/// The upstream plays the gateway here: its names have the prefix, its URIs the package.
async fn gateway() -> FakeUpstream {
    let upstream = FakeUpstream::start().await;
    let tool = |name: &str| json!({ "name": name, "inputSchema": { "type": "object" } });
    upstream.set_list(OfferListKind::Tools, vec![tool("mcp_fixture__lend"), tool("own_tool")]);
    upstream.set_list(OfferListKind::Prompts, vec![json!({ "name": "mcp_fixture__greet" })]);
    let resource = |uri: &str| json!({ "uri": uri, "name": uri });
    upstream
        .set_list(OfferListKind::Resources, vec![resource("test://mcp.fixture/a"), resource("other://b")]);
    upstream.set_list(
        OfferListKind::Templates,
        vec![json!({ "uriTemplate": "test://mcp.fixture/{id}", "name": "t" })],
    );
    upstream
}

#[tokio::test]
async fn the_proxy_takes_prefixes_off_and_puts_them_on() {
    let gateway = gateway().await;
    let proxy = proxy(&gateway).await;
    let url = proxy.url();
    let list = async |method: &str| ask(url, method, json!({})).await.unwrap().result();
    let names = |items: &Value, key: &str| {
        items.as_array().unwrap().iter().map(|item| item[key].clone()).collect::<Vec<_>>()
    };
    assert_eq!(names(&list("tools/list").await["tools"], "name"), ["lend", "own_tool"]);
    assert_eq!(names(&list("prompts/list").await["prompts"], "name"), ["greet"]);
    assert_eq!(names(&list("resources/list").await["resources"], "uri"), ["test://a", "other://b"]);
    let templates = list("resources/templates/list").await;
    assert_eq!(names(&templates["resourceTemplates"], "uriTemplate"), ["test://{id}"]);

    for (name, long) in [("lend", "mcp_fixture__lend"), ("own_tool", "own_tool")] {
        let called =
            ask(url, "tools/call", json!({ "name": name, "arguments": { "n": 1.0 } })).await.unwrap();
        assert_eq!(called.result()["content"][0]["text"], r#"{"n":1.0}"#, "numbers keep their spelling");
        let seen = gateway.messages("tools/call").pop().unwrap();
        assert_eq!((seen.params["name"].as_str(), seen.header("mcp-name")), (Some(long), Some(long)));
        assert_eq!(seen.header("x-user-id"), Some("ada"));
        assert_eq!(seen.header("authorization"), Some("Bearer a=b"));
    }
    assert_eq!(ask(url, "prompts/get", json!({ "name": "greet" })).await.unwrap().status, 200);
    let read = ask(url, "resources/read", json!({ "uri": "test://a" })).await.unwrap().result();
    assert_eq!(read["contents"][0]["uri"], "test://a");
    let missing = ask(url, "resources/read", json!({ "uri": "test://none" })).await.unwrap();
    assert_eq!(missing.message()["error"]["data"]["uri"], "test://none");
    let reference = json!({ "type": "ref/resource", "uri": "test://{id}" });
    let complete = json!({ "ref": reference, "argument": { "name": "id", "value": "" } });
    assert_eq!(ask(url, "completion/complete", complete).await.unwrap().status, 200);

    let other = ["--prefix", "mcp_fixture__", "--call-prefix", "mcp.fixture:"];
    let proxy = ConformanceProxy::start(&gateway.url(), &other).await;
    ask(proxy.url(), "tools/call", json!({ "name": "lend" })).await.unwrap();
    let seen = gateway.messages("tools/call").pop().unwrap();
    assert_eq!(seen.params["name"], "mcp.fixture:lend");
    assert_eq!(seen.header("mcp-name"), Some("mcp.fixture:lend"));
}

#[tokio::test]
async fn the_proxy_passes_streams_and_hosts_as_they_come() {
    let gateway = gateway().await;
    let proxy = proxy(&gateway).await;
    let url = proxy.url();
    let wanted = json!({ "resourceSubscriptions": ["test://a"], "toolsListChanged": true });
    let message = modern(3, "subscriptions/listen", json!({ "notifications": wanted }));
    let headers = modern_headers(&message);
    let mut stream = open("POST", url, &headers, &message.to_string()).await.unwrap();
    let first = piece(&mut stream).await.unwrap();
    assert!(first.contains(r#"["test://a"]"#), "{first}");
    let filter = &gateway.messages("subscriptions/listen")[0].params["notifications"];
    assert_eq!(filter["resourceSubscriptions"], json!(["test://mcp.fixture/a"]));
    gateway.announce_list(OfferListKind::Tools);
    assert!(piece(&mut stream).await.unwrap().contains("notifications/tools/list_changed"));
    gateway.announce_resource("test://mcp.fixture/a");
    assert!(piece(&mut stream).await.unwrap().contains(r#""uri":"test://a""#));
    drop(stream);
    assert_eq!(
        gateway.wait_cancelled(1).await[0].method,
        "subscriptions/listen",
        "leaving is passed on as well"
    );

    let message = modern(1, "server/discover", json!({}));
    let foreign =
        [modern_headers(&message), vec![("host", "evil.example.com"), ("origin", "http://evil.example.com")]];
    let refused = send("POST", url, &foreign.concat(), &message.to_string()).await.unwrap();
    assert_eq!(refused.status, 403);
    let seen = gateway.messages("server/discover").pop().unwrap();
    assert_eq!(seen.header("host"), Some("evil.example.com"));
    assert_eq!(seen.raw, message.to_string(), "what needs no change is not touched");
}
