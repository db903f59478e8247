//! Assembles a response from its chunks. Servers deviate in how they tell calls apart and in how they end.

use std::sync::Arc;

use serde_json::{Value, json};
use toolyard_core::ports::IdGenerator;

use super::wire::{CallPiece, CompatChunk, CompatDelta, UsageWire};
use crate::model::{
    ModelError, ModelEvent, ModelUsage, ResponseEnd,
    calls::{self, CallAssembler, MAX_CALLS},
    errors::ModelTarget,
};

/// Most bytes of reasoning that are kept to be sent back.
pub(super) const MAX_REASONING_BYTES: usize = 256 * 1024;

pub(super) struct CompatResponse {
    model: String,
    target: ModelTarget,
    calls: CallAssembler,
    /// How the server identifies each call.
    slots: Vec<CallSlot>,
    finish_reason: Option<String>,
    done: bool,
    usage: Option<UsageWire>,
    reasoning: ReasoningBuffer,
}

#[derive(Debug)]
struct CallSlot {
    index: Option<u64>,
    id: Option<String>,
}

impl CompatResponse {
    pub(super) fn new(model: String, target: ModelTarget, ids: Arc<dyn IdGenerator>) -> Self {
        let calls = CallAssembler::new(ids);
        let reasoning = ReasoningBuffer::default();
        Self {
            model,
            target,
            calls,
            slots: Vec::new(),
            finish_reason: None,
            done: false,
            usage: None,
            reasoning,
        }
    }

    pub(super) fn target(&self) -> &ModelTarget {
        &self.target
    }

    /// Whether only token counts can follow.
    pub(super) fn is_finished(&self) -> bool {
        self.finish_reason.is_some()
    }

    /// The server marked the end.
    pub(super) fn mark_done(&mut self) {
        self.done = true;
    }

    /// Takes a chunk.
    pub(super) fn take_chunk(&mut self, line: &str, out: &mut Vec<ModelEvent>) -> Result<(), ModelError> {
        let chunk: CompatChunk = serde_json::from_str(line)
            .map_err(|error| self.target.broken_error(&format!("malformed chunk: {error}: {line}")))?;
        if let Some(error) = chunk.error.filter(|error| !error.is_null()) {
            return Err(self.target.stream_error(&error));
        }
        self.usage = chunk.usage.or(self.usage);
        let Some(choice) = chunk.choices.into_iter().flatten().next() else { return Ok(()) };
        if let Some(delta) = choice.delta {
            self.apply_delta(delta, out)?;
        }
        self.finish_reason =
            choice.finish_reason.filter(|word| !word.is_empty()).or(self.finish_reason.take());
        Ok(())
    }

    fn apply_delta(&mut self, delta: CompatDelta, out: &mut Vec<ModelEvent>) -> Result<(), ModelError> {
        let non_empty = |text: Option<String>| text.filter(|text| !text.is_empty());
        // Some servers send the same reasoning under both names.
        if let Some(thought) = non_empty(delta.reasoning_content) {
            self.reasoning.add_thought(&thought);
            out.push(ModelEvent::Reasoning(thought));
        } else if let Some(thought) = non_empty(delta.reasoning) {
            out.push(ModelEvent::Reasoning(thought));
        }
        for detail in delta.reasoning_details.into_iter().flatten() {
            self.reasoning.add_detail(detail);
        }
        push_content(delta.content.as_ref(), out);
        out.extend(non_empty(delta.refusal).map(ModelEvent::Text));
        for piece in delta.tool_calls.into_iter().flatten() {
            let call = self.find_or_open_slot(&piece)?;
            let function = piece.function.unwrap_or_default();
            self.calls.add(call, function.name.as_deref(), &function.arguments_text(), out);
        }
        Ok(())
    }

