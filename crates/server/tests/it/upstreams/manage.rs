//! `/api/upstreams`: add, read, change, remove, refresh, and every invalid request.

use serde_json::{Value, json};
use toolyard_testkit::upstream::{FakeUpstream, OfferListKind, UpstreamEra};

use super::world::{add, hidden, live, plain, refresh, status, tool};
use crate::platform::Platform;

async fn problems(p: &Platform, body: Value) -> String {
    let answer = p.nobody().post("/api/upstreams", &body).await.expect(400);
    answer.json()["error"].to_string()
}

#[tokio::test]
async fn an_upstream_can_be_added_read_changed_and_removed() {
    let p = Platform::start().await;
    let upstream = FakeUpstream::start().await;
    let body = json!({ "id": "echo", "url": upstream.url(), "name": "Echo", "forAll": true });
    let created = p.nobody().post("/api/upstreams", &body).await.expect(201).json();
    assert_eq!(
        (&created["id"], &created["packageName"], &created["owner"], &created["managed"]),
        (&json!("echo"), &json!("mcp.echo"), &json!("dev"), &json!(false))
    );
    assert_eq!(created["details"]["url"], upstream.url());

    let listed = refresh(&p, "echo").await;
    assert_eq!((&listed["state"], &listed["tools"]), (&json!("up"), &json!(4)));
    assert_eq!((&listed["revision"], &listed["problem"]), (&json!("2026-07-28"), &Value::Null));
    assert!(listed["listedAt"].is_string());
    let all = p.nobody().get("/api/upstreams").await.expect(200).json();
    assert_eq!(all["upstreams"][0]["id"], "echo");
    let ada = live(&p, "ada").await;
    assert_eq!(ada.tools().await, ["mcp.echo:echo", "mcp.echo:add", "mcp.echo:fail", "mcp.echo:steps"]);
    let answer = ada.call("mcp.echo:echo", json!({ "text": "hi" })).await.expect(200);
    assert_eq!(answer.json()["content"], "hi");

    let path = "/api/upstreams/echo";
    let patch = json!({ "name": null, "description": "Says it again", "exclude": ["fail"] });
    let changed = p.nobody().patch(path, &patch).await.expect(200).json();
    assert_eq!(
        (&changed["details"]["name"], &changed["details"]["description"]),
        (&Value::Null, &json!("Says it again"))
    );
    assert_eq!(changed["details"]["url"], upstream.url(), "what is missing stays");
    assert_eq!(ada.tools().await, ["mcp.echo:echo", "mcp.echo:add", "mcp.echo:steps"]);

    p.nobody().delete(path).await.expect(204);
    p.nobody().get(path).await.expect(404);
    p.nobody().delete(path).await.expect(404);
    assert_eq!(ada.tools().await, [""; 0]);
    assert_eq!(ada.call("mcp.echo:echo", json!({ "text": "hi" })).await.expect(404).code(), "TOOL_NOT_FOUND");
}

#[tokio::test]
async fn every_problem_of_an_upstream_is_reported() {
    let p = Platform::start().await;
    let url = "http://127.0.0.1:9/mcp";
    for id in ["", "Echo", "e c", "-e", &"e".repeat(41)] {
        let said = problems(&p, json!({ "id": id, "url": url })).await;
        assert!(said.contains("1 to 40 of a-z"), "{id}: {said}");
    }
    for (details, words) in [
        (json!({}), "either `url` or `command`"),
        (json!({ "url": url, "command": "x" }), "either `url` or `command`"),
        (json!({ "url": url, "args": ["x"] }), "belong to a command"),
        (json!({ "command": "x", "headers": { "a": "b" } }), "belong to a URL"),
        (json!({ "command": "" }), "expected a program"),
        (json!({ "url": "not a url" }), "\"url\""),
        (json!({ "url": "ftp://127.0.0.1/mcp" }), "\"url\""),
        (json!({ "url": "http://ada:secret@127.0.0.1/mcp" }), "\"url\""),
        (json!({ "url": url, "colour": "red" }), "colour"),
        (json!({ "url": url, "forAll": "yes" }), "forAll"),
        (json!({ "url": url, "auth": "magic" }), "auth"),
        (json!({ "url": url, "scopes": ["a"] }), "need `\\\"auth\\\": \\\"oauth\\\"`"),
        (json!({ "url": url, "auth": "oauth", "issuer": "https://as" }), "belong to a `clientId`"),
        (json!({ "url": url, "rename": { "a": "b c" } }), "rename.a"),
        (json!({ "url": url, "include": vec!["x"; 65] }), "at most 64"),
        (json!({ "url": url, "exclude": ["x".repeat(4097)] }), "4096 bytes"),
        (json!({ "url": url, "callTimeoutMs": 0 }), "callTimeoutMs"),
        (json!({ "url": url, "callTimeoutMs": 300_001 }), "callTimeoutMs"),
        (json!({ "url": url, "name": "n".repeat(1_000) }), "\"name\""),
        (json!({ "url": url, "headers": { "a": "(sealed)" } }), "(sealed)"),
    ] {
        let mut body = json!({ "id": "fine" });
        body.as_object_mut().unwrap().extend(details.as_object().unwrap().clone());
        let said = problems(&p, body).await;
        assert!(said.contains(words), "{details}: {said}");
    }
    let many =
        problems(&p, json!({ "id": "fine", "command": "", "rename": { "a": " " }, "callTimeoutMs": 0 }))
            .await;
    for word in ["command", "rename.a", "callTimeoutMs"] {
        assert!(many.contains(word), "all at once: {many}");
    }
    assert_eq!(p.nobody().get("/api/upstreams").await.json()["upstreams"], json!([]));
}

