//! Assembles an answer from the chunks of the stream, in the format in which the next request sends it back.

use std::collections::HashMap;

use serde_json::{Map, Value, json};
use tokio::time::Instant;
use toolyard_protocol::chat::ui::{ApprovalData, NoticeData};

use super::{ApprovalDecision, ApprovalRequest, CallResult, ChatAnswer, ChatEvent, ChatFinish, NOTICE_ABORT};
use crate::{
    message::{CallApproval, CallPart, CallPartState, Message, MessagePart, MessageRole, join_texts},
    stream::{StreamError, TokenUsage, UiChunk},
    tool::{ToolCall, ToolError, ToolProgress},
};

/// The result of a call that was denied.
const DENIED_MESSAGE: &str = "The user said no.";

/// The events of one chunk: at most a call, its result and its end.
pub(super) type ChunkEvents = [Option<ChatEvent>; 3];

/// The conversation and the answer received so far.
#[derive(Debug)]
pub(super) struct ChatTranscript {
    /// The messages before the answer.
    before: Vec<Message>,
    /// The answer.
    current: Message,
    /// How many parts it had before this chat: an answer may continue an older message.
    parts_before_chat: usize,
    /// How many parts it had before this round.
    parts_before_round: usize,
    /// The answer as it was sent with the last request.
    sent: Message,
    finish: ChatFinish,
    usage: Option<TokenUsage>,
    rounds: u32,
    model: Option<String>,
    /// Texts and reasoning that are not complete, with their index.
    open: HashMap<String, usize>,
    /// Calls whose input is still being streamed.
    started_calls: HashMap<String, ToolCall>,
    /// When the calls of this round were received.
    called_at: HashMap<String, Instant>,
    /// What the server says about approvals of this round, by id.
    approval_details: HashMap<String, ApprovalData>,
}

impl ChatTranscript {
    pub(super) fn new(mut messages: Vec<Message>) -> Self {
        let goes_on = messages.pop_if(|last| last.role == MessageRole::Assistant);
        let nothing =
            || Message { id: None, role: MessageRole::Assistant, parts: Vec::new(), more: Map::new() };
        let current = goes_on.unwrap_or_else(nothing);
        Self {
            before: messages,
            parts_before_chat: current.parts.len(),
            parts_before_round: current.parts.len(),
            sent: current.clone(),
            current,
            finish: ChatFinish::Unfinished,
            usage: None,
            rounds: 0,
            model: None,
            open: HashMap::new(),
            started_calls: HashMap::new(),
            called_at: HashMap::new(),
            approval_details: HashMap::new(),
        }
    }

    /// A request is about to be sent.
    pub(super) fn begin_round(&mut self, round: u32) {
        self.rounds = round;
        self.sent = self.current.clone();
        self.parts_before_round = self.current.parts.len();
        self.finish = ChatFinish::Unfinished;
        self.open.clear();
        self.started_calls.clear();
        self.called_at.clear();
        self.approval_details.clear();
    }

    pub(super) fn set_model(&mut self, model: Option<String>) {
        self.model = model.or(self.model.take());
    }

    pub(super) fn set_finish(&mut self, finish: ChatFinish) {
        self.finish = finish;
    }

    pub(super) fn finish(&self) -> &ChatFinish {
        &self.finish
    }

    /// The conversation as it is now.
    pub(super) fn history(&self) -> Vec<Message> {
        append_answer(&self.before, &self.current)
    }

    /// The conversation as it was last sent.
    pub(super) fn sent_messages(&self) -> Vec<Message> {
        append_answer(&self.before, &self.sent)
    }

    /// The ids of calls from before this round.
    pub(super) fn known_calls(&self) -> Vec<String> {
        self.sent.call_ids().map(str::to_owned).collect()
    }

    /// The calls of this round that this client has to run.
    pub(super) fn pending_calls(&self) -> Vec<ToolCall> {
        if self.finish != ChatFinish::ToolCalls {
            return Vec::new();
        }
        let calls = self.current.parts[self.parts_before_round..].iter().filter_map(|part| match part {
            MessagePart::Call(CallPart { call, end: CallPartState::Open }) if !call.of_server => {
                Some(call.clone())
            }
            _ => None,
        });
        calls.collect()
    }

    /// The calls of this round that wait for the user.
    pub(super) fn pending_approvals(&self) -> Vec<ApprovalRequest> {
        let requests = self.current.parts[self.parts_before_round..].iter().filter_map(|part| match part {
            MessagePart::Call(CallPart { call, end: CallPartState::ApprovalRequested(approval) }) => {
                let details = self.approval_details.get(&approval.id).cloned();
                Some(ApprovalRequest { id: approval.id.clone(), call: call.clone(), details })
            }
            _ => None,
        });
        requests.collect()
    }

    /// Records the user's answer. The next request sends it.
    pub(super) fn record_decision(&mut self, id: &str, decision: &ApprovalDecision) {
        for part in &mut self.current.parts {
            let MessagePart::Call(CallPart { end, .. }) = part else { continue };
            if let CallPartState::ApprovalRequested(approval) = end
                && approval.id == id
            {
                let approval = approval.clone();
                let (approved, reason) = (decision.approved, decision.note.clone());
                *end = CallPartState::ApprovalAnswered { approval, approved, reason };
            }
        }
    }

