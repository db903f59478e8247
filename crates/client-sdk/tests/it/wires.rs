//! Over a custom wire: responses that our server would not send, and the requests.

use std::{
    collections::VecDeque,
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
};

use async_trait::async_trait;
use bytes::Bytes;
use futures_util::{StreamExt as _, stream};
use serde_json::{Value, json};
use tokio::sync::Semaphore;
use toolyard_client_sdk::{
    ApprovalDecision, ChatError, ChatEvent, ChatFinish, Client,
    chat::{IDLE_TIMEOUT, LINGER, NOTICE_ABORT},
    stream::StreamError,
    wire::{ChatWire, WireBody, WireError, WireRequest, WireResponse},
};

use crate::stage::{counted, events, kinds, soon, tool, until};

/// What one request is answered with.
pub(crate) enum Says {
    /// These chunks, then the end.
    Chunks(Vec<Value>),
    /// These, and then nothing more.
    ThenSilence(Vec<Value>),
    /// These, and then an error.
    ThenBreaks(Vec<Value>),
    /// Another status or type, and a body.
    Other(u16, &'static str, String),
    /// This status, and a body that never ends.
    Endless(u16, &'static str),
    /// Never.
    Nothing,
}

/// A wire with scripted responses that records its requests.
#[derive(Default)]
pub(crate) struct Scripted {
    answers: Mutex<VecDeque<Says>>,
    asked: Mutex<Vec<Value>>,
}

impl Scripted {
    pub(crate) fn new(answers: impl IntoIterator<Item = Says>) -> Arc<Self> {
        Arc::new(Self { answers: Mutex::new(answers.into_iter().collect()), asked: Mutex::default() })
    }

    pub(crate) fn asked(&self) -> Vec<Value> {
        self.asked.lock().unwrap().clone()
    }

    pub(crate) fn client(self: &Arc<Self>) -> Client {
        Client::builder_over(self.clone()).build().unwrap()
    }
}

fn pieces(chunks: &[Value]) -> WireBody {
    let lines: Vec<_> = chunks.iter().map(|chunk| Ok(Bytes::from(format!("data: {chunk}\n\n")))).collect();
    stream::iter(lines).boxed()
}

#[async_trait]
impl ChatWire for Scripted {
    async fn send(&self, request: WireRequest) -> Result<WireResponse, WireError> {
        if let WireRequest::Chat(body) = request {
            self.asked.lock().unwrap().push(serde_json::from_slice(&body).unwrap());
        }
        let says = self.answers.lock().unwrap().pop_front().expect("the script is over");
        let (status, kind, pieces) = match says {
            Says::Chunks(chunks) => (200, "text/event-stream", pieces(&chunks)),
            Says::ThenSilence(chunks) => {
                (200, "text/event-stream", pieces(&chunks).chain(stream::pending()).boxed())
            }
            Says::ThenBreaks(chunks) => {
                let broken = stream::iter([Err(WireError::Other("the cable was cut".to_owned()))]);
                (200, "text/event-stream", pieces(&chunks).chain(broken).boxed())
            }
            Says::Other(status, kind, body) => (status, kind, stream::iter([Ok(Bytes::from(body))]).boxed()),
            Says::Endless(status, piece) => {
                let begun = stream::iter([Ok(Bytes::from(piece))]);
                (status, "text/plain", begun.chain(stream::pending()).boxed())
            }
            Says::Nothing => std::future::pending().await,
        };
        Ok(WireResponse { status, content_type: Some(kind.to_owned()), model: None, body: pieces })
    }
}

fn start() -> Value {
    json!({ "type": "start", "messageId": "m1" })
}

pub(crate) fn finish(reason: &str) -> Value {
    json!({ "type": "finish", "finishReason": reason })
}

fn text(text: &str) -> Vec<Value> {
    vec![
        json!({ "type": "text-start", "id": "t" }),
        json!({ "type": "text-delta", "id": "t", "delta": text }),
        json!({ "type": "text-end", "id": "t" }),
    ]
}

pub(crate) fn says(words: &str) -> Says {
    Says::Chunks([vec![start()], text(words), vec![finish("stop")]].concat())
}

fn call(id: &str, tool: &str) -> Value {
    json!({ "type": "tool-input-available", "toolCallId": id, "toolName": tool, "input": {} })
}

async fn failed(says: Says) -> ChatError {
    soon(Scripted::new([says]).client().ask("hi")).await.unwrap_err()
}

#[tokio::test]
async fn a_stream_in_the_wrong_order_is_an_error() {
    let late = Says::Chunks(vec![finish("stop"), start()]);
    assert_eq!(
        failed(late).await.to_string(),
        "the answer cannot be read: `start` comes after the end of the answer"
    );
    let delta = Says::Chunks(vec![json!({ "type": "text-delta", "id": "t", "delta": "x" }), finish("stop")]);
    let told = failed(delta).await;
    assert_eq!(told, ChatError::Stream(StreamError::NotBegun { kind: "text-delta", id: "t".to_owned() }));
    let output =
        Says::Chunks(vec![json!({ "type": "tool-output-available", "toolCallId": "c", "output": 1 })]);
    assert!(failed(output).await.to_string().contains("the call `c`, which was not made"));
}

#[tokio::test]
async fn a_truncated_answer_is_an_error_and_the_partial_answer_is_kept() {
    let chunks = || [vec![start()], text("Half")].concat();
    let mut stream = Scripted::new([Says::Chunks(chunks())]).client().chat("hi");
    let mut last = None;
    while let Some(event) = stream.next().await {
        last = Some(event);
    }
    assert_eq!(last, Some(ChatEvent::Error(ChatError::Truncated)));
    assert_eq!((stream.so_far().text.as_str(), stream.so_far().history.len()), ("Half", 2));
    let broken = failed(Says::ThenBreaks(chunks())).await;
    assert_eq!(broken, ChatError::Wire(WireError::Other("the cable was cut".to_owned())));
}

#[tokio::test(start_paused = true)]
async fn a_silent_server_times_out() {
    let begun = tokio::time::Instant::now();
    let told = Scripted::new([Says::ThenSilence(vec![start()])]).client().ask("hi").await.unwrap_err();
    assert_eq!((told, begun.elapsed()), (ChatError::IdleTimeout { wait: IDLE_TIMEOUT }, IDLE_TIMEOUT));
    let told = Scripted::new([Says::Nothing]).client().ask("hi").await.unwrap_err();
    assert!(matches!(told, ChatError::Wire(WireError::Timeout { .. })), "{told}");
}

#[tokio::test(start_paused = true)]
async fn a_connection_that_stays_open_after_the_end_is_dropped() {
    let begun = tokio::time::Instant::now();
    let open = Says::ThenSilence([vec![start()], text("Hi"), vec![finish("stop")]].concat());
    assert_eq!(Scripted::new([open]).client().ask("hi").await.unwrap().text, "Hi");
    assert_eq!(begun.elapsed(), LINGER);
    let breaks = Says::ThenBreaks([text("Hi"), vec![finish("stop")]].concat());
    assert_eq!(Scripted::new([breaks]).client().ask("hi").await.unwrap().text, "Hi");
}

#[tokio::test]
async fn a_refusal_of_the_server_is_passed_on() {
    let body = r#"{"error":{"code":"INVALID_REQUEST","message":"messages: at most 2000","problems":[{"path":"messages","message":"at most 2000"}]}}"#;
    let ChatError::Refused(refusal) = failed(Says::Other(400, "application/json", body.to_owned())).await
    else {
        panic!()
    };
    assert_eq!((refusal.status, refusal.code.as_deref()), (400, Some("INVALID_REQUEST")));
    assert_eq!((refusal.to_string().as_str(), refusal.problems.len()), ("messages: at most 2000", 1));
    let other = failed(Says::Other(200, "text/html", "<html>".to_owned())).await;
    assert_eq!(other, ChatError::NoStream { status: 200 });
}

#[tokio::test]
async fn an_error_in_the_stream_ends_it() {
    let chunks = [text("Half"), vec![json!({ "type": "error", "errorText": "out of memory" })]].concat();
    let told = events(Scripted::new([Says::ThenSilence(chunks)]).client().chat("hi")).await;
    assert_eq!(told.last(), Some(&ChatEvent::Error(ChatError::Failed("out of memory".to_owned()))));
}

#[tokio::test]
async fn an_aborted_answer_ends_with_a_notice() {
    let told =
        events(Scripted::new([Says::Chunks(vec![start(), json!({ "type": "abort" })])]).client().chat("hi"))
            .await;
    let [.., ChatEvent::Notice(notice), ChatEvent::RoundFinish { .. }, ChatEvent::Finish(answer)] = &told[..]
    else {
        panic!("{told:?}")
    };
    assert_eq!(
        (notice.code.as_str(), &answer.finish),
        (NOTICE_ABORT, &ChatFinish::Other("abort".to_owned()))
    );
}

#[tokio::test]
async fn an_approval_request_is_an_event_and_the_call_stays_open() {
    let step = Says::Chunks(vec![
        start(),
        json!({ "type": "tool-input-available", "toolCallId": "c", "toolName": "mine", "input": {}, "providerExecuted": true }),
        json!({ "type": "tool-approval-request", "approvalId": "a1", "toolCallId": "c", "signature": "s" }),
        finish("tool-calls"),
    ]);
    let (wire, (mine, ran)) = (Scripted::new([step]), counted("mine"));
    let client = wire.client();
    client.register_tool(mine).unwrap();
    let told = events(client.chat("go")).await;
    assert_eq!(kinds(&told), ["round", "call", "approval", "round-finish", "finish"]);
    let requested =
        ChatEvent::ApprovalRequested { approval_id: "a1".to_owned(), tool_call_id: "c".to_owned() };
    assert_eq!(told[2], requested);
    let Some(ChatEvent::Finish(answer)) = told.last() else { panic!("{told:?}") };
    assert_eq!((ran.load(Ordering::SeqCst), answer.open_calls().count()), (0, 1));
}

#[tokio::test]
async fn the_user_is_asked_and_the_answer_continues_the_chat() {
    let asks = || {
        let summary = json!({ "title": "Notes: Delete", "app": "Notes", "lines": [{ "label": "id", "value": "milk" }] });
        Says::Chunks(vec![
            start(),
            json!({ "type": "tool-input-available", "toolCallId": "c", "toolName": "mine", "input": { "id": "milk" } }),
            json!({ "type": "data-approval", "id": "a1", "data": { "toolCallId": "c", "name": "com.ex:mine",
                "summary": summary, "risk": "medium", "url": "https://yard.example/a1", "expiresAt": "2026-01-01T00:00:00.000Z" } }),
            json!({ "type": "tool-approval-request", "approvalId": "a1", "toolCallId": "c", "signature": "s" }),
            finish("tool-calls"),
        ])
    };
    let result = |chunk: Value| Says::Chunks(vec![start(), chunk, finish("stop")]);
    let approved = json!({ "type": "tool-output-available", "toolCallId": "c", "output": "deleted" });
    let denied = json!({ "type": "tool-output-denied", "toolCallId": "c" });
    for (decision, end, part) in [
        (ApprovalDecision::approve(), approved, json!({ "id": "a1", "signature": "s", "approved": true })),
        (
            ApprovalDecision::deny().with_note("keep it"),
            denied,
            json!({ "id": "a1", "signature": "s", "approved": false, "reason": "keep it" }),
        ),
    ] {
        let (wire, (mine, ran)) = (Scripted::new([asks(), result(end)]), counted("mine"));
        let asked = Arc::new(Mutex::new(Vec::new()));
        let (seen, answer) = (asked.clone(), decision.clone());
        let client = Client::builder_over(wire.clone())
            .on_approval(move |request| {
                seen.lock().unwrap().push(request);
                std::future::ready(answer.clone())
            })
            .build()
            .unwrap();
        client.register_tool(mine).unwrap();
        let answer = client.ask("go").await.unwrap();
        assert_eq!((answer.rounds, answer.open_calls().count()), (2, 0), "{decision:?}");
        assert_eq!(ran.load(Ordering::SeqCst), 0, "the server runs it, although this client has such a tool");
        let asked = asked.lock().unwrap();
        let details = asked[0].details.as_ref().unwrap();
        assert_eq!((asked.len(), asked[0].call.tool.as_str()), (1, "mine"));
        assert_eq!((details.summary.lines[0].value.as_str(), details.risk.as_str()), ("milk", "medium"));
        let sent = wire.asked();
        assert_eq!((&sent[0]["approvals"], &sent[1]["approvals"]), (&json!(true), &json!(true)));
        let sent = &sent[1]["messages"][1]["parts"][0];
        assert_eq!((&sent["state"], &sent["approval"]), (&json!("approval-responded"), &part));
    }
}

#[tokio::test]
async fn arguments_and_results_that_cannot_be_read_are_an_error() {
    let deep = "[".repeat(200) + &"]".repeat(200);
    for (field, line) in [
        ("input", r#"{"type":"tool-input-available","toolCallId":"c","toolName":"t","input":VALUE}"#),
        ("output", r#"{"type":"tool-output-available","toolCallId":"c","output":VALUE}"#),
    ] {
        for value in [deep.as_str(), "1e999"] {
            let begun = json!({ "type": "tool-input-start", "toolCallId": "c", "toolName": "t" });
            let body = format!("data: {begun}\n\ndata: {}\n\n", line.replace("VALUE", value));
            let error = failed(Says::Other(200, "text/event-stream", body)).await.to_string();
            assert!(error.contains(&format!("`{field}` cannot be read")), "{error}");
        }
    }
}

#[tokio::test]
async fn a_call_that_comes_twice_runs_once() {
    let step = Says::Chunks(vec![start(), call("c", "mine"), call("c", "mine"), finish("tool_calls")]);
    let (wire, (mine, ran)) = (Scripted::new([step, says("Done.")]), counted("mine"));
    let client = wire.client();
    client.register_tool(mine).unwrap();
    let answer = soon(client.ask("go")).await.unwrap();
    assert_eq!((ran.load(Ordering::SeqCst), answer.calls.len(), answer.text.as_str()), (1, 1, "Done."));
}

#[tokio::test]
async fn calls_with_older_field_names_run() {
    let older = json!({ "type": "tool-call", "id": "c", "name": "mine", "arguments": "{\"a\":1}" });
    let step = Says::Chunks(vec![start(), older, finish("tool_calls")]);
    let (wire, (mine, ran)) = (Scripted::new([step, says("Done.")]), counted("mine"));
    let client = wire.client();
    client.register_tool(mine).unwrap();
    let answer = soon(client.ask("go")).await.unwrap();
    assert_eq!((ran.load(Ordering::SeqCst), &answer.calls[0].input), (1, &json!({ "a": 1 })));
}

#[tokio::test]
async fn a_tool_that_this_client_does_not_have_is_an_error_for_the_model() {
    let step = Says::Chunks(vec![start(), call("c", "unknown"), call("d", "mine"), finish("tool-calls")]);
    let (wire, (mine, _)) = (Scripted::new([step, says("Done.")]), counted("mine"));
    let client = wire.client();
    client.register_tool(mine).unwrap();
    soon(client.ask("go")).await.unwrap();
    let parts = wire.asked()[1]["messages"][1]["parts"].clone();
    assert_eq!(
        parts,
        json!([
            { "type": "tool-unknown", "toolCallId": "c", "input": {}, "state": "output-available",
                "output": { "error": "this client has no tool `unknown`" } },
            { "type": "tool-mine", "toolCallId": "d", "input": {}, "state": "output-available", "output": "ran" },
        ])
    );
}

#[tokio::test]
async fn calls_run_only_if_the_answer_waits_for_them() {
    for reason in ["stop", "length", "other"] {
        let step = Says::Chunks(vec![start(), call("c", "mine"), finish(reason)]);
        let (wire, (mine, ran)) = (Scripted::new([step]), counted("mine"));
        let client = wire.client();
        client.register_tool(mine).unwrap();
        let answer = soon(client.ask("go")).await.unwrap();
        assert_eq!((ran.load(Ordering::SeqCst), answer.open_calls().count()), (0, 1), "{reason}");
    }
}

#[tokio::test]
async fn calls_that_the_server_ran_or_refused_are_not_run_again() {
    let step = Says::Chunks(vec![
        start(),
        json!({ "type": "tool-input-available", "toolCallId": "a", "toolName": "mine", "input": {}, "providerExecuted": true }),
        json!({ "type": "tool-input-available", "toolCallId": "b", "toolName": "mine", "input": {} }),
        json!({ "type": "tool-output-available", "toolCallId": "b", "output": "half", "preliminary": true }),
        json!({ "type": "tool-output-available", "toolCallId": "b", "output": "whole" }),
        json!({ "type": "tool-input-error", "toolCallId": "c", "toolName": "mine", "input": "{", "errorText": "no JSON" }),
        json!({ "type": "tool-input-start", "toolCallId": "d", "toolName": "mine" }),
        json!({ "type": "tool-output-error", "toolCallId": "d", "errorText": "cut off" }),
        json!({ "type": "tool-input-available", "toolCallId": "e", "toolName": "mine", "input": {} }),
        json!({ "type": "tool-output-denied", "toolCallId": "e" }),
        finish("tool-calls"),
    ]);
    let (wire, (mine, ran)) = (Scripted::new([step]), counted("mine"));
    let client = wire.client();
    client.register_tool(mine).unwrap();
    let told = events(client.chat("go")).await;
    let Some(ChatEvent::Finish(answer)) = told.last() else { panic!("{told:?}") };
    assert_eq!(
        (ran.load(Ordering::SeqCst), &answer.finish, answer.calls.len()),
        (0, &ChatFinish::ToolCalls, 5)
    );
    let results: Vec<_> =
        answer.results.iter().map(|result| (result.call_id.as_str(), result.output.clone())).collect();
    assert_eq!(
        results,
        [
            ("b", json!("whole")),
            ("c", json!({ "error": "no JSON" })),
            ("d", json!({ "error": "cut off" })),
            ("e", json!({ "error": "The user said no." }))
        ]
    );
    assert_eq!(kinds(&told).iter().filter(|kind| **kind == "end").count(), 4);
}

#[tokio::test]
async fn ids_that_come_again_in_a_later_round_are_calls_of_their_own() {
    let step = || {
        Says::Chunks(vec![
            start(),
            json!({ "type": "start-step" }),
            call("call_0", "mine"),
            finish("tool-calls"),
        ])
    };
    let (wire, (mine, ran)) = (Scripted::new([step(), step(), says("Done.")]), counted("mine"));
    let client = wire.client();
    client.register_tool(mine).unwrap();
    let answer = soon(client.ask("go")).await.unwrap();
    assert_eq!((ran.load(Ordering::SeqCst), answer.results.len(), answer.text.as_str()), (2, 2, "Done."));
}

#[tokio::test]
async fn token_usage_is_summed_over_rounds() {
    let costs = |reason: &str| json!({ "type": "finish", "finishReason": reason, "messageMetadata": { "usage": { "inputTokens": 10, "outputTokens": 2 } } });
    let wire = Scripted::new([
        Says::Chunks(vec![start(), call("c", "mine"), costs("tool-calls")]),
        Says::Chunks([vec![start()], text("Done."), vec![costs("stop")]].concat()),
    ]);
    let client = wire.client();
    client.register_tool(counted("mine").0).unwrap();
    let usage = soon(client.ask("go")).await.unwrap().usage.unwrap();
    assert_eq!((usage.input_tokens, usage.output_tokens), (20, 4));
}

#[tokio::test]
async fn no_more_than_sixteen_tools_run_at_once() {
    let calls = (0..20).map(|n| call(&format!("c{n}"), "busy"));
    let step = Says::Chunks([start()].into_iter().chain(calls).chain([finish("tool-calls")]).collect());
    let wire = Scripted::new([step, says("All.")]);
    let (client, begun, gate) = (wire.client(), Arc::new(AtomicUsize::new(0)), Arc::new(Semaphore::new(0)));
    let (count, opens) = (begun.clone(), gate.clone());
    let busy = tool("busy", move |_, cx| {
        let gate = gate.clone();
        count.fetch_add(1, Ordering::SeqCst);
        async move {
            cx.progress(0.0, None, None);
            let _permit = gate.acquire().await;
            Ok(json!(1))
        }
    });
    client.register_tool(busy).unwrap();
    let mut stream = client.chat("go");
    for _ in 0..16 {
        until(&mut stream, |event| matches!(event, ChatEvent::Progress { .. })).await;
    }
    // Whoever else were to run would have begun by now.
    for _ in 0..100 {
        tokio::task::yield_now().await;
    }
    assert_eq!(begun.load(Ordering::SeqCst), 16);
    opens.add_permits(1);
    let answer = soon(stream.collect()).await.unwrap();
    assert_eq!((answer.results.len(), begun.load(Ordering::SeqCst), answer.text.as_str()), (20, 20, "All."));
}

#[tokio::test(start_paused = true)]
async fn a_long_refusal_is_not_read_to_the_end() {
    let said = |error: ChatError| match error {
        ChatError::Refused(refusal) => refusal,
        other => panic!("{other}"),
    };
    let long = said(failed(Says::Other(500, "text/plain", "x".repeat(2 * 1024 * 1024))).await);
    assert_eq!((long.status, long.body.len()), (500, 1024 * 1024));
    let slow = said(failed(Says::Endless(503, "not now")).await);
    assert_eq!(slow.to_string(), "it answered 503: not now");
}
