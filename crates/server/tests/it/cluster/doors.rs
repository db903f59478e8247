//! What begins on one node continues on another: MCP sessions, chats, approvals, authorizations, the feed of calls.

use http::Method;
use serde_json::json;
use toolyard_server::config::{CallingMode, ModelConfig};
use toolyard_testkit::{
    AppBehavior, FakeApp, FakeUpstream,
    authorization::GuardedUpstream,
    model::{ScriptedModel, ScriptedReply},
    upstream::UpstreamEra,
};

use super::{
    call_echo,
    nodes::{Nodes, until},
    register_echo,
};
use crate::{
    chat::{Reading, asks, script, with, words},
    mcp::client::{Ask, soon},
    platform::ECHO,
    upstreams::guarded::{link, says_yes},
};

#[tokio::test]
async fn an_mcp_session_continues_on_another_node() {
    let nodes = Nodes::start(2).await;
    let _app = register_echo(&nodes, json!({})).await;
    let session = nodes.user(0, "ada").handshake("2025-11-25").await;
    let there = nodes.user(1, "ada").header("mcp-session-id", &session.id);
    let listed = there.ask(Ask::legacy("tools/list", json!({}))).await.expect(200).result();
    assert_eq!(listed["tools"].as_array().unwrap().len(), 1, "{listed}");
    there.delete("/mcp").await.expect(204);
    let ended = nodes.user(0, "ada").header("mcp-session-id", &session.id);
    ended.ask(Ask::legacy("tools/list", json!({}))).await.expect(404);
}

#[tokio::test]
async fn a_chat_is_resumed_and_cancelled_from_another_node() {
    let model = ScriptedModel::start().await;
    let url = format!("{}/v1", model.url());
    let nodes = Nodes::with(2, |config| {
        let place = ModelConfig {
            url: Some(url.clone()),
            calling: Some(CallingMode::Native),
            ..ModelConfig::default()
        };
        config.models.insert("local".to_owned(), place);
        config.chat.model = Some("local/scripted".to_owned());
    })
    .await;
    script(&model, [ScriptedReply::text("One ").and_hold().and_text("two")]);
    let body = with(asks("go"), json!({ "id": "c1", "resumable": true }));
    let mut first = Reading::begin(&nodes.user(0, "ada"), body).await;
    first.until("text-delta").await;
    drop(first);
    let there = nodes.user(1, "ada");
    let mut resumed = Reading::of(there.open(Method::GET, "/api/chat/c1/stream", None).await);
    resumed.until("text-delta").await;
    model.release(1);
    assert_eq!(words(&soon(resumed.all()).await), "One two");
    there.delete("/api/chat/c1/stream").await.expect(404);
}

#[tokio::test]
async fn an_approval_is_answered_on_another_node_and_runs_once() {
    let nodes = Nodes::start(3).await;
    let app = FakeApp::start(ECHO).await;
    app.set_behavior(AppBehavior::reply("deleted"));
    let tool = json!({ "name": "delete", "description": "Deletes a note", "annotations": { "destructiveHint": true },
        "inputSchema": { "type": "object" } });
    let body = json!({ "packageName": ECHO, "name": "Notes", "kind": "tools-only", "tools": [tool],
        "publicUrl": app.url() });
    nodes.operator(0).post("/api/apps", &body).await.expect(201);
    nodes.user(0, "ada").put(&format!("/api/installs/{ECHO}"), &json!({})).await.expect(204);
    let asked = nodes.user(0, "ada").call(&format!("{ECHO}:delete"), json!({})).await.expect(202).json();
    let id = asked["pending"]["id"].as_str().unwrap();
    let path = format!("/api/approvals/{id}");
    nodes.user(1, "ada").post(&path, &json!({ "answer": "approve" })).await.expect(200);
    let outcome = nodes.user(2, "ada").get(&format!("{path}/outcome?wait=20")).await.expect(200).json();
    assert_eq!(outcome["content"], "deleted", "{outcome}");
    assert_eq!(app.requests("/tool").len(), 1);
    nodes.user(2, "bob").get(&path).await.expect(404);
}

#[tokio::test]
async fn a_browser_returns_to_another_node() {
    let nodes = Nodes::start(2).await;
    let guarded = GuardedUpstream::start(UpstreamEra::Modern).await;
    let upstream = json!({ "id": "up", "forAll": true, "url": guarded.url(), "auth": "oauth" });
    nodes.operator(1).post("/api/upstreams", &upstream).await.expect(201);
    nodes.operator(1).post("/api/upstreams/up/refresh", &json!({})).await.expect(200);
    // Ada's home is the second node; the public URL leads to the first.
    let ada = nodes.user(1, "ada");
    ada.get("/api/session").await.expect(200);
    let (link, cookie) = link(&ada, "up").await;
    let back = says_yes(&nodes.nodes[0], &link).await;
    let page = nodes.nodes[0].nobody().get(&back).await.expect(200);
    assert!(page.text.contains("/oauth/callback?state="), "another browser confirms: {}", page.text);
    let done = nodes.nodes[0].as_with(&[("cookie", &cookie)]).get(&back).await.expect(200);
    assert!(done.text.contains("Done: you can use up now"), "{}", done.text);
    for node in 0..2 {
        assert_eq!(nodes.user(node, "ada").tools().await.len(), 4);
        let called = nodes.user(node, "ada").call("mcp.up:echo", json!({ "text": "hi" })).await;
        called.expect(200);
    }
}

#[tokio::test]
async fn one_node_follows_an_upstream_and_any_calls_it() {
    let nodes = Nodes::start(3).await;
    let upstream = FakeUpstream::start().await;
    let body = json!({ "id": "up", "forAll": true, "url": upstream.url() });
    nodes.operator(0).post("/api/upstreams", &body).await.expect(201);
    for (node, user) in ["ada", "bob", "carl"].iter().enumerate() {
        let person = nodes.user(node, user);
        until("the tools are listed", async || !person.tools().await.is_empty()).await;
        person.call("mcp.up:echo", json!({ "text": "hi" })).await.expect(200);
    }
    let held = join_leases(&nodes).await;
    assert_eq!(held.iter().filter(|held| **held).count(), 1, "{held:?}");
}

async fn join_leases(nodes: &Nodes) -> Vec<bool> {
    let mut held = Vec::new();
    for node in &nodes.nodes {
        let store = node.state.stores.cluster.as_ref().unwrap();
        held.push(store.hold_lease("upstream:mcp.up").await.unwrap());
    }
    held
}

#[tokio::test]
async fn an_operator_sees_the_calls_of_every_node() {
    let nodes = Nodes::start(2).await;
    let _app = register_echo(&nodes, json!({})).await;
    let feed = nodes.operator(1).open(Method::GET, "/api/calls/stream", None).await;
    let mut lines = feed.into_lines(100_000, 100_000);
    call_echo(&nodes.user(0, "ada"), "hi").await.expect(200);
    assert_eq!(nodes.homes("ada"), [0]);
    let seen = soon(async {
        loop {
            let line = lines.next().await.unwrap().unwrap();
            let line = String::from_utf8(line.to_vec()).unwrap();
            if let Some(call) = line.strip_prefix("data:") {
                return serde_json::from_str::<serde_json::Value>(call.trim()).unwrap();
            }
        }
    });
    assert_eq!(seen.await["userId"], "ada");
}
