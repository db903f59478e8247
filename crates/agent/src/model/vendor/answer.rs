//! An answer out of `genai`'s events.

use std::{collections::HashMap, sync::Arc};

use genai::chat::{ChatStreamEvent, StopReason, StreamEnd, ToolCall};
use serde_json::{Value, json};
use toolyard_core::ports::Ids;

use super::{Kind, request::from_wire};
use crate::model::{
    BadCall, End, ModelError, ModelEvent, Stop, Usage,
    calls::{Calls, MAX_CALLS},
    ids,
    trouble::Whom,
};

/// Longest answer, in bytes of text, thoughts and arguments.
pub(super) const MAX_ANSWER: usize = 8 * 1024 * 1024;

/// Most bytes of signed thoughts that are kept to be sent back.
const MAX_KEPT: usize = 1024 * 1024;

/// What came of one event, and whether more can come.
type Taken = (Vec<Result<ModelEvent, ModelError>>, bool);

pub(super) struct Answer {
    model: String,
    kind: Kind,
    whom: Whom,
    ids: Arc<dyn Ids>,
    calls: Calls,
    /// The call that grows: the vendor's id, and how much of its text was heard.
    growing: Option<(usize, String, usize)>,
    /// By our ids.
    signatures: HashMap<String, Vec<String>>,
    bytes: usize,
}

impl Answer {
    pub(super) fn new(model: String, kind: Kind, whom: Whom, ids: Arc<dyn Ids>) -> Self {
        let calls = Calls::new(ids.clone());
        Self { model, kind, whom, ids, calls, growing: None, signatures: HashMap::new(), bytes: 0 }
    }

    pub(super) fn take(&mut self, event: ChatStreamEvent) -> Taken {
        let mut out = Vec::new();
        let taken = match event {
            ChatStreamEvent::Chunk(chunk) => self.text(chunk.content, ModelEvent::Text, &mut out),
            ChatStreamEvent::ReasoningChunk(chunk) => {
                self.text(chunk.content, ModelEvent::Reasoning, &mut out)
            }
            ChatStreamEvent::ToolCallChunk(chunk) => self.call(chunk.tool_call, &mut out),
            ChatStreamEvent::End(end) => return (self.end(end), false),
            ChatStreamEvent::Start
            | ChatStreamEvent::Heartbeat
            | ChatStreamEvent::ThoughtSignatureChunk(_) => Ok(()),
        };
        let mut out: Vec<_> = out.into_iter().map(Ok).collect();
        let more = taken.is_ok();
        out.extend(taken.err().map(Err));
        (out, more)
    }

    fn count(&mut self, bytes: usize) -> Result<(), ModelError> {
        self.bytes = self.bytes.saturating_add(bytes);
        let over = self.bytes > MAX_ANSWER;
        if over {
            Err(self.whom.broken(&format!("an answer of more than {MAX_ANSWER} bytes")))
        } else {
            Ok(())
        }
    }

    fn text(
        &mut self,
        text: String,
        event: fn(String) -> ModelEvent,
        out: &mut Vec<ModelEvent>,
    ) -> Result<(), ModelError> {
        self.count(text.len())?;
        if !text.is_empty() {
            out.push(event(text));
        }
        Ok(())
    }

    /// Anthropic's calls grow: each chunk has all of the text so far. Gemini's come whole, and their ids may repeat.
    fn call(&mut self, call: ToolCall, out: &mut Vec<ModelEvent>) -> Result<(), ModelError> {
        let name = from_wire(self.kind, &call.fn_name);
        match (self.kind, call.fn_arguments) {
            (Kind::Anthropic, Value::String(text)) => {
                let (at, heard) = match &self.growing {
                    Some((at, id, heard)) if *id == call.call_id => (*at, *heard),
                    _ => (self.open()?, 0),
                };
                let fresh = text.get(heard..).unwrap_or_default();
                self.count(fresh.len())?;
                self.growing = Some((at, call.call_id, text.len()));
                self.calls.add(at, Some(name), fresh, out);
            }
            (_, arguments) => {
                let at = self.open()?;
                let text = if arguments.is_null() { String::new() } else { arguments.to_string() };
                self.count(text.len())?;
                self.calls.add(at, Some(name), &text, out);
                if let (Some(signatures), Some(id)) = (call.thought_signatures, self.calls.id(at)) {
                    self.signatures.insert(id.to_owned(), signatures);
                }
            }
        }
        Ok(())
    }

    fn open(&mut self) -> Result<usize, ModelError> {
        self.calls.open().map_err(|_| self.whom.broken(&format!("more than {MAX_CALLS} calls")))
    }

    fn end(&mut self, end: StreamEnd) -> Vec<Result<ModelEvent, ModelError>> {
        // `genai` makes up an end for Gemini where the connection was cut.
        if self.kind == Kind::Gemini && end.captured_stop_reason.is_none() {
            return vec![Err(self.whom.broken("the answer ended without an end"))];
        }
        let calls = std::mem::replace(&mut self.calls, Calls::new(self.ids.clone()));
        let mut events = Vec::new();
        let bad = end.captured_stop_reason.as_ref().and_then(|reason| self.bad_call(reason));
        let stop = stop(end.captured_stop_reason.as_ref(), !calls.is_empty() || bad.is_some());
        let kept = self.kept(&end);
        events.extend(calls.finish(stop).into_iter().chain(bad).map(Ok));
        let usage = end.captured_usage.map(|usage| Usage {
            input: tokens(usage.prompt_tokens),
            output: tokens(usage.completion_tokens),
        });
        events.push(Ok(ModelEvent::End(End { stop, usage, kept })));
        events
    }

    /// Gemini does not show a call that it could not read; it only says so.
    fn bad_call(&self, reason: &StopReason) -> Option<ModelEvent> {
        let problem = match reason.raw() {
            "MALFORMED_FUNCTION_CALL" => "the call could not be read; write it again",
            "UNEXPECTED_TOOL_CALL" => "there is no such tool, or no call was allowed",
            _ => return None,
        };
        let id = ids::fresh(&*self.ids);
        Some(ModelEvent::BadCall(BadCall {
            id,
            name: None,
            text: String::new(),
            problem: problem.to_owned(),
        }))
    }

    /// Signed thoughts: those before the words, and those that belong to a call.
    fn kept(&mut self, end: &StreamEnd) -> Option<Arc<Value>> {
        let parts: Vec<_> = end.captured_content.iter().flat_map(|content| content.parts()).collect();
        if parts.is_empty() && self.signatures.is_empty() {
            return None;
        }
        let kept =
            json!({ "model": self.model, "parts": parts, "calls": std::mem::take(&mut self.signatures) });
        (kept.to_string().len() <= MAX_KEPT).then(|| Arc::new(kept))
    }
}

fn tokens(count: Option<i32>) -> u64 {
    count.and_then(|count| u64::try_from(count).ok()).unwrap_or_default()
}

/// Calls decide, unless the answer was cut.
fn stop(reason: Option<&StopReason>, called: bool) -> Stop {
    match reason {
        Some(StopReason::MaxTokens(_)) => Stop::Length,
        Some(StopReason::ContentFilter(_)) => Stop::Filtered,
        _ if called => Stop::Calls,
        None | Some(StopReason::Completed(_) | StopReason::StopSequence(_) | StopReason::ToolCall(_)) => {
            Stop::Done
        }
        Some(StopReason::Other(_)) => Stop::Other,
    }
}
