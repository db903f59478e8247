//! Assembles a response from `genai`'s events.

use std::{collections::HashMap, sync::Arc};

use genai::chat::{ChatStreamEvent, StopReason, StreamEnd, ToolCall};
use serde_json::{Value, json};
use toolyard_core::ports::IdGenerator;

use super::{VendorKind, request::from_wire_name};
use crate::model::{
    BadCall, ModelError, ModelEvent, ModelStopReason, ModelUsage, ResponseEnd,
    calls::{CallAssembler, MAX_CALLS},
    errors::ModelTarget,
    ids,
};

/// Longest response, in bytes of text, reasoning and arguments.
pub(super) const MAX_ANSWER: usize = 8 * 1024 * 1024;

/// Most bytes of signed reasoning that are kept to be sent back.
const MAX_VENDOR_STATE: usize = 1024 * 1024;

/// The events from one `genai` event, and whether more can follow.
type EventBatch = (Vec<Result<ModelEvent, ModelError>>, bool);

pub(super) struct VendorResponse {
    model: String,
    kind: VendorKind,
    target: ModelTarget,
    ids: Arc<dyn IdGenerator>,
    calls: CallAssembler,
    /// The growing call: the vendor's id, and how much of its text was received.
    growing: Option<(usize, String, usize)>,
    /// By our ids.
    signatures: HashMap<String, Vec<String>>,
    bytes: usize,
}

impl VendorResponse {
    pub(super) fn new(
        model: String,
        kind: VendorKind,
        target: ModelTarget,
        ids: Arc<dyn IdGenerator>,
    ) -> Self {
        let calls = CallAssembler::new(ids.clone());
        Self { model, kind, target, ids, calls, growing: None, signatures: HashMap::new(), bytes: 0 }
    }

    pub(super) fn take_event(&mut self, event: ChatStreamEvent) -> EventBatch {
        let mut out = Vec::new();
        let taken = match event {
            ChatStreamEvent::Chunk(chunk) => self.push_text(chunk.content, ModelEvent::Text, &mut out),
            ChatStreamEvent::ReasoningChunk(chunk) => {
                self.push_text(chunk.content, ModelEvent::Reasoning, &mut out)
            }
            ChatStreamEvent::ToolCallChunk(chunk) => self.push_call(chunk.tool_call, &mut out),
            ChatStreamEvent::End(end) => return (self.finish_events(end), false),
            ChatStreamEvent::Start
            | ChatStreamEvent::Heartbeat
            | ChatStreamEvent::ThoughtSignatureChunk(_) => Ok(()),
        };
        let mut out: Vec<_> = out.into_iter().map(Ok).collect();
        let more = taken.is_ok();
        out.extend(taken.err().map(Err));
        (out, more)
    }

    fn count_bytes(&mut self, bytes: usize) -> Result<(), ModelError> {
        self.bytes = self.bytes.saturating_add(bytes);
        let over = self.bytes > MAX_ANSWER;
        if over {
            Err(self.target.broken_error(&format!("a response of more than {MAX_ANSWER} bytes")))
        } else {
            Ok(())
        }
    }

    fn push_text(
        &mut self,
        text: String,
        event: fn(String) -> ModelEvent,
        out: &mut Vec<ModelEvent>,
    ) -> Result<(), ModelError> {
        self.count_bytes(text.len())?;
        if !text.is_empty() {
            out.push(event(text));
        }
        Ok(())
    }

