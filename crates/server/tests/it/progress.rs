//! Progress on its way to the caller.

use bytes::Bytes;
use http::Method;
use serde_json::{Value, json};
use toolyard_testkit::AppBehavior;

use crate::platform::{ECHO, Platform};

/// The next event of a stream: its name and data.
async fn event(lines: &mut toolyard_net::ResponseLines) -> (String, Value) {
    let (mut name, mut next) = (String::new(), async || lines.next().await.unwrap());
    loop {
        let line: Bytes = next().await.expect("the stream goes on");
        let line = String::from_utf8(line.to_vec()).unwrap();
        if let Some(text) = line.strip_prefix("event: ") {
            name = text.to_owned();
        } else if let Some(data) = line.strip_prefix("data: ") {
            return (name, serde_json::from_str(data).unwrap());
        }
    }
}

#[tokio::test]
async fn progress_comes_as_it_happens_and_the_result_last() {
    let p = Platform::start().await;
    let (app, _device) = p.echo().await;
    app.set_behavior(AppBehavior::Lines(vec![
        json!({ "type": "progress", "progress": 0.4, "message": "half way" }),
        json!({ "type": "news from a later version" }),
        json!({ "type": "result", "success": true, "content": "done", "mentraExtensions": { "suggestedFollowUps": ["more"] } }),
    ]));
    let body = json!({ "name": format!("{ECHO}:echo"), "arguments": { "text": "x" } });
    let ada = p.user("ada").header("accept", "text/event-stream");
    let response = ada.open(Method::POST, "/api/tools/execute", Some(body)).await;
    assert_eq!(response.headers["content-type"], "text/event-stream");
    let mut lines = response.into_lines(10_000, 10_000);
    app.let_line_through();
    assert_eq!(
        event(&mut lines).await,
        ("progress".into(), json!({ "progress": 0.4, "message": "half way" }))
    );
    app.let_line_through();
    app.let_line_through();
    let result =
        json!({ "success": true, "content": "done", "mentraExtensions": { "suggestedFollowUps": ["more"] } });
    assert_eq!(event(&mut lines).await, ("result".into(), result));
}

#[tokio::test]
async fn without_events_only_the_result_comes() {
    let p = Platform::start().await;
    let (app, _device) = p.echo().await;
    app.set_behavior(AppBehavior::Lines(vec![
        json!({ "type": "progress", "progress": 1, "total": 2 }),
        json!({ "type": "result", "success": false, "error": { "code": "HANDLER_ERROR", "message": "broke" } }),
    ]));
    app.let_line_through();
    app.let_line_through();
    assert_eq!(p.call_echo().await.expect(500).code(), "HANDLER_ERROR");
}

#[tokio::test]
async fn a_stream_without_a_result_is_an_incomplete_response() {
    let p = Platform::start().await;
    let (app, _device) = p.echo().await;
    app.set_behavior(AppBehavior::Lines(vec![json!({ "type": "progress", "progress": 1 })]));
    app.let_line_through();
    assert_eq!(p.call_echo().await.expect(502).code(), "INVALID_RESPONSE");
}

#[tokio::test]
async fn leaving_the_stream_cancels_the_app() {
    let p = Platform::start().await;
    let (app, _device) = p.echo().await;
    app.set_behavior(AppBehavior::Hang);
    let body = json!({ "name": format!("{ECHO}:echo"), "arguments": { "text": "x" } });
    let ada = p.user("ada").header("accept", "text/event-stream");
    let response = ada.open(Method::POST, "/api/tools/execute", Some(body)).await;
    app.wait_requests("/tool", 1).await;
    drop(response);
    app.wait_cancelled(1).await;
}

#[tokio::test]
async fn calls_can_be_watched_as_they_end() {
    let p = Platform::start().await;
    let (_app, _device) = p.echo().await;
    let response = p.user("ada").open(Method::GET, "/api/calls/stream", None).await;
    let foreign = p.user("bob").open(Method::GET, "/api/calls/stream", None).await;
    let mut lines = response.into_lines(10_000, 100_000);
    p.call_echo().await.expect(200);
    let (name, call) = event(&mut lines).await;
    assert_eq!(
        (name.as_str(), &call["tool"], &call["outcome"]),
        ("call", &json!("com.example.echo:echo"), &json!("OK"))
    );
    drop(foreign);
}
