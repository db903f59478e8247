//! Headers, variables and client secrets: sent to the upstream, and never shown.

use serde_json::{Value, json};
use toolyard_testkit::upstream::{FakeUpstream, UpstreamEra, UpstreamOptions};

use super::world::{add, add_with, live, plain, refresh};
use crate::platform::Platform;

const SECRET: &str = "s3cret-of-the-upstream";

/// An upstream that requires the header.
async fn guarded() -> FakeUpstream {
    let header = Some(("x-api-key".to_owned(), SECRET.to_owned()));
    FakeUpstream::start_with(UpstreamOptions { header, ..UpstreamOptions::default() }).await
}

/// The content of all files in the data folder.
fn stored(p: &Platform) -> Vec<u8> {
    let folder = p.data().parent().unwrap().to_owned();
    let files = std::fs::read_dir(folder).unwrap().map(|file| file.unwrap().path());
    files.filter(|file| file.is_file()).flat_map(|file| std::fs::read(file).unwrap()).collect()
}

fn holds(bytes: &[u8], text: &str) -> bool {
    bytes.windows(text.len()).any(|window| window == text.as_bytes())
}

#[tokio::test]
async fn secrets_are_sent_to_the_upstream_and_in_no_response() {
    let p = Platform::start().await;
    let upstream = guarded().await;
    let details =
        json!({ "url": upstream.url(), "headers": { "x-api-key": SECRET, "x-open": "${UPSTREAM_KEY}" } });
    let body = json!({ "id": "up", "forAll": true, "url": details["url"], "headers": details["headers"] });
    let mut said = vec![p.nobody().post("/api/upstreams", &body).await.expect(201).text];
    said.push(p.nobody().post("/api/upstreams/up/refresh", &json!({})).await.expect(200).text);
    said.push(p.nobody().get("/api/upstreams").await.expect(200).text);
    said.push(p.nobody().get("/api/upstreams/up").await.expect(200).text);
    said.push(p.nobody().patch("/api/upstreams/up", &json!({ "name": "Up" })).await.expect(200).text);
    let ada = live(&p, "ada").await;
    said.push(ada.get("/api/tools?hidden=true").await.expect(200).text);
    said.push(p.nobody().get("/api/apps").await.expect(200).text);
    for text in &said {
        assert!(!text.contains(SECRET) && !text.contains("sesame"), "{text}");
    }
    let shown: Value = serde_json::from_str(&said[4]).unwrap();
    let headers = &shown["details"]["headers"];
    assert_eq!(headers, &json!({ "x-api-key": "(sealed)", "x-open": "${UPSTREAM_KEY}" }));

    ada.call("mcp.up:echo", json!({ "text": "x" })).await.expect(200);
    let seen = upstream.messages("tools/call");
    assert_eq!((seen[0].header("x-api-key"), seen[0].header("x-open")), (Some(SECRET), Some("sesame")));
}

#[tokio::test]
async fn a_change_keeps_the_secrets_that_it_does_not_replace() {
    let p = Platform::start().await;
    let upstream = guarded().await;
    add_with(&p, "up", json!({ "url": upstream.url(), "headers": { "x-api-key": SECRET, "x-other": "o" } }))
        .await;
    let patch = async |patch: Value| {
        p.nobody().patch("/api/upstreams/up", &patch).await.expect(200);
        refresh(&p, "up").await["state"].clone()
    };
    let ada = live(&p, "ada").await;
    let sent = async || {
        ada.call("mcp.up:echo", json!({ "text": "x" })).await.expect(200);
        let last = upstream.messages("tools/call").last().unwrap().clone();
        ["x-api-key", "x-other"].map(|name| last.header(name).map(str::to_owned))
    };
    assert_eq!(patch(json!({ "name": "Up" })).await, "up");
    // A response of the API can be changed and sent back.
    let shown = json!({ "headers": { "x-api-key": "(sealed)", "x-other": "new" } });
    assert_eq!(patch(shown).await, "up");
    assert_eq!(sent().await, [Some(SECRET.to_owned()), Some("new".to_owned())]);
    assert_eq!(patch(json!({ "headers": { "x-other": "(sealed)" } })).await, "needs-authorization");
    let refused = ada.call("mcp.up:echo", json!({ "text": "x" })).await.expect(503);
    assert!(refused.text.contains("the operator"), "no user can help: {}", refused.text);
    assert_eq!(patch(json!({ "headers": { "x-api-key": SECRET } })).await, "up");
    assert_eq!(sent().await, [Some(SECRET.to_owned()), None]);
}