    /// Anthropic's calls grow: each chunk has the whole text so far. Gemini's arrive complete, and their ids may
    /// repeat.
    fn push_call(&mut self, call: ToolCall, out: &mut Vec<ModelEvent>) -> Result<(), ModelError> {
        let name = from_wire_name(self.kind, &call.fn_name);
        match (self.kind, call.fn_arguments) {
            (VendorKind::Anthropic, Value::String(text)) => {
                let (at, received) = match &self.growing {
                    Some((at, id, received)) if *id == call.call_id => (*at, *received),
                    _ => (self.open_call()?, 0),
                };
                let fresh = text.get(received..).unwrap_or_default();
                self.count_bytes(fresh.len())?;
                self.growing = Some((at, call.call_id, text.len()));
                self.calls.add(at, Some(name), fresh, out);
            }
            (_, arguments) => {
                let at = self.open_call()?;
                let text = if arguments.is_null() { String::new() } else { arguments.to_string() };
                self.count_bytes(text.len())?;
                self.calls.add(at, Some(name), &text, out);
                if let (Some(signatures), Some(id)) = (call.thought_signatures, self.calls.call_id(at)) {
                    self.signatures.insert(id.to_owned(), signatures);
                }
            }
        }
        Ok(())
    }

    fn open_call(&mut self) -> Result<usize, ModelError> {
        self.calls.open_call().map_err(|_| self.target.broken_error(&format!("more than {MAX_CALLS} calls")))
    }

    fn finish_events(&mut self, end: StreamEnd) -> Vec<Result<ModelEvent, ModelError>> {
        // `genai` makes up an end for Gemini if the connection was cut.
        if self.kind == VendorKind::Gemini && end.captured_stop_reason.is_none() {
            return vec![Err(self.target.broken_error("the response has no end"))];
        }
        let calls = std::mem::replace(&mut self.calls, CallAssembler::new(self.ids.clone()));
        let mut events = Vec::new();
        let bad = end.captured_stop_reason.as_ref().and_then(|reason| self.bad_call(reason));
        let stop = map_stop_reason(end.captured_stop_reason.as_ref(), !calls.is_empty() || bad.is_some());
        let vendor_state = self.signed_thoughts(&end);
        events.extend(calls.into_events(stop).into_iter().chain(bad).map(Ok));
        let usage = end.captured_usage.map(|usage| ModelUsage {
            input: token_count(usage.prompt_tokens),
            output: token_count(usage.completion_tokens),
        });
        events.push(Ok(ModelEvent::End(ResponseEnd { stop, usage, vendor_state })));
        events
    }

    /// Gemini does not return a malformed call, it only reports it.
    fn bad_call(&self, reason: &StopReason) -> Option<ModelEvent> {
        let problem = match reason.raw() {
            "MALFORMED_FUNCTION_CALL" => "the call could not be read; write it again",
            "UNEXPECTED_TOOL_CALL" => "there is no such tool, or no call was allowed",
            _ => return None,
        };
        let id = ids::new_call_id(&*self.ids);
        Some(ModelEvent::BadCall(BadCall {
            id,
            name: None,
            text: String::new(),
            problem: problem.to_owned(),
        }))
    }

    /// Signed reasoning: what precedes the text, and what belongs to a call.
    fn signed_thoughts(&mut self, end: &StreamEnd) -> Option<Arc<Value>> {
        let parts: Vec<_> = end.captured_content.iter().flat_map(|content| content.parts()).collect();
        if parts.is_empty() && self.signatures.is_empty() {
            return None;
        }
        let state =
            json!({ "model": self.model, "parts": parts, "calls": std::mem::take(&mut self.signatures) });
        (state.to_string().len() <= MAX_VENDOR_STATE).then(|| Arc::new(state))
    }
}

fn token_count(count: Option<i32>) -> u64 {
    count.and_then(|count| u64::try_from(count).ok()).unwrap_or_default()
}

/// With calls the reason is always `Calls`, unless the response was cut.
fn map_stop_reason(reason: Option<&StopReason>, called: bool) -> ModelStopReason {
    match reason {
        Some(StopReason::MaxTokens(_)) => ModelStopReason::Length,
        Some(StopReason::ContentFilter(_)) => ModelStopReason::Filtered,
        _ if called => ModelStopReason::Calls,
        None | Some(StopReason::Completed(_) | StopReason::StopSequence(_) | StopReason::ToolCall(_)) => {
            ModelStopReason::Done
        }
        Some(StopReason::Other(_)) => ModelStopReason::Other,
    }
}
