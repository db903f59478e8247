//! What clients of all versions enforce: every stream of every test goes through here.

use std::collections::{HashMap, HashSet};

use serde_json::Value;

/// Finish reasons that every client supports.
const REASONS: [&str; 6] = ["stop", "length", "content-filter", "tool-calls", "error", "other"];

/// The keys of a chunk beside its type: those that it must have, then those that it may have.
fn keys(kind: &str) -> (&'static [&'static str], &'static [&'static str]) {
    match kind {
        "start" => (&[], &["messageId"]),
        "start-step" | "finish-step" => (&[], &[]),
        "text-start" | "text-end" | "reasoning-start" | "reasoning-end" => (&["id"], &[]),
        "text-delta" | "reasoning-delta" => (&["id", "delta"], &[]),
        "tool-input-start" => (&["toolCallId", "toolName"], &["providerExecuted"]),
        "tool-input-delta" => (&["toolCallId", "inputTextDelta"], &[]),
        "tool-input-available" => (&["toolCallId", "toolName", "input"], &["providerExecuted"]),
        "tool-output-available" => (&["toolCallId", "output"], &["providerExecuted"]),
        "tool-output-error" => (&["toolCallId", "errorText"], &["providerExecuted"]),
        // From AI SDK 6 on, and without the keys that its first release does not know.
        "tool-approval-request" => (&["approvalId", "toolCallId"], &[]),
        "tool-output-denied" => (&["toolCallId"], &[]),
        "data-tool" | "data-progress" | "data-notice" => (&["data"], &["id", "transient"]),
        "data-approval" => (&["id", "data"], &[]),
        "data-sign-in" => (&["id", "transient", "data"], &[]),
        "error" => (&["errorText"], &[]),
        "finish" => (&["finishReason"], &[]),
        other => panic!("no client knows a chunk `{other}`"),
    }
}

/// The state of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Call {
    Begun,
    OfServer,
    OfClient,
    Waits,
    Ended,
}

#[derive(Default)]
struct Seen {
    in_step: bool,
    had_step: bool,
    /// Open text and reasoning parts.
    open: HashSet<(String, String)>,
    calls: HashMap<String, Call>,
    over: bool,
}

/// A UI message stream, chunk by chunk.
pub(crate) fn ui(chunks: &[Value]) {
    let mut seen = Seen::default();
    for (place, chunk) in chunks.iter().enumerate() {
        let kind = chunk["type"].as_str().unwrap();
        assert_eq!(place == 0, kind == "start", "`start` comes first and once: {chunks:#?}");
        assert!(!seen.over, "something comes after the end: {chunks:#?}");
        check_keys(kind, chunk);
        seen.take(kind, chunk);
    }
    assert!(seen.over, "there is no end: {chunks:#?}");
    let failed = chunks.last().unwrap()["type"] == "error";
    assert!(failed || !seen.in_step, "a step is open: {chunks:#?}");
    let of_client = seen.calls.values().any(|call| matches!(call, Call::OfClient | Call::Waits));
    let reason = &chunks.last().unwrap()["finishReason"];
    assert!(reason != "tool-calls" || of_client, "the client has nothing to run: {chunks:#?}");
    assert!(reason != "stop" || !of_client, "the client has something to run: {chunks:#?}");
}

fn check_keys(kind: &str, chunk: &Value) {
    let (must, may) = keys(kind);
    let has: HashSet<&str> = chunk.as_object().unwrap().keys().map(String::as_str).collect();
    for key in must {
        assert!(has.contains(key), "{key} is missing: {chunk}");
    }
    for key in has {
        assert!(key == "type" || must.contains(&key) || may.contains(&key), "no client knows {key}: {chunk}");
    }
    for key in ["messageId", "id", "delta", "toolCallId", "toolName", "inputTextDelta", "errorText"] {
        assert!(chunk.get(key).is_none_or(Value::is_string), "{key} is no text: {chunk}");
    }
    let flag = |key: &str| chunk.get(key).is_none_or(|value| *value == true);
    assert!(flag("providerExecuted") && flag("transient"), "{chunk}");
    if let Some(reason) = chunk.get("finishReason") {
        assert!(REASONS.contains(&reason.as_str().unwrap()), "{chunk}");
    }
}

