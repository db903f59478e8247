//! Puts an answer together as it is told, in the form in which it goes back with the next request.

use std::collections::HashMap;

use serde_json::{Map, Value, json};
use tokio::time::Instant;
use toolyard_protocol::chat::ui::NoticeData;

use super::{CallResult, ChatAnswer, ChatEvent, ChatFinish, NOTICE_ABORT};
use crate::{
    message::{CallPart, CallPartState, Message, MessagePart, MessageRole, join_texts},
    stream::{StreamChunk, TokenUsage},
    tool::{ToolCall, ToolError, ToolProgress},
};

/// What a call came to that somebody said no to.
const DENIED_MESSAGE: &str = "The user said no.";

/// What came of one chunk: at most a call, its result and its end.
pub(super) type ChunkEvents = [Option<ChatEvent>; 3];

/// A chat as it was heard.
#[derive(Debug)]
pub(super) struct ChatTranscript {
    /// What was said before the answer.
    before: Vec<Message>,
    /// The answer.
    current: Message,
    /// How many parts it had before this chat: an answer may go on with an older message.
    parts_before_chat: usize,
    /// How many it had before this round.
    parts_before_round: usize,
    /// The answer as it was sent with the last request.
    sent: Message,
    finish: ChatFinish,
    usage: Option<TokenUsage>,
    rounds: u32,
    model: Option<String>,
    /// Texts and thoughts that are open: where they stand.
    open: HashMap<String, usize>,
    /// Calls that have begun to be written.
    started_calls: HashMap<String, ToolCall>,
    /// When calls of this round were told.
    called_at: HashMap<String, Instant>,
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
        }
    }

    /// A request goes out.
    pub(super) fn begin_round(&mut self, round: u32) {
        self.rounds = round;
        self.sent = self.current.clone();
        self.parts_before_round = self.current.parts.len();
        self.finish = ChatFinish::Unfinished;
        self.open.clear();
        self.started_calls.clear();
        self.called_at.clear();
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

    /// The conversation as it is now, to be sent.
    pub(super) fn history(&self) -> Vec<Message> {
        append_answer(&self.before, &self.current)
    }

    /// The conversation as it was sent last.
    pub(super) fn sent_messages(&self) -> Vec<Message> {
        append_answer(&self.before, &self.sent)
    }

    /// The ids of calls that were there before this round.
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

    /// Takes what was told.
    pub(super) fn apply_chunk(&mut self, chunk: StreamChunk, now: Instant) -> ChunkEvents {
        let one = |event: ChatEvent| [Some(event), None, None];
        match chunk {
            StreamChunk::Start { message_id } => {
                // A message that goes on keeps its id, whatever a server makes of it.
                if self.current.id.is_none() {
                    self.current.id = message_id;
                }
            }
            StreamChunk::StartStep => {
                self.current.parts.push(MessagePart::Step);
                return one(ChatEvent::Step);
            }
            StreamChunk::TextDelta { id, delta } => {
                self.append_delta(format!("text {id}"), &delta, MessagePart::Text);
                return one(ChatEvent::Text { delta });
            }
            StreamChunk::TextEnd { id } => {
                self.open.remove(&format!("text {id}"));
                return one(ChatEvent::TextEnd);
            }
            StreamChunk::ReasoningDelta { id, delta } => {
                self.append_delta(format!("reasoning {id}"), &delta, MessagePart::Reasoning);
                return one(ChatEvent::Reasoning { delta });
            }
            StreamChunk::ReasoningEnd { id } => {
                self.open.remove(&format!("reasoning {id}"));
            }
            StreamChunk::FinishStep => self.open.clear(),
            StreamChunk::CallStart { id, tool, of_server } => {
                let input = Value::Object(Map::new());
                self.started_calls.insert(id.clone(), ToolCall { id, tool, input, of_server });
            }
            StreamChunk::Call(call) => {
                return [self.add_call(call, now).map(ChatEvent::ToolCall), None, None];
            }
            StreamChunk::CallError { call, error } => {
                // Nobody can run it, so it is not the client's.
                let call = ToolCall { of_server: true, ..call };
                self.started_calls.insert(call.id.clone(), call.clone());
                return self.settle_call(&call.id, CallPartState::Failed(error), now);
            }
            StreamChunk::Output { preliminary: true, .. } => {}
            StreamChunk::Output { id, output, .. } => {
                return self.settle_call(&id, CallPartState::Done(output), now);
            }
            StreamChunk::OutputError { id, error } => {
                return self.settle_call(&id, CallPartState::Failed(error), now);
            }
            StreamChunk::OutputDenied { id } => {
                return self.settle_call(&id, CallPartState::Failed(DENIED_MESSAGE.to_owned()), now);
            }
            StreamChunk::Tool(data) => return one(ChatEvent::ToolAbout(data)),
            StreamChunk::Progress(data) => {
                let progress = ToolProgress { done: data.progress, total: data.total, message: data.message };
                return one(ChatEvent::Progress { call_id: data.tool_call_id, progress });
            }
            StreamChunk::Notice(data) => return one(ChatEvent::Notice(data)),
            StreamChunk::Abort => {
                self.finish = ChatFinish::Other("abort".to_owned());
                let message = "The server ended the answer.".to_owned();
                return one(ChatEvent::Notice(NoticeData { code: NOTICE_ABORT.to_owned(), message }));
            }
            StreamChunk::Finish { reason, usage } => {
                self.finish = reason.into();
                self.add_usage(usage);
            }
            StreamChunk::Error { .. } => self.finish = ChatFinish::Error,
            StreamChunk::TextStart { .. }
            | StreamChunk::ReasoningStart { .. }
            | StreamChunk::CallDelta { .. }
            | StreamChunk::Other { .. } => {}
        }
        [None, None, None]
    }

    /// Takes what a tool of this client came to.
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

    /// A call is whole; none where it was before, in this round.
    fn add_call(&mut self, call: ToolCall, now: Instant) -> Option<ToolCall> {
        if self.called_at.insert(call.id.clone(), now).is_some() {
            return None;
        }
        self.started_calls.remove(&call.id);
        self.current.parts.push(MessagePart::Call(CallPart { call: call.clone(), end: CallPartState::Open }));
        Some(call)
    }

    fn settle_call(&mut self, id: &str, end: CallPartState, now: Instant) -> ChunkEvents {
        // It may fail before it is whole.
        let begun =
            self.started_calls.remove(id).and_then(|call| self.add_call(call, now)).map(ChatEvent::ToolCall);
        let Some(call) = self.set_end(id, end.clone()) else { return [begun, None, None] };
        let took =
            self.called_at.get(id).map(|since| now.saturating_duration_since(*since)).unwrap_or_default();
        let Some(result) = call_result(&call, &end) else { return [begun, None, None] };
        let over = ChatEvent::ToolEnd { call_id: call.id, tool: call.tool, is_error: result.is_error, took };
        [begun, Some(ChatEvent::ToolResult(result)), Some(over)]
    }

    /// The last call of that id: some servers number the calls of each step anew.
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

/// The conversation, without an answer that says nothing.
fn append_answer(before: &[Message], answer: &Message) -> Vec<Message> {
    let says = answer.parts.iter().any(|part| *part != MessagePart::Step);
    before.iter().chain(says.then_some(answer)).cloned().collect()
}

fn call_result(call: &ToolCall, end: &CallPartState) -> Option<CallResult> {
    let (output, is_error) = match end {
        CallPartState::Open => return None,
        CallPartState::Done(output) => (output.clone(), false),
        CallPartState::Failed(why) => (json!({ "error": why }), true),
    };
    let ToolCall { id, tool, of_server, .. } = call;
    Some(CallResult { call_id: id.clone(), tool: tool.clone(), output, is_error, of_server: *of_server })
}
