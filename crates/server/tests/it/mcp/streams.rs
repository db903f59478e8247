//! Streams: their limit, their keep-alives, and their end.

use http::Method;
use serde_json::{Value, json};
use toolyard_server::auth::Role;
use toolyard_testkit::AppBehavior;

use super::{
    client::{Ask, LEGACY, hello, soon},
    ears::{self, platform},
    line::Line,
};
use crate::{
    identity::app_of,
    platform::{ECHO, Platform, echo_tool, tokens_only},
};

fn listen() -> Ask {
    Ask::modern("subscriptions/listen", json!({ "notifications": { "toolsListChanged": true } }))
}

async fn change(p: &Platform) {
    p.nobody().post("/api/apps", &json!({ "packageName": ECHO, "tools": [echo_tool()] })).await.expect(201);
    p.user("ada").put(&format!("/api/installs/{ECHO}"), &json!({})).await.expect(204);
}

#[tokio::test]
async fn streams_per_user_are_limited_and_closing_one_frees_a_slot() {
    let p = Platform::with(|config| config.mcp.streams_per_user = 3).await;
    let ada = p.user("ada");
    let session = ada.handshake(LEGACY).await;
    let first = ada.listen(1, json!({ "toolsListChanged": true })).await;
    let second = session.get().await;
    let mut line = Line::of(&p, "ada").await;
    line.ask(Ask::legacy("initialize", hello(LEGACY)).id("hello")).await;

    let full = async || {
        let answer = ada.ask(listen()).await;
        assert_eq!(answer.refusal(), (200, -32600), "{}", answer.text);
        assert!(answer.text.contains('3'), "{}", answer.text);
        let answer = session.person.get("/mcp").await;
        assert_eq!(answer.refusal(), (429, -32600), "{}", answer.text);
        let mut other = Line::of(&p, "ada").await;
        let answer = other.ask(Ask::legacy("initialize", hello(LEGACY))).await;
        assert_eq!(answer["error"]["code"], -32600, "{answer}");
        let answer = other.ask(listen().id("l")).await;
        assert_eq!(answer["error"]["code"], -32600, "{answer}");
    };
    full().await;
    // Other requests and other users are not affected.
    ada.modern("tools/list", json!({})).await.result();
    p.user("bob").listen(1, json!({})).await;

    drop(first);
    let opens = async || {
        let mut events = ada.stream(listen()).await;
        (events.headers["content-type"] == "text/event-stream").then_some({
            events.line().await;
            events
        })
    };
    let third = soon(async {
        loop {
            if let Some(events) = opens().await {
                return events;
            }
        }
    });
    let third = third.await;
    full().await;
    drop(second);
    soon(async { while session.person.open(Method::GET, "/mcp", None).await.status != 200 {} }).await;
    drop((third, line));
}

#[tokio::test]
async fn every_stream_of_a_user_is_notified() {
    let p = platform(1).await;
    let mut streams = Vec::new();
    for id in 0..20 {
        streams.push(p.user("ada").listen(id, json!({ "toolsListChanged": true })).await);
    }
    let mut foreign = ears::listen(&p, &[("x-user-id", "bob")], 1).await;
    change(&p).await;
    for events in &mut streams {
        assert_eq!(events.message().await["method"], "notifications/tools/list_changed");
    }
    // Bob does not have the marker, so the next message is the end by the stop.
    p.begin_stop();
    assert_eq!(foreign.message().await["result"]["resultType"], "complete");
}

#[tokio::test]
async fn the_stream_of_a_session_is_an_event_stream_that_begins_at_once() {
    let p = platform(1).await;
    for revision in ["2025-03-26", "2025-06-18", LEGACY] {
        let session = p.user("ada").handshake(revision).await;
        let mut events = session.get().await;
        assert_eq!(events.headers["content-type"], "text/event-stream");
        assert_eq!(events.headers["x-accel-buffering"], "no");
        assert_eq!(events.line().await.unwrap(), ": alive");
    }
}

#[tokio::test]
async fn a_silent_stream_sends_keep_alives() {
    let p = platform(1).await;
    let (app, _device) = p.echo().await;
    let mut listening = p.user("ada").listen(1, json!({})).await;
    let mut session = p.user("ada").handshake(LEGACY).await.get().await;
    assert_eq!(session.line().await.unwrap(), ": alive");
    app.set_behavior(AppBehavior::Lines(vec![json!({ "type": "progress", "progress": 1 }), Value::Null]));
    app.let_line_through();
    let call = Ask::call("com_example_echo__echo", json!({ "text": "x" })).meta("progressToken", json!(1));
    let mut working = p.user("ada").stream(call).await;
    working.message().await;
    // From here on time is paused and advances when all tasks wait.
    tokio::time::pause();
    for events in [&mut listening, &mut session, &mut working] {
        assert_eq!(events.line().await.unwrap(), ": alive");
    }
    tokio::time::resume();
}

#[tokio::test]
async fn a_stream_ends_with_the_token_that_opened_it() {
    let p = Platform::with(|config| {
        tokens_only(config);
        config.mcp.debounce_ms = 1;
    })
    .await;
    let (_app, _) = app_of(&p, "dora", ECHO).await;
    let ada = p.bearer(&p.token("ada", Role::User));
    let mut events = ada.listen(1, json!({ "toolsListChanged": true })).await;
    p.clock.advance(3_600);
    ada.modern("tools/list", json!({})).await.expect(401);
    let again = p.bearer(&p.token("ada", Role::User));
    again.put(&format!("/api/installs/{ECHO}"), &json!({})).await.expect(204);
    assert_eq!(events.next().await, None);
}
