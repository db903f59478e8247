//! Upstreams of the configuration file.

use serde_json::json;
use toolyard_protocol::upstream::UpstreamDetails;
use toolyard_server::config::Config;
use toolyard_testkit::upstream::{FakeUpstream, UpstreamEra, UpstreamOptions};

use super::world::{hidden, live, plain, refresh, status, until};
use crate::platform::{Platform, tokens_only};

fn named(config: &mut Config, id: &str, details: serde_json::Value) {
    let details: UpstreamDetails = serde_json::from_value(details).unwrap();
    config.upstreams.insert(id.to_owned(), details);
}

#[tokio::test]
async fn configured_upstreams_exist_from_the_start_and_only_the_file_changes_them() {
    let upstream = FakeUpstream::start_with(UpstreamOptions {
        header: Some(("x-key".to_owned(), "sesame".to_owned())),
        ..UpstreamOptions::default()
    })
    .await;
    let url = upstream.url();
    let p = Platform::with(|config| {
        named(
            config,
            "filed",
            json!({ "url": url, "for_all": true, "headers": { "x-key": "${UPSTREAM_KEY}" } }),
        );
    })
    .await;
    until(async || status(&p, "filed").await, |now| now["tools"] == 4 && now["state"] == "up").await;
    let shown = p.nobody().get("/api/upstreams/filed").await.expect(200).json();
    assert_eq!((&shown["managed"], &shown["owner"]), (&json!(true), &json!("(configuration)")));
    let patch = p.nobody().patch("/api/upstreams/filed", &json!({ "name": "x" })).await.expect(409);
    assert!(patch.text.contains("configuration file"), "{}", patch.text);
    p.nobody().delete("/api/upstreams/filed").await.expect(409);
    p.nobody().post("/api/upstreams", &json!({ "id": "filed", "url": url })).await.expect(409);
    assert_eq!(refresh(&p, "filed").await["state"], "up", "asking is no change");
    live(&p, "ada").await.call("mcp.filed:echo", json!({ "text": "x" })).await.expect(200);
}

#[tokio::test]
async fn an_upstream_removed_from_the_file_is_hidden_and_can_return() {
    let upstream = plain(UpstreamEra::Both).await;
    let url = upstream.url();
    let p = Platform::with(|config| named(config, "filed", json!({ "url": url }))).await;
    refresh(&p, "filed").await;
    live(&p, "ada").await.put("/api/installs/mcp.filed", &json!({})).await.expect(204);
    p.user("ada").put("/api/settings/tools/mcp.filed:fail", &json!({ "enabled": false })).await.expect(204);
    let tools = p.user("ada").tools().await;
    assert_eq!(tools, ["mcp.filed:echo", "mcp.filed:add", "mcp.filed:steps"]);

    let p = p.restart_with(|config| config.upstreams.clear()).await;
    let ada = live(&p, "ada").await;
    assert_eq!(ada.tools().await, [""; 0]);
    let reason = hidden(&ada, "mcp.filed:echo").await;
    assert_eq!(reason, "the upstream filed is no longer in the server's configuration");
    assert_eq!(ada.call("mcp.filed:echo", json!({ "text": "x" })).await.expect(404).code(), "TOOL_NOT_FOUND");
    assert_eq!(status(&p, "filed").await["state"], "disabled");
    let before = upstream.methods().len();
    assert_eq!(refresh(&p, "filed").await["state"], "disabled");
    assert_eq!(upstream.methods().len(), before, "and it is not asked");
    p.nobody().patch("/api/upstreams/filed", &json!({ "name": "x" })).await.expect(409);

    let p = p.restart_with(|config| named(config, "filed", json!({ "url": url }))).await;
    let ada = live(&p, "ada").await;
    assert_eq!(ada.tools().await, tools, "installs and settings are as before");
    ada.call("mcp.filed:echo", json!({ "text": "x" })).await.expect(200);
    assert_eq!(hidden(&ada, "mcp.filed:fail").await, "switched off by the user");
}

#[tokio::test]
async fn an_upstream_removed_from_the_file_can_be_deleted() {
    let upstream = plain(UpstreamEra::Both).await;
    let url = upstream.url();
    let p = Platform::with(|config| named(config, "filed", json!({ "url": url, "for_all": true }))).await;
    refresh(&p, "filed").await;
    let p = p.restart_with(|config| config.upstreams.clear()).await;
    assert_eq!(live(&p, "ada").await.tools().await, [""; 0]);
    p.nobody().delete("/api/upstreams/filed").await.expect(204);
    p.nobody().get("/api/upstreams/filed").await.expect(404);
    p.nobody().post("/api/upstreams", &json!({ "id": "filed", "url": url })).await.expect(201);
}

#[tokio::test]
async fn the_file_may_name_commands_even_if_rest_may_not() {
    let p = Platform::with(|config| {
        tokens_only(config);
        named(config, "program", json!({ "command": "/bin/false" }));
    })
    .await;
    let olga = p.bearer(&p.token("olga", toolyard_server::auth::Role::Operator));
    let seen = olga.post("/api/upstreams/program/refresh", &json!({})).await.expect(200).json();
    assert_eq!((&seen["managed"], &seen["status"]["state"]), (&json!(true), &json!("down")));
}

#[tokio::test]
async fn a_changed_file_takes_effect_at_the_next_start() {
    let upstream = plain(UpstreamEra::Both).await;
    let url = upstream.url();
    let p = Platform::with(|config| named(config, "filed", json!({ "url": url, "for_all": true }))).await;
    refresh(&p, "filed").await;
    let p = p
        .restart_with(|config| {
            named(config, "filed", json!({ "url": url, "for_all": true, "rename": { "echo": "say" } }));
        })
        .await;
    let ada = live(&p, "ada").await;
    assert_eq!(ada.tools().await[0], "mcp.filed:say");
    ada.call("mcp.filed:say", json!({ "text": "x" })).await.expect(200);
    assert_eq!(upstream.messages("tools/call")[0].params["name"], "echo");
}