    /// The call that a part belongs to.
    fn find_or_open_slot(&mut self, piece: &CallPiece) -> Result<usize, ModelError> {
        let id = piece.id.as_deref().filter(|id| !id.is_empty());
        let named =
            piece.function.as_ref().and_then(|f| f.name.as_deref()).is_some_and(|name| !name.is_empty());
        let known = match (piece.index, id) {
            (Some(index), _) => self.slots.iter().rposition(|slot| slot.index == Some(index)),
            (None, Some(id)) => self.slots.iter().rposition(|slot| slot.id.as_deref() == Some(id)),
            (None, None) if named => None,
            (None, None) => self.slots.len().checked_sub(1),
        };
        // Some servers number every call 0 and tell them apart by id alone.
        let other = |slot: &CallSlot| named && id.is_some() && slot.id.is_some() && slot.id.as_deref() != id;
        if let Some(at) = known.filter(|at| !other(&self.slots[*at])) {
            return Ok(at);
        }
        let at = self
            .calls
            .open_call()
            .map_err(|_| self.target.broken_error(&format!("more than {MAX_CALLS} calls")))?;
        self.slots.push(CallSlot { index: piece.index, id: id.map(str::to_owned) });
        Ok(at)
    }

    /// The calls and the end. An error if the response has no end.
    pub(super) fn into_events(self) -> Vec<Result<ModelEvent, ModelError>> {
        if self.finish_reason.is_none() && !self.done {
            return vec![Err(self.target.broken_error("the response has no end"))];
        }
        if self.finish_reason.as_deref() == Some("error") {
            return vec![Err(self.target.broken_error("the response ended with finish_reason error"))];
        }
        let called = !self.calls.is_empty();
        let stop = calls::parse_stop_reason(self.finish_reason.as_deref(), called);
        let usage = self.usage.map(|usage| ModelUsage {
            input: usage.prompt_tokens.unwrap_or_default(),
            output: usage.completion_tokens.unwrap_or_default(),
        });
        // Reasoning is sent back with the results of calls only.
        let vendor_state = if called { self.reasoning.into_value(&self.model) } else { None };
        let mut events: Vec<_> = self.calls.into_events(stop).into_iter().map(Ok).collect();
        events.push(Ok(ModelEvent::End(ResponseEnd { stop, usage, vendor_state })));
        events
    }
}

/// Text, or a list of parts with text and reasoning.
fn push_content(content: Option<&Value>, out: &mut Vec<ModelEvent>) {
    match content {
        Some(Value::String(text)) if !text.is_empty() => out.push(ModelEvent::Text(text.clone())),
        Some(Value::Array(parts)) => {
            for part in parts {
                match (&part["text"], &part["thinking"]) {
                    (Value::String(text), _) if !text.is_empty() => out.push(ModelEvent::Text(text.clone())),
                    (_, Value::String(text)) => out.push(ModelEvent::Reasoning(text.clone())),
                    (_, Value::Array(thoughts)) => {
                        let texts = thoughts.iter().filter_map(|thought| thought["text"].as_str());
                        out.extend(texts.map(|text| ModelEvent::Reasoning(text.to_owned())));
                    }
                    _ => {}
                }
            }
        }
        _ => {}
    }
}

/// What servers want back with the calls: DeepSeek and Kimi the reasoning, OpenRouter the vendor's signed blocks.
#[derive(Debug, Default)]
struct ReasoningBuffer {
    thoughts: String,
    details: Vec<Value>,
    bytes: usize,
}

impl ReasoningBuffer {
    fn add_thought(&mut self, text: &str) {
        self.bytes = self.bytes.saturating_add(text.len());
        if self.bytes <= MAX_REASONING_BYTES {
            self.thoughts.push_str(text);
        }
    }

    /// Blocks arrive in parts with the same index and type. Texts are appended, other values are set.
    fn add_detail(&mut self, detail: Value) {
        self.bytes = self.bytes.saturating_add(detail.to_string().len());
        let Value::Object(detail) = detail else { return };
        if self.bytes > MAX_REASONING_BYTES {
            return;
        }
        let same = |key: &str, known: &Value| detail.get(key) == known.get(key);
        let known = self.details.iter_mut().rev().find(|known| same("index", known) && same("type", known));
        let Some(Value::Object(known)) = known.filter(|known| known.get("index").is_some()) else {
            self.details.push(Value::Object(detail));
            return;
        };
        for (key, value) in detail {
            match (known.get_mut(&key), value) {
                (Some(Value::String(grown)), Value::String(more))
                    if matches!(&*key, "text" | "summary" | "data") =>
                {
                    grown.push_str(&more);
                }
                (_, Value::Null) => {}
                (_, value) => drop(known.insert(key, value)),
            }
        }
    }