impl Seen {
    fn take(&mut self, kind: &str, chunk: &Value) {
        let text = |key: &str| chunk[key].as_str().unwrap_or_default().to_owned();
        if kind.starts_with("tool-output-") && !self.had_step {
            // The result of a call that waited in the continued message.
            return assert_eq!(self.calls.insert(text("toolCallId"), Call::Ended), None, "{chunk}");
        }
        if !matches!(kind, "start" | "start-step" | "error" | "finish" | "data-notice") {
            assert!(self.in_step, "outside of a step: {chunk}");
        }
        match kind {
            "start-step" => {
                assert!(!self.in_step && self.open.is_empty(), "a step in a step");
                (self.in_step, self.had_step) = (true, true);
            }
            "finish-step" => {
                assert!(self.open.is_empty(), "open at the end of a step: {:?}", self.open);
                let unended = |call: &&Call| matches!(call, Call::Begun | Call::OfServer);
                assert_eq!(
                    self.calls.values().filter(unended).count(),
                    0,
                    "calls have no end: {:?}",
                    self.calls
                );
                self.in_step = false;
            }
            "text-start" | "reasoning-start" => {
                assert!(self.open.insert((kind.replace("-start", ""), text("id"))), "{chunk}");
            }
            "text-delta" | "reasoning-delta" => {
                assert!(self.open.contains(&(kind.replace("-delta", ""), text("id"))), "not begun: {chunk}");
            }
            "text-end" | "reasoning-end" => {
                assert!(self.open.remove(&(kind.replace("-end", ""), text("id"))), "not begun: {chunk}");
            }
            "tool-input-start" => {
                let before = self.calls.insert(text("toolCallId"), Call::Begun);
                assert_eq!(before, None, "two calls with one id: {chunk}");
            }
            "tool-input-delta" => {
                assert_eq!(self.calls.get(&text("toolCallId")), Some(&Call::Begun), "{chunk}")
            }
            "tool-input-available" => {
                let here = chunk.get("providerExecuted").is_some();
                let now = if here { Call::OfServer } else { Call::OfClient };
                let before = self.calls.insert(text("toolCallId"), now);
                assert!(matches!(before, None | Some(Call::Begun)), "called twice: {chunk}");
            }
            "tool-output-available" | "tool-output-error" => {
                assert_eq!(
                    chunk["providerExecuted"], true,
                    "the end of a client's call is the client's: {chunk}"
                );
                let before = self.calls.insert(text("toolCallId"), Call::Ended);
                assert!(
                    matches!(before, Some(Call::Begun | Call::OfServer)),
                    "nothing to end: {before:?} {chunk}"
                );
            }
            "tool-approval-request" => {
                let before = self.calls.insert(text("toolCallId"), Call::Waits);
                assert_eq!(before, Some(Call::OfServer), "nothing to approve: {chunk}");
            }
            "data-tool" => assert_eq!(self.calls.get(&text("id")), Some(&Call::OfServer), "{chunk}"),
            "data-progress" => {
                let call = chunk["data"]["toolCallId"].as_str().unwrap();
                assert_eq!(
                    self.calls.get(call),
                    Some(&Call::OfServer),
                    "progress of what does not run: {chunk}"
                );
            }
            "error" | "finish" => self.over = true,
            _ => {}
        }
    }
}

/// A line of a data stream v1.
pub(crate) type Line = (char, Value);

/// A data stream v1, line by line, and what the client of AI SDK 4 would do after it.
pub(crate) fn v1(lines: &[Line]) {
    let mut step: Option<HashMap<String, bool>> = None;
    let (mut last_step, mut known, mut over) = (HashMap::new(), HashSet::new(), false);
    for (code, value) in lines {
        assert!(!over, "something comes after the end: {lines:#?}");
        let id = || value["toolCallId"].as_str().unwrap().to_owned();
        let open = |step: &mut Option<HashMap<String, bool>>, id: String, done: bool| {
            step.as_mut().expect("a step is open").insert(id, done);
        };
        match code {
            'f' => {
                assert!(step.is_none() && value["messageId"].is_string(), "{value}");
                step = Some(HashMap::new());
            }
            'e' => {
                last_step = step.take().expect("a step is open");
                assert!(
                    value["isContinued"] == false
                        && REASONS.contains(&value["finishReason"].as_str().unwrap())
                );
            }
            'd' => {
                assert!(
                    step.is_none() && REASONS.contains(&value["finishReason"].as_str().unwrap()),
                    "{lines:#?}"
                );
                assert!(
                    value["usage"]["promptTokens"].is_u64() && value["usage"]["completionTokens"].is_u64()
                );
                over = true;
            }
            '0' => {
                let text = value.as_str().unwrap();
                let twice = serde_json::from_str::<Value>(text)
                    .is_ok_and(|value| value.is_object() || value.is_array());
                assert!(step.is_some() && !twice, "{text}");
            }
            'g' => assert!(step.is_some() && value.is_string()),
            'b' => {
                assert!(value["toolName"].is_string() && known.insert(id()), "{value}");
                open(&mut step, id(), false);
            }
            'c' => assert!(value["argsTextDelta"].is_string() && known.contains(&id()), "{value}"),
            '9' => {
                assert!(value["toolName"].is_string() && value["args"].is_object(), "{value}");
                known.insert(id());
                open(&mut step, id(), false);
            }
            'a' => {
                assert!(known.contains(&id()) && value.get("result").is_some(), "{value}");
                open(&mut step, id(), true);
            }
            '2' => assert!(value.is_array()),
            '3' => {
                assert!(value.is_string());
                return assert_eq!(&lines[lines.len() - 1].0, code, "nothing after an error");
            }
            other => panic!("no client knows `{other}`"),
        }
    }
    assert!(over, "there is no end: {lines:#?}");
    let asks_again = !last_step.is_empty() && last_step.values().all(|done| *done);
    assert!(!asks_again, "the client would ask again for ever: {lines:#?}");
}
