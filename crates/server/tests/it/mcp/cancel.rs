//! Cancelled calls and disconnected clients: the app's request is dropped, and the ledger records it.

use serde_json::{Value, json};
use toolyard_testkit::{AppBehavior, FakeApp};

use super::{
    client::{Ask, LEGACY, soon},
    line::Line,
};
use crate::platform::Platform;

const ALIAS: &str = "com_example_echo__echo";

fn call() -> Ask {
    Ask::call(ALIAS, json!({ "text": "x" })).meta("progressToken", json!("t"))
}

fn params() -> Value {
    json!({ "name": ALIAS, "arguments": { "text": "x" } })
}

/// The app's connection is dropped, and exactly this many calls are recorded, as cancelled.
async fn cancelled(p: &Platform, app: &FakeApp, times: usize) {
    soon(app.wait_cancelled(times)).await;
    let written = async || {
        let calls = p.user("ada").get("/api/calls?outcome=CANCELLED").await.expect(200).json();
        calls["calls"].as_array().unwrap().len()
    };
    soon(async { while written().await < times {} }).await;
    assert_eq!(written().await, times);
}

#[tokio::test]
async fn closing_the_stream_cancels() {
    let p = Platform::start().await;
    let (app, _device) = p.echo().await;
    app.set_behavior(AppBehavior::Lines(vec![
        json!({ "type": "progress", "progress": 1 }),
        json!({ "type": "result" }),
    ]));
    app.let_line_through();
    let mut events = p.user("ada").stream(call()).await;
    assert_eq!(events.message().await["method"], "notifications/progress");
    drop(events);
    cancelled(&p, &app, 1).await;
}

#[tokio::test]
async fn a_disconnect_before_the_first_message_cancels() {
    let p = Platform::start().await;
    let (app, _device) = p.echo().await;
    app.set_behavior(AppBehavior::Hang);
    let session = p.user("ada").handshake(LEGACY).await;
    let ada = p.user("ada");
    for (times, legacy) in [(1, false), (2, true)] {
        tokio::select! {
            answer = ada.ask(call()), if !legacy => panic!("{answer:?}"),
            answer = session.ask("tools/call", params()), if legacy => panic!("{answer:?}"),
            _ = soon(app.wait_requests("/tool", times)) => {}
        }
        cancelled(&p, &app, times).await;
    }
}

#[tokio::test]
async fn a_session_cancels_by_a_message() {
    let p = Platform::start().await;
    let (app, _device) = p.echo().await;
    app.set_behavior(AppBehavior::Hang);
    let (session, other) = (p.user("ada").handshake(LEGACY).await, p.user("ada").handshake(LEGACY).await);
    let ask = |id: Value| session.person.ask(Ask::legacy("tools/call", params()).id(id));
    let cancel = |id: Value| json!({ "requestId": id, "reason": "the user is tired of it" });
    let (one, two, ()) = tokio::join!(ask(json!("one")), ask(json!(2)), async {
        soon(app.wait_requests("/tool", 2)).await;
        // None of these cancels one of the two.
        for id in [json!("2"), json!(1), json!("three"), Value::Null] {
            assert_eq!(session.tell("notifications/cancelled", cancel(id)).await, 202);
        }
        assert_eq!(other.tell("notifications/cancelled", cancel(json!("one"))).await, 202);
        let bare =
            json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": cancel(json!(2)) });
        p.user("ada").post("/mcp", &bare).await.expect(202);
        assert_eq!(session.tell("notifications/cancelled", cancel(json!("one"))).await, 202);
        cancelled(&p, &app, 1).await;
        session.ask("ping", json!({})).await.result();
        assert_eq!(session.tell("notifications/cancelled", cancel(json!(2))).await, 202);
    });
    for answer in [one, two] {
        assert_eq!(answer.refusal().0, 200, "{}", answer.text);
        assert!(answer.json()["error"]["message"].as_str().unwrap().contains("cancelled"), "{}", answer.text);
    }
    cancelled(&p, &app, 2).await;
}

#[tokio::test]
async fn a_request_can_be_cancelled_after_another_with_the_same_id_ended() {
    let p = Platform::start().await;
    let (app, _device) = p.echo().await;
    app.set_behavior(AppBehavior::Hang);
    let session = p.user("ada").handshake(LEGACY).await;
    let ask = |method: &str, params: Value| session.person.ask(Ask::legacy(method, params).id(7));
    let (answer, ()) = tokio::join!(ask("tools/call", params()), async {
        soon(app.wait_requests("/tool", 1)).await;
        ask("ping", json!({})).await.result();
        assert_eq!(session.tell("notifications/cancelled", json!({ "requestId": 7 })).await, 202);
    });
    assert!(answer.text.contains("cancelled"), "{}", answer.text);
    cancelled(&p, &app, 1).await;
}

#[tokio::test]
async fn the_end_of_a_session_cancels_its_calls() {
    let p = Platform::start().await;
    let (app, _device) = p.echo().await;
    app.set_behavior(AppBehavior::Hang);
    let (session, other) = (p.user("ada").handshake(LEGACY).await, p.user("ada").handshake(LEGACY).await);
    let (answer, ()) = tokio::join!(session.ask("tools/call", params()), async {
        soon(app.wait_requests("/tool", 1)).await;
        other.person.delete("/mcp").await.expect(204);
        other.person.delete("/mcp").await.expect(404);
        session.person.delete("/mcp").await.expect(204);
    });
    assert!(answer.text.contains("cancelled"), "{}", answer.text);
    cancelled(&p, &app, 1).await;
}

#[tokio::test]
async fn a_socket_cancels_by_a_message_and_gets_no_response() {
    let p = Platform::start().await;
    let (app, _device) = p.echo().await;
    app.set_behavior(AppBehavior::Hang);
    let mut line = Line::of(&p, "ada").await;
    line.ask(Ask::legacy("initialize", super::client::hello(LEGACY)).id("hello")).await;
    // One of each era.
    line.send(&call().id("one")).await;
    line.send(&Ask::legacy("tools/call", params()).id(2)).await;
    soon(app.wait_requests("/tool", 2)).await;
    for id in [json!("2"), json!(1), Value::Null] {
        line.cancel(id).await;
    }
    line.cancel("one").await;
    cancelled(&p, &app, 1).await;
    line.cancel(2).await;
    cancelled(&p, &app, 2).await;
    // The id is free again, and the line works.
    app.set_behavior(AppBehavior::reply("ok"));
    let answer = line.ask(call().id("one")).await;
    assert_eq!(answer["result"]["content"][0]["text"], "ok");
    assert!(line.unasked().is_empty(), "{:?}", line.unasked());
}

#[tokio::test]
async fn a_socket_that_vanishes_cancels_everything() {
    let p = Platform::start().await;
    let (app, _device) = p.echo().await;
    app.set_behavior(AppBehavior::Hang);
    let mut line = Line::of(&p, "ada").await;
    for id in 0..3 {
        line.send(&call().id(id)).await;
    }
    soon(app.wait_requests("/tool", 3)).await;
    drop(line);
    cancelled(&p, &app, 3).await;
}
