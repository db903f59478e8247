//! Progress: only with a token, only increasing, and rate limited.

use serde_json::{Value, json};
use tokio::time::Instant;
use toolyard_testkit::{AppBehavior, FakeApp};

use super::{
    client::{Ask, LEGACY},
    line::Line,
};
use crate::platform::Platform;

const ALIAS: &str = "com_example_echo__echo";

fn call(token: Value) -> Ask {
    Ask::call(ALIAS, json!({ "text": "x" })).meta("progressToken", token)
}

/// The app sends these lines and its result at once.
fn says(app: &FakeApp, mut lines: Vec<Value>) {
    lines.push(json!({ "type": "result", "success": true, "content": "done" }));
    lines.iter().for_each(|_| app.let_line_through());
    app.set_behavior(AppBehavior::Lines(lines));
}

fn line(progress: impl Into<Value>) -> Value {
    json!({ "type": "progress", "progress": progress.into() })
}

/// The progress notifications, without the result, which must be last.
fn told(mut messages: Vec<Value>) -> Vec<Value> {
    let last = messages.pop().unwrap();
    assert_eq!((&last["id"], &last["result"]["content"][0]["text"]), (&json!(1), &json!("done")), "{last}");
    messages
        .into_iter()
        .map(|message| {
            assert_eq!(message["method"], "notifications/progress", "{message}");
            assert!(message.get("id").is_none());
            message["params"].clone()
        })
        .collect()
}

#[tokio::test]
async fn progress_increases_under_the_callers_token() {
    let p = Platform::start().await;
    let (app, _device) = p.echo().await;
    let whole = json!({ "type": "progress", "progress": 3, "total": 10, "message": "half\nway" });
    let lines = vec![
        line(-1),
        line(0.5),
        line(0.5),
        line(0.25),
        whole,
        line(2),
        line(-7),
        json!({ "type": "x" }),
        line(4),
    ];
    let expected = json!([
        { "progressToken": "t", "progress": -1.0 },
        { "progressToken": "t", "progress": 0.5 },
        { "progressToken": "t", "progress": 3.0, "total": 10.0, "message": "half\nway" },
        { "progressToken": "t", "progress": 4.0 },
    ]);
    says(&app, lines.clone());
    let modern = p.user("ada").stream(call(json!("t"))).await.rest().await;
    assert_eq!(json!(told(modern)), expected);

    says(&app, lines.clone());
    let session = p.user("ada").handshake(LEGACY).await;
    let ask = Ask::legacy("tools/call", legacy_params(json!("t")));
    let legacy = session.person.stream(ask).await.rest().await;
    assert_eq!(json!(told(legacy)), expected);

    says(&app, lines);
    let mut socket = Line::of(&p, "ada").await;
    let answer = socket.ask(call(json!("t"))).await;
    let mut messages: Vec<Value> = socket.unasked().iter().cloned().collect();
    messages.push(answer);
    assert_eq!(json!(told(messages)), expected);
}

fn legacy_params(token: Value) -> Value {
    json!({ "name": ALIAS, "arguments": { "text": "x" }, "_meta": { "progressToken": token } })
}

#[tokio::test]
async fn progress_sent_together_with_the_result_is_not_lost() {
    let p = Platform::start().await;
    let (app, _device) = p.echo().await;
    let result = json!({ "type": "result", "success": true, "content": "done" });
    // One write, so that progress and result arrive together.
    let whole = format!("{}\n{}\n{result}\n", line(1), line(2));
    app.set_behavior(AppBehavior::Text(200, "application/x-ndjson", whole));
    for round in 0..20 {
        let mut events = p.user("ada").stream(call(json!(round))).await;
        assert_eq!(events.headers["content-type"], "text/event-stream", "round {round}");
        assert_eq!(told(events.rest().await).len(), 2, "round {round}");
    }
}

#[tokio::test]
async fn a_progress_token_is_returned_unchanged() {
    let p = Platform::start().await;
    let (app, _device) = p.echo().await;
    let longest = format!("\"{}\"", "t".repeat(254));
    for token in
        ["0", "-3", "1.50", "\"7\"", "\"\"", "\"\\u00fc\"", "123456789012345678901234567890", &longest]
    {
        says(&app, vec![line(1)]);
        let body = call(json!("TOKEN")).message().to_string().replace("\"TOKEN\"", token);
        let answer = p.user("ada").header("mcp-name", ALIAS).ask_raw("tools/call", &body).await.expect(200);
        let first = format!("{{\"progressToken\":{token},\"progress\":1.0}}");
        assert!(answer.text.contains(&first), "{token}: {}", answer.text);
    }
}

#[tokio::test]
async fn without_a_token_there_is_no_progress() {
    let p = Platform::start().await;
    let (app, _device) = p.echo().await;
    let too_long = json!("t".repeat(255));
    for token in [Value::Null, json!(true), json!({}), json!([1]), too_long] {
        says(&app, vec![line(1), line(2)]);
        let answer = p.user("ada").ask(call(token.clone())).await;
        assert_eq!(answer.header("content-type"), "application/json", "{token}");
        assert_eq!(answer.result()["content"][0]["text"], "done");
    }
    says(&app, vec![line(1)]);
    let session = p.user("ada").handshake(LEGACY).await;
    let answer = session.ask("tools/call", legacy_params(Value::Null)).await;
    assert_eq!(answer.result()["content"][0]["text"], "done");
}

#[tokio::test]
async fn excessive_progress_is_dropped_and_the_result_still_arrives() {
    let p = Platform::start().await;
    let (app, _device) = p.echo().await;
    let lines = || (0..5_000).map(line).collect();
    says(&app, lines());
    let began = Instant::now();
    let told_of = told(p.user("ada").stream(call(json!("t"))).await.rest().await);
    bounded(&told_of, began);

    says(&app, lines());
    let began = Instant::now();
    let mut socket = Line::of(&p, "ada").await;
    let answer = socket.ask(call(json!("t"))).await;
    let messages = socket.unasked().iter().cloned().chain([answer]).collect();
    bounded(&told(messages), began);
}

/// At most a burst plus the rate over time; always increasing.
fn bounded(told: &[Value], began: Instant) {
    let most = 32 + usize::try_from(began.elapsed().as_millis()).unwrap() / 50 + 1;
    assert!((2..=most).contains(&told.len()), "{} of {most}", told.len());
    let steps: Vec<f64> = told.iter().map(|params| params["progress"].as_f64().unwrap()).collect();
    assert!(steps.is_sorted_by(|a, b| a < b), "{steps:?}");
}

#[tokio::test]
async fn a_failure_is_sent_after_the_progress() {
    let p = Platform::start().await;
    let (app, _device) = p.echo().await;
    let failed =
        json!({ "type": "result", "success": false, "error": { "code": "HANDLER_ERROR", "message": "no" } });
    app.set_behavior(AppBehavior::Lines(vec![line(1), failed]));
    (0..2).for_each(|_| app.let_line_through());
    let messages = p.user("ada").stream(call(json!("t"))).await.rest().await;
    assert_eq!(messages.len(), 2);
    assert_eq!(messages[1]["result"]["_meta"]["toolyard/error"]["code"], "HANDLER_ERROR");
    // Lines that end without a result.
    app.set_behavior(AppBehavior::Lines(vec![line(1)]));
    app.let_line_through();
    let messages = p.user("ada").stream(call(json!("t"))).await.rest().await;
    assert_eq!(messages.last().unwrap()["result"]["_meta"]["toolyard/error"]["code"], "INVALID_RESPONSE");
}