    fn into_value(self, model: &str) -> Option<Arc<Value>> {
        if self.bytes == 0 || self.bytes > MAX_REASONING_BYTES {
            return None;
        }
        let mut state = json!({ "model": model });
        if !self.thoughts.is_empty() {
            state["reasoning_content"] = self.thoughts.into();
        }
        if !self.details.is_empty() {
            state["reasoning_details"] = self.details.into();
        }
        Some(Arc::new(state))
    }
}

#[cfg(test)]
mod tests {
    use toolyard_core::ports::SystemIds;

    use super::*;
    use crate::model::{ModelErrorKind, ModelStopReason};

    fn answer() -> CompatResponse {
        let target = ModelTarget {
            id: "local/m".into(),
            url: "http://127.0.0.1/v1/".parse().unwrap(),
            key: None,
            key_from: "the configuration".to_owned(),
        };
        CompatResponse::new("local/m".to_owned(), target, Arc::new(SystemIds))
    }

    /// The calls that these deltas result in, with names and arguments, and the end.
    fn calls(deltas: &[Value], word: &str) -> (Vec<(String, String)>, ResponseEnd) {
        let mut answer = answer();
        let mut out = Vec::new();
        for delta in deltas {
            answer.take_chunk(&json!({ "choices": [{ "delta": delta }] }).to_string(), &mut out).unwrap();
        }
        answer
            .take_chunk(&json!({ "choices": [{ "delta": {}, "finish_reason": word }] }).to_string(), &mut out)
            .unwrap();
        let mut calls = Vec::new();
        for event in answer.into_events() {
            match event.unwrap() {
                ModelEvent::Call(call) => calls.push((call.name, call.arguments.get().to_owned())),
                ModelEvent::End(end) => return (calls, end),
                other => panic!("{other:?}"),
            }
        }
        panic!("no end");
    }

    fn piece(index: Option<u64>, id: Option<&str>, name: Option<&str>, arguments: Option<&str>) -> Value {
        let mut piece = json!({ "function": {} });
        if let Some(index) = index {
            piece["index"] = index.into();
        }
        if let Some(id) = id {
            piece["id"] = id.into();
        }
        if let Some(name) = name {
            piece["function"]["name"] = name.into();
        }
        if let Some(arguments) = arguments {
            piece["function"]["arguments"] = arguments.into();
        }
        json!({ "tool_calls": [piece] })
    }

    fn two() -> Vec<(String, String)> {
        vec![("a".to_owned(), "{\"x\":1}".to_owned()), ("b".to_owned(), "{}".to_owned())]
    }

    #[test]
    fn calls_are_told_apart_however_a_server_does_it() {
        let usual = [
            piece(Some(0), Some("1"), Some("a"), Some("")),
            piece(Some(1), Some("2"), Some("b"), Some("")),
            piece(Some(0), None, None, Some("{\"x\":")),
            piece(Some(1), None, None, Some("{}")),
            piece(Some(0), None, None, Some("1}")),
        ];
        let no_index = [
            piece(None, Some("1"), Some("a"), Some("{\"x\":")),
            piece(None, None, None, Some("1}")),
            piece(None, Some("2"), Some("b"), None),
        ];
        let all_zero = [
            piece(Some(0), Some("1"), Some("a"), Some("{\"x\":1}")),
            piece(Some(0), Some("2"), Some("b"), Some("{}")),
        ];
        let no_ids =
            [piece(None, None, Some("a"), Some("{\"x\":1}")), piece(None, Some(""), Some("b"), None)];
        let far = [
            piece(Some(7), Some("1"), Some("a"), Some("{\"x\":1}")),
            piece(Some(u64::MAX), None, Some("b"), None),
        ];
        let new_id_each_time = [
            piece(Some(0), Some("1"), Some("a"), Some("{\"x\":")),
            piece(Some(0), Some("9"), None, Some("1}")),
            piece(Some(1), Some("2"), Some("b"), None),
        ];
        for deltas in [&usual[..], &no_index, &all_zero, &no_ids, &far, &new_id_each_time] {
            let (came, end) = calls(deltas, "stop");
            assert_eq!((came, end.stop), (two(), ModelStopReason::Calls), "{deltas:?}");
        }
    }

    #[test]
    fn too_many_calls_break_the_answer() {
        let mut answer = answer();
        let mut out = Vec::new();
        for index in 0..=MAX_CALLS {
            let delta = piece(Some(index as u64), None, Some("a"), None);
            let taken = answer.take_chunk(&json!({ "choices": [{ "delta": delta }] }).to_string(), &mut out);
            assert_eq!(taken.is_err(), index == MAX_CALLS, "{index}");
        }
    }

