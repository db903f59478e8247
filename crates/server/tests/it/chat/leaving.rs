//! Disconnects of the reader, and stops of the server, during a turn.

use http::Method;
use serde_json::json;
use toolyard_testkit::{AppBehavior, model::ScriptedReply};

use super::{ECHO_ALIAS, Reading, asks, chunks_in, reason, script, with_model};
use crate::mcp::client::soon;

#[tokio::test]
async fn a_disconnect_cancels_the_model_request() {
    for path in ["/api/chat", "/v1/chat/completions"] {
        let (p, model) = with_model(|_| {}).await;
        script(&model, [ScriptedReply::text("Well").and_hold().and_text("never said")]);
        let body = json!({ "stream": true, "messages": [{ "role": "user", "content": "hi" }] });
        let mut lines = p.user("ada").open(Method::POST, path, Some(body)).await.into_lines(10_000, 10_000);
        soon(lines.next()).await.unwrap();
        model.wait_requests(1).await;
        drop(lines);
        model.wait_abandoned(1).await;
    }
}

#[tokio::test]
async fn a_disconnect_cancels_the_tool_call() {
    let (p, model) = with_model(|_| {}).await;
    let (app, _device) = p.echo().await;
    app.set_behavior(AppBehavior::Hang);
    script(&model, [ScriptedReply::call(ECHO_ALIAS, json!({ "text": "x" }))]);
    let mut reading = Reading::begin(&p.user("ada"), asks("go")).await;
    reading.until("tool-input-available").await;
    app.wait_requests("/tool", 1).await;
    drop(reading);
    soon(app.wait_cancelled(1)).await;
    // The call is still recorded.
    let calls = soon(async {
        loop {
            let calls = p.user("ada").get("/api/calls").await.expect(200).json();
            if calls["calls"][0]["outcome"] != "running" && calls["calls"][0].is_object() {
                return calls;
            }
            tokio::task::yield_now().await;
        }
    })
    .await;
    assert!(calls.to_string().contains("CANCELLED"), "{calls}");
    assert_eq!(model.requests().len(), 1, "nobody asks on");
}

#[tokio::test]
async fn a_disconnect_cancels_a_response_without_a_stream() {
    let (p, model) = with_model(|_| {}).await;
    script(&model, [ScriptedReply::text("Well").and_hold()]);
    let body = json!({ "messages": [{ "role": "user", "content": "hi" }] });
    let ada = p.user("ada");
    {
        let asking = ada.post("/v1/chat/completions", &body);
        tokio::pin!(asking);
        tokio::select! {
            answer = &mut asking => panic!("{answer:?}"),
            _ = model.wait_requests(1) => {}
        }
    }
    model.wait_abandoned(1).await;
}

#[tokio::test]
async fn a_stop_ends_streams_with_a_valid_end() {
    let (p, model) = with_model(|_| {}).await;
    script(&model, [ScriptedReply::text("Well").and_hold()]);
    let mut reading = Reading::begin(&p.user("ada"), asks("go")).await;
    reading.until("text-delta").await;
    p.begin_stop();
    let told = soon(reading.all()).await;
    assert_eq!(reason(&told), "other");
    model.wait_abandoned(1).await;
    soon(p.stop()).await;
}

#[tokio::test]
async fn a_slow_reader_gets_everything_in_the_end() {
    let (p, model) = with_model(|_| {}).await;
    // Many more chunks than fit into any queue.
    let pieces: Vec<String> = (0..3_000).map(|n| format!("{n} ")).collect();
    script(&model, [ScriptedReply::pieces(pieces.iter().map(String::as_str))]);
    let response = p.user("ada").open(Method::POST, "/api/chat", Some(asks("count"))).await;
    model.wait_requests(1).await;
    for _ in 0..1_000 {
        tokio::task::yield_now().await;
    }
    let text = String::from_utf8(response.bytes(64 << 20).await.unwrap().to_vec()).unwrap();
    assert_eq!(super::words(&chunks_in(&text)), pieces.concat());
}