#[tokio::test]
async fn an_upstream_id_is_unique_and_no_app_can_have_its_package() {
    let p = Platform::start().await;
    let upstream = plain(UpstreamEra::Both).await;
    add(&p, "one", &upstream.url()).await;
    let again = json!({ "id": "one", "url": upstream.url() });
    let answer = p.nobody().post("/api/upstreams", &again).await.expect(409);
    assert!(answer.text.contains("already"), "{}", answer.text);
    p.nobody().post("/api/apps", &json!({ "packageName": "mcp.two" })).await.expect(400);
    for path in ["/api/upstreams/two", "/api/upstreams/Two", "/api/upstreams/mcp.one"] {
        p.nobody().get(path).await.expect(404);
        p.nobody().patch(path, &json!({ "name": "x" })).await.expect(404);
        p.nobody().post(&format!("{path}/refresh"), &json!({})).await.expect(404);
    }
}

#[tokio::test]
async fn an_invalid_update_of_an_upstream_changes_nothing() {
    let p = Platform::start().await;
    let upstream = plain(UpstreamEra::Both).await;
    add(&p, "one", &upstream.url()).await;
    let before = p.nobody().get("/api/upstreams/one").await.json()["details"].clone();
    for patch in [
        json!({ "command": "x" }),
        json!({ "url": null }),
        json!({ "colour": "red" }),
        json!({ "url": "not a url" }),
        json!({ "headers": { "b": "(sealed)" } }),
    ] {
        p.nobody().patch("/api/upstreams/one", &patch).await.expect(400);
    }
    assert_eq!(p.nobody().get("/api/upstreams/one").await.json()["details"], before);
}

#[tokio::test]
async fn a_refresh_returns_the_status_and_the_time_of_the_listing() {
    let p = Platform::start().await;
    let upstream = plain(UpstreamEra::Both).await;
    let first = add(&p, "one", &upstream.url()).await;
    p.clock.advance(60);
    upstream.set_list(OfferListKind::Tools, vec![tool("new")]);
    let second = refresh(&p, "one").await;
    assert_eq!(second["tools"], 1);
    assert_ne!(first["listedAt"], second["listedAt"]);
    p.clock.advance(60);
    let third = refresh(&p, "one").await;
    assert_ne!(second["listedAt"], third["listedAt"], "read again, and the same");
    upstream.take_down().await;
    p.clock.advance(60);
    let fourth = refresh(&p, "one").await;
    assert_eq!((&fourth["state"], &fourth["tools"]), (&json!("down"), &json!(1)));
    assert_eq!(fourth["listedAt"], third["listedAt"], "as old as it is");
    assert!(fourth["problem"].as_str().unwrap().contains("not sent"), "{fourth}");
    assert_eq!(status(&p, "one").await["state"], "down");
}

#[tokio::test]
async fn a_new_address_takes_effect_immediately() {
    let p = Platform::start().await;
    let (first, second) = (plain(UpstreamEra::Both).await, plain(UpstreamEra::Legacy).await);
    second.set_list(OfferListKind::Tools, vec![tool("other")]);
    add(&p, "one", &first.url()).await;
    p.nobody().patch("/api/upstreams/one", &json!({ "url": second.url() })).await.expect(200);
    let now = refresh(&p, "one").await;
    assert_eq!((&now["revision"], &now["tools"]), (&json!("2025-11-25"), &json!(1)));
    let ada = live(&p, "ada").await;
    assert_eq!(ada.tools().await, ["mcp.one:other"]);
    assert_eq!(hidden(&ada, "mcp.one:echo").await, "");
    ada.call("mcp.one:other", json!({})).await.expect(200);
    assert!(first.messages("tools/call").is_empty());
}

#[tokio::test]
async fn a_removed_upstream_can_be_added_again() {
    let p = Platform::start().await;
    let upstream = plain(UpstreamEra::Both).await;
    for _ in 0..5 {
        add(&p, "one", &upstream.url()).await;
        p.nobody().delete("/api/upstreams/one").await.expect(204);
    }
    add(&p, "one", &upstream.url()).await;
    // Changes of the new server are noticed without a refresh.
    upstream.set_list(OfferListKind::Tools, vec![tool("late")]);
    upstream.wait_listening(1).await;
    let ada = live(&p, "ada").await;
    super::world::until(
        async || {
            upstream.announce_list(OfferListKind::Tools);
            ada.tools().await
        },
        |tools| tools == &["mcp.one:late"],
    )
    .await;
}