    #[test]
    fn thoughts_and_text_come_in_all_their_forms() {
        let mut answer = answer();
        let mut out = Vec::new();
        for delta in [
            json!({ "role": "assistant", "content": "" }),
            json!({ "reasoning_content": "r1", "reasoning": "r1" }),
            json!({ "reasoning": "r2" }),
            json!({ "content": [{ "type": "thinking", "thinking": [{ "type": "text", "text": "r3" }] }, { "type": "text", "text": "t1" }] }),
            json!({ "content": "t2" }),
            json!({ "refusal": "t3" }),
        ] {
            answer.take_chunk(&json!({ "choices": [{ "delta": delta }] }).to_string(), &mut out).unwrap();
        }
        let received: Vec<_> = out
            .iter()
            .map(|event| match event {
                ModelEvent::Text(text) | ModelEvent::Reasoning(text) => text.as_str(),
                other => panic!("{other:?}"),
            })
            .collect();
        assert_eq!(received, ["r1", "r2", "r3", "t1", "t2", "t3"]);
    }

    #[test]
    fn thoughts_are_kept_for_a_round_of_calls_only() {
        let call = piece(Some(0), Some("1"), Some("a"), Some("{}"));
        let detail = |text: &str| json!({ "reasoning_details": [{ "type": "reasoning.text", "index": 0, "text": text }] });
        let signed = json!({ "reasoning_details": [{ "type": "reasoning.text", "index": 0, "signature": "s", "text": null }] });
        let thought = json!({ "reasoning_content": "hm" });
        let (_, end) =
            calls(&[thought.clone(), detail("a"), detail("b"), signed, call.clone()], "tool_calls");
        assert_eq!(
            *end.vendor_state.unwrap(),
            json!({ "model": "local/m", "reasoning_content": "hm",
                "reasoning_details": [{ "type": "reasoning.text", "index": 0, "text": "ab", "signature": "s" }] })
        );
        assert!(calls(&[thought], "stop").1.vendor_state.is_none());
        let long = json!({ "reasoning_content": "x".repeat(MAX_REASONING_BYTES + 1) });
        assert!(calls(&[long, call.clone()], "stop").1.vendor_state.is_none());
        let fits = json!({ "reasoning_content": "x".repeat(MAX_REASONING_BYTES) });
        assert!(calls(&[fits, call], "stop").1.vendor_state.is_some());
    }

    #[test]
    fn an_answer_needs_an_end_of_some_sort() {
        let kind = |answer: CompatResponse| {
            answer.into_events().pop().unwrap().map(|_| ()).map_err(|error| error.kind)
        };
        assert_eq!(kind(answer()), Err(ModelErrorKind::Broken));
        let mut done = answer();
        done.mark_done();
        assert_eq!(kind(done), Ok(()));
        let mut word = answer();
        word.take_chunk(r#"{"choices":[{"finish_reason":"stop"}]}"#, &mut Vec::new()).unwrap();
        assert_eq!(kind(word), Ok(()));
        let mut error = answer();
        error.take_chunk(r#"{"choices":[{"finish_reason":"error"}]}"#, &mut Vec::new()).unwrap();
        assert_eq!(kind(error), Err(ModelErrorKind::Broken));
    }

    #[test]
    fn usage_may_come_last_and_errors_in_the_middle() {
        let mut answer = answer();
        answer
            .take_chunk(r#"{"choices":[{"finish_reason":"length"}],"usage":null}"#, &mut Vec::new())
            .unwrap();
        answer
            .take_chunk(
                r#"{"choices":[],"usage":{"prompt_tokens":12,"completion_tokens":7}}"#,
                &mut Vec::new(),
            )
            .unwrap();
        let error = answer.take_chunk(r#"{"error":{"code":429}}"#, &mut Vec::new()).unwrap_err();
        assert_eq!(error.kind, ModelErrorKind::RateLimited);
        assert_eq!(answer.take_chunk("{", &mut Vec::new()).unwrap_err().kind, ModelErrorKind::Broken);
        let Some(Ok(ModelEvent::End(end))) = answer.into_events().pop() else { panic!() };
        assert_eq!(
            (end.stop, end.usage),
            (ModelStopReason::Length, Some(ModelUsage { input: 12, output: 7 }))
        );
    }
}
