//! A server that stops: listen requests get a response, calls in progress finish.

use serde_json::{Value, json};
use toolyard_protocol::mcp::meta;
use toolyard_testkit::AppBehavior;

use super::{
    client::{Ask, LEGACY, hello, soon},
    line::Line,
};
use crate::platform::Platform;

fn listen(id: impl Into<Value>) -> Ask {
    Ask::modern("subscriptions/listen", json!({ "notifications": { "toolsListChanged": true } })).id(id)
}

/// The final response of a listen request.
fn last_word(id: Value) -> Value {
    json!({ "jsonrpc": "2.0", "id": id, "result": { "resultType": "complete", "_meta": { meta::SUBSCRIPTION_ID: id } } })
}

#[tokio::test]
async fn listen_requests_get_a_response_and_their_streams_end() {
    let p = Platform::start().await;
    let mut modern = p.user("ada").listen("l", json!({ "toolsListChanged": true })).await;
    let mut session = p.user("ada").handshake(LEGACY).await.get().await;
    let mut line = Line::of(&p, "ada").await;
    line.ask(Ask::legacy("initialize", hello(LEGACY)).id("hello")).await;
    for id in [1, 2] {
        line.send(&listen(id)).await;
        line.told("notifications/subscriptions/acknowledged").await;
    }
    p.begin_stop();
    assert_eq!(modern.rest().await, [last_word(json!("l"))]);
    assert!(session.rest().await.is_empty());
    assert_eq!(line.closed().await, Some(1001));
    let mut heard: Vec<Value> = line.unasked().iter().cloned().collect();
    heard.sort_by_key(|message| message["id"].as_i64());
    assert_eq!(heard, [last_word(json!(1)), last_word(json!(2))]);
    soon(p.stop()).await;
}

#[tokio::test]
async fn calls_in_progress_finish_and_new_ones_are_refused() {
    let p = Platform::start().await;
    let (app, _device) = p.echo().await;
    app.set_behavior(AppBehavior::Lines(vec![
        json!({ "type": "result", "success": true, "content": "done" }),
    ]));
    let call = |id: &str| Ask::call("com_example_echo__echo", json!({ "text": "x" })).id(id);
    let mut line = Line::of(&p, "ada").await;
    line.send(&call("socket")).await;
    let ada = p.user("ada");
    let (answer, ()) = tokio::join!(ada.ask(call("http")), async {
        soon(app.wait_requests("/tool", 2)).await;
        p.begin_stop();
        let late = line.ask(call("late")).await;
        assert_eq!(
            late["result"]["_meta"]["toolyard/error"],
            json!({ "code": "OVERLOADED", "retryable": true })
        );
        app.let_line_through();
        app.let_line_through();
    });
    assert_eq!(answer.result()["content"][0]["text"], "done");
    assert_eq!(line.answer("socket").await["result"]["content"][0]["text"], "done");
    assert_eq!(line.closed().await, Some(1001));
    assert_eq!(app.requests("/tool").len(), 2);
    soon(p.stop()).await;
}

#[tokio::test]
async fn a_client_continues_its_session_after_a_restart() {
    let p = Platform::start().await;
    let (_app, device) = p.echo().await;
    let session = p.user("ada").handshake(LEGACY).await;
    let (id, mut events) = (session.id.clone(), session.get().await);
    drop((session, device));
    let p = soon(p.restart()).await;
    assert_eq!(events.rest().await, Vec::<Value>::new());
    let person = p.user("ada").header("mcp-session-id", &id);
    person.ask(Ask::legacy("ping", json!({}))).await.result();
    assert_eq!(person.open(http::Method::GET, "/mcp", None).await.status, 200);
}