    pub(super) fn to_answer(&self) -> ChatAnswer {
        let parts = &self.current.parts[self.parts_before_chat..];
        let calls = || {
            parts.iter().filter_map(|part| match part {
                MessagePart::Call(part) => Some(part),
                _ => None,
            })
        };
        ChatAnswer {
            text: join_texts(parts),
            calls: calls().map(|part| part.call.clone()).collect(),
            results: calls().filter_map(|part| call_result(&part.call, &part.end)).collect(),
            finish: self.finish.clone(),
            usage: self.usage,
            history: self.history(),
            rounds: self.rounds,
            model: self.model.clone(),
        }
    }

    /// Applies a chunk and returns its events.
    pub(super) fn apply_chunk(&mut self, chunk: UiChunk, now: Instant) -> Result<ChunkEvents, StreamError> {
        let one = |event: ChatEvent| Ok([Some(event), None, None]);
        match chunk {
            UiChunk::Start { message_id, .. } => {
                // A continued message keeps its id, even if the server sends another one.
                if self.current.id.is_none() {
                    self.current.id = message_id;
                }
            }
            UiChunk::StartStep => {
                self.current.parts.push(MessagePart::Step);
                return one(ChatEvent::Step);
            }
            UiChunk::TextDelta { id, delta } => {
                self.append_delta(format!("text {id}"), &delta, MessagePart::Text);
                return one(ChatEvent::Text { delta });
            }
            UiChunk::TextEnd { id } => {
                self.open.remove(&format!("text {id}"));
                return one(ChatEvent::TextEnd);
            }
            UiChunk::ReasoningDelta { id, delta } => {
                self.append_delta(format!("reasoning {id}"), &delta, MessagePart::Reasoning);
                return one(ChatEvent::Reasoning { delta });
            }
            UiChunk::ReasoningEnd { id } => {
                self.open.remove(&format!("reasoning {id}"));
            }
            UiChunk::FinishStep => self.open.clear(),
            UiChunk::ToolInputStart { tool_call_id: id, tool_name: tool, provider_executed } => {
                let input = Value::Object(Map::new());
                let of_server = provider_executed == Some(true);
                self.started_calls.insert(id.clone(), ToolCall { id, tool, input, of_server });
            }
            UiChunk::ToolInputAvailable { tool_call_id, tool_name, input, provider_executed } => {
                let call = ToolCall::from_chunk(tool_call_id, tool_name, &input, provider_executed)
                    .map_err(|error| unreadable("tool-input-available", "input", &error))?;
                return Ok([self.add_call(call, now).map(ChatEvent::ToolCall), None, None]);
            }
            UiChunk::ToolInputError { tool_call_id, tool_name, input, error_text, .. } => {
                // It cannot run, so it is not a call for this client.
                let call = ToolCall::from_chunk(tool_call_id, tool_name, &input, Some(true))
                    .map_err(|error| unreadable("tool-input-error", "input", &error))?;
                self.started_calls.insert(call.id.clone(), call.clone());
                return Ok(self.settle_call(&call.id, CallPartState::Failed(error_text), now));
            }
            UiChunk::DataApproval { id, data } => {
                self.approval_details.insert(id, data);
            }
            UiChunk::ToolApprovalRequest { approval_id, tool_call_id, signature, .. } => {
                let approval = CallApproval { id: approval_id.clone(), signature };
                self.set_end(&tool_call_id, CallPartState::ApprovalRequested(approval));
                return one(ChatEvent::ApprovalRequested { approval_id, tool_call_id });
            }
            UiChunk::ToolOutputAvailable { preliminary: Some(true), .. } => {}
            UiChunk::ToolOutputAvailable { tool_call_id, output, .. } => {
                let output = serde_json::from_str(output.get())
                    .map_err(|error| unreadable("tool-output-available", "output", &error))?;
                return Ok(self.settle_call(&tool_call_id, CallPartState::Done(output), now));
            }
            UiChunk::ToolOutputError { tool_call_id, error_text, .. } => {
                return Ok(self.settle_call(&tool_call_id, CallPartState::Failed(error_text), now));
            }
            UiChunk::ToolOutputDenied { tool_call_id } => {
                let denied = CallPartState::Failed(DENIED_MESSAGE.to_owned());
                return Ok(self.settle_call(&tool_call_id, denied, now));
            }
            UiChunk::DataTool { data, .. } => return one(ChatEvent::ToolAbout(data)),
            UiChunk::DataSignIn { data, .. } => return one(ChatEvent::SignInNeeded(data)),
            UiChunk::DataProgress { data, .. } => {
                let progress = ToolProgress { done: data.progress, total: data.total, message: data.message };
                return one(ChatEvent::Progress { call_id: data.tool_call_id, progress });
            }
            UiChunk::DataNotice { data } => return one(ChatEvent::Notice(data)),
            UiChunk::Abort { .. } => {
                self.finish = ChatFinish::Other("abort".to_owned());
                let message = "The server aborted the answer.".to_owned();
                return one(ChatEvent::Notice(NoticeData { code: NOTICE_ABORT.to_owned(), message }));
            }
            UiChunk::Finish { finish_reason, message_metadata } => {
                self.finish = finish_reason.into();
                self.add_usage(message_metadata.as_deref().and_then(TokenUsage::from_metadata));
            }
            UiChunk::Error { .. } => self.finish = ChatFinish::Error,
            UiChunk::TextStart { .. }
            | UiChunk::ReasoningStart { .. }
            | UiChunk::ToolInputDelta { .. }
            | UiChunk::ToolApprovalResponse { .. }
            | UiChunk::SourceUrl { .. }
            | UiChunk::SourceDocument { .. }
            | UiChunk::File { .. }
            | UiChunk::MessageMetadata { .. }
            | UiChunk::Data(_)
            | UiChunk::Other(_) => {}
        }
        Ok([None, None, None])
    }