#[tokio::test]
async fn secrets_are_sealed_in_the_store() {
    let p = Platform::start().await;
    let upstream = guarded().await;
    let details = json!({ "url": upstream.url(), "headers": { "x-api-key": SECRET } });
    add_with(&p, "up", details).await;
    let oauth = json!({ "id": "oauth", "url": upstream.url(), "auth": "oauth", "clientId": "the-client-id",
        "clientSecret": "the-client-secret" });
    p.nobody().post("/api/upstreams", &oauth).await.expect(201);
    let env = json!({ "id": "env", "command": "/bin/false", "env": { "KEY": "the-variable" } });
    let env = p.nobody().post("/api/upstreams", &env).await.expect(201).json();
    assert_eq!(env["details"]["env"], json!({ "KEY": "(sealed)" }));
    let bytes = stored(&p);
    assert!(holds(&bytes, "the-client-id"), "this looks at the right place");
    for secret in [SECRET, "the-client-secret", "the-variable"] {
        assert!(!holds(&bytes, secret), "{secret}");
    }
}

#[tokio::test]
async fn secrets_outlive_the_root_key_they_were_sealed_with() {
    let (old, new) = ("11".repeat(32), "22".repeat(32));
    let p = Platform::with(|config| config.auth.root_key = Some(old.clone())).await;
    let upstream = guarded().await;
    add_with(&p, "up", json!({ "url": upstream.url(), "headers": { "x-api-key": SECRET } })).await;
    let p = p
        .restart_with(|config| {
            config.auth.root_key = Some(new.clone());
            config.auth.old_root_key = Some(old.clone());
        })
        .await;
    assert_eq!(refresh(&p, "up").await["state"], "up");
    let p = p.restart_with(|config| config.auth.old_root_key = None).await;
    assert_eq!(refresh(&p, "up").await["state"], "up", "the old key is not needed any more");
    live(&p, "ada").await.call("mcp.up:echo", json!({ "text": "x" })).await.expect(200);
}

#[tokio::test]
async fn an_upstream_whose_secrets_cannot_be_opened_is_reported_and_can_be_fixed() {
    let p = Platform::with(|config| config.auth.root_key = Some("11".repeat(32))).await;
    let (upstream, other) = (guarded().await, plain(UpstreamEra::Both).await);
    add_with(&p, "up", json!({ "url": upstream.url(), "headers": { "x-api-key": SECRET } })).await;
    let p = p
        .restart_with(|config| {
            config.auth.root_key = Some("22".repeat(32));
            config.auth.accept_new_root_key = true;
        })
        .await;
    let lost = refresh(&p, "up").await;
    assert_eq!((&lost["state"], &lost["tools"]), (&json!("down"), &json!(4)), "its list stays");
    assert!(lost["problem"].is_string());
    add(&p, "other", &other.url()).await;
    p.nobody()
        .patch("/api/upstreams/up", &json!({ "headers": { "x-api-key": "(sealed)" } }))
        .await
        .expect(400);
    p.nobody().patch("/api/upstreams/up", &json!({ "headers": { "x-api-key": SECRET } })).await.expect(200);
    assert_eq!(refresh(&p, "up").await["state"], "up");
}

#[tokio::test]
async fn a_missing_environment_variable_is_named_to_the_operator_only() {
    let p = Platform::start().await;
    let upstream = plain(UpstreamEra::Both).await;
    let details = json!({ "url": upstream.url(), "headers": { "x-key": "${NOT_THERE}" } });
    let status = add_with(&p, "up", details).await;
    assert_eq!(status["state"], "down");
    assert!(status["problem"].as_str().unwrap().contains("NOT_THERE"), "{status}");
    assert!(upstream.methods().is_empty());
}

#[tokio::test]
async fn secrets_are_not_sent_to_another_address() {
    let p = Platform::start().await;
    let (upstream, evil) = (guarded().await, plain(UpstreamEra::Modern).await);
    let headers = json!({ "x-api-key": SECRET, "x-open": "${UPSTREAM_KEY}" });
    add_with(&p, "up", json!({ "url": upstream.url(), "headers": headers })).await;
    for patch in [
        json!({ "url": evil.url() }),
        json!({ "url": evil.url(), "headers": { "x-api-key": "(sealed)" } }),
        json!({ "url": evil.url(), "name": "x" }),
    ] {
        let refused = p.nobody().patch("/api/upstreams/up", &patch).await.expect(400);
        assert!(
            refused.text.contains("headers") && refused.text.contains("another address"),
            "{}",
            refused.text
        );
    }
    assert!(evil.methods().is_empty());
    assert_eq!(refresh(&p, "up").await["state"], "up", "nothing is lost");
    // The same server under another path is the same server.
    let path = format!("{}?v=2", upstream.url());
    p.nobody().patch("/api/upstreams/up", &json!({ "url": path })).await.expect(200);
    assert_eq!(refresh(&p, "up").await["state"], "up");
    for headers in [json!(null), json!({ "x-api-key": "for the new one" })] {
        let patch = json!({ "url": evil.url(), "headers": headers });
        p.nobody().patch("/api/upstreams/up", &patch).await.expect(200);
        assert_eq!(refresh(&p, "up").await["state"], "up");
    }
    let keys: Vec<_> =
        evil.messages("tools/list").iter().map(|one| one.header("x-api-key").map(str::to_owned)).collect();
    assert!(!keys.contains(&Some(SECRET.to_owned())), "{keys:?}");
    assert_eq!(keys.last().unwrap().as_deref(), Some("for the new one"));
}