    /// Records the outcome of a tool of this client.
    pub(super) fn record_outcome(
        &mut self,
        call: &ToolCall,
        outcome: Result<Value, ToolError>,
    ) -> Option<CallResult> {
        let end = outcome.map_or_else(|error| CallPartState::Failed(error.0), CallPartState::Done);
        let result = call_result(call, &end);
        self.set_end(&call.id, end);
        result
    }

    fn append_delta(&mut self, id: String, delta: &str, make: fn(String) -> MessagePart) {
        let parts = &mut self.current.parts;
        match self.open.get(&id).and_then(|place| parts.get_mut(*place)) {
            Some(MessagePart::Text(text) | MessagePart::Reasoning(text)) => text.push_str(delta),
            _ => {
                self.open.insert(id, parts.len());
                parts.push(make(delta.to_owned()));
            }
        }
    }

    /// Adds a complete call. `None` if this round already has it.
    fn add_call(&mut self, call: ToolCall, now: Instant) -> Option<ToolCall> {
        if self.called_at.insert(call.id.clone(), now).is_some() {
            return None;
        }
        self.started_calls.remove(&call.id);
        self.current.parts.push(MessagePart::Call(CallPart { call: call.clone(), end: CallPartState::Open }));
        Some(call)
    }

    fn settle_call(&mut self, id: &str, end: CallPartState, now: Instant) -> ChunkEvents {
        // A call may fail before it is complete.
        let begun =
            self.started_calls.remove(id).and_then(|call| self.add_call(call, now)).map(ChatEvent::ToolCall);
        let Some(call) = self.set_end(id, end.clone()) else { return [begun, None, None] };
        let took =
            self.called_at.get(id).map(|since| now.saturating_duration_since(*since)).unwrap_or_default();
        let Some(result) = call_result(&call, &end) else { return [begun, None, None] };
        let over = ChatEvent::ToolEnd { call_id: call.id, tool: call.tool, is_error: result.is_error, took };
        [begun, Some(ChatEvent::ToolResult(result)), Some(over)]
    }

    /// Sets the state of the last call with that id: some servers restart the ids in each step.
    fn set_end(&mut self, id: &str, to: CallPartState) -> Option<ToolCall> {
        let found = self.current.parts.iter_mut().rev().find_map(|part| match part {
            MessagePart::Call(part) if part.call.id == id => Some(part),
            _ => None,
        });
        found.map(|part| {
            part.end = to;
            part.call.clone()
        })
    }

    fn add_usage(&mut self, more: Option<TokenUsage>) {
        if let Some(more) = more {
            let sum = self.usage.get_or_insert_default();
            sum.input_tokens = sum.input_tokens.saturating_add(more.input_tokens);
            sum.output_tokens = sum.output_tokens.saturating_add(more.output_tokens);
        }
    }
}

/// The conversation with the answer, unless the answer is empty.
fn append_answer(before: &[Message], answer: &Message) -> Vec<Message> {
    let says = answer.parts.iter().any(|part| *part != MessagePart::Step);
    before.iter().chain(says.then_some(answer)).cloned().collect()
}

/// JSON that is nested too deeply, or that has a number out of range.
fn unreadable(kind: &str, field: &str, error: &serde_json::Error) -> StreamError {
    StreamError::BadChunk { kind: kind.to_owned(), why: format!("`{field}` cannot be read: {error}") }
}

fn call_result(call: &ToolCall, end: &CallPartState) -> Option<CallResult> {
    let (output, is_error) = match end {
        CallPartState::Open
        | CallPartState::ApprovalRequested(_)
        | CallPartState::ApprovalAnswered { .. } => return None,
        CallPartState::Done(output) => (output.clone(), false),
        CallPartState::Failed(why) => (json!({ "error": why }), true),
    };
    let ToolCall { id, tool, of_server, .. } = call;
    Some(CallResult { call_id: id.clone(), tool: tool.clone(), output, is_error, of_server: *of_server })
}
