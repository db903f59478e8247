//! Puts an answer together as it is told, in the form in which it goes back with the next request.

use std::collections::HashMap;

use serde_json::{Map, Value, json};
use tokio::time::Instant;
use toolyard_protocol::chat::ui::NoticeData;

use super::{Answer, CallResult, Event, Finish, NOTICE_ABORT};
use crate::{
    message::{CallPart, End, Message, Part, Role, words},
    stream::{Chunk, Usage},
    tool::{Call, Progress, ToolError},
};

/// What a call came to that somebody said no to.
const DENIED: &str = "The user said no.";

/// What came of one chunk: at most a call, its result and its end.
pub(super) type Told = [Option<Event>; 3];

/// A chat as it was heard.
#[derive(Debug)]
pub(super) struct Heard {
    /// What was said before the answer.
    before: Vec<Message>,
    /// The answer.
    current: Message,
    /// How many parts it had before this chat: an answer may go on with an older message.
    older: usize,
    /// How many it had before this round.
    of_rounds_before: usize,
    /// The answer as it was sent with the last request.
    sent: Message,
    finish: Finish,
    usage: Option<Usage>,
    rounds: u32,
    model: Option<String>,
    /// Texts and thoughts that are open: where they stand.
    open: HashMap<String, usize>,
    /// Calls that have begun to be written.
    begun: HashMap<String, Call>,
    /// When calls of this round were told.
    since: HashMap<String, Instant>,
}

impl Heard {
    pub(super) fn new(mut messages: Vec<Message>) -> Self {
        let goes_on = messages.pop_if(|last| last.role == Role::Assistant);
        let nothing = || Message { id: None, role: Role::Assistant, parts: Vec::new(), more: Map::new() };
        let current = goes_on.unwrap_or_else(nothing);
        Self {
            before: messages,
            older: current.parts.len(),
            of_rounds_before: current.parts.len(),
            sent: current.clone(),
            current,
            finish: Finish::Unfinished,
            usage: None,
            rounds: 0,
            model: None,
            open: HashMap::new(),
            begun: HashMap::new(),
            since: HashMap::new(),
        }
    }

    /// A request goes out.
    pub(super) fn begin_round(&mut self, round: u32) {
        self.rounds = round;
        self.sent = self.current.clone();
        self.of_rounds_before = self.current.parts.len();
        self.finish = Finish::Unfinished;
        self.open.clear();
        self.begun.clear();
        self.since.clear();
    }

    pub(super) fn answered_by(&mut self, model: Option<String>) {
        self.model = model.or(self.model.take());
    }

    pub(super) fn ends(&mut self, finish: Finish) {
        self.finish = finish;
    }

    pub(super) fn finish(&self) -> &Finish {
        &self.finish
    }

    /// The conversation as it is now, to be sent.
    pub(super) fn history(&self) -> Vec<Message> {
        with(&self.before, &self.current)
    }

    /// The conversation as it was sent last.
    pub(super) fn sent(&self) -> Vec<Message> {
        with(&self.before, &self.sent)
    }

    /// The ids of calls that were there before this round.
    pub(super) fn known_calls(&self) -> Vec<String> {
        self.sent.call_ids().map(str::to_owned).collect()
    }

    /// The calls of this round that this client has to run.
    pub(super) fn pending(&self) -> Vec<Call> {
        if self.finish != Finish::ToolCalls {
            return Vec::new();
        }
        let calls = self.current.parts[self.of_rounds_before..].iter().filter_map(|part| match part {
            Part::Call(CallPart { call, end: End::Open }) if !call.of_server => Some(call.clone()),
            _ => None,
        });
        calls.collect()
    }

    pub(super) fn answer(&self) -> Answer {
        let parts = &self.current.parts[self.older..];
        let calls = || {
            parts.iter().filter_map(|part| match part {
                Part::Call(part) => Some(part),
                _ => None,
            })
        };
        Answer {
            text: words(parts),
            calls: calls().map(|part| part.call.clone()).collect(),
            results: calls().filter_map(|part| result(&part.call, &part.end)).collect(),
            finish: self.finish.clone(),
            usage: self.usage,
            history: self.history(),
            rounds: self.rounds,
            model: self.model.clone(),
        }
    }

    /// Takes what was told.
    pub(super) fn hear(&mut self, chunk: Chunk, now: Instant) -> Told {
        let one = |event: Event| [Some(event), None, None];
        match chunk {
            Chunk::Start { message_id } => {
                // A message that goes on keeps its id, whatever a server makes of it.
                if self.current.id.is_none() {
                    self.current.id = message_id;
                }
            }
            Chunk::StartStep => {
                self.current.parts.push(Part::Step);
                return one(Event::Step);
            }
            Chunk::TextDelta { id, delta } => {
                self.goes_on(format!("text {id}"), &delta, Part::Text);
                return one(Event::Text { delta });
            }
            Chunk::TextEnd { id } => {
                self.open.remove(&format!("text {id}"));
                return one(Event::TextEnd);
            }
            Chunk::ReasoningDelta { id, delta } => {
                self.goes_on(format!("reasoning {id}"), &delta, Part::Reasoning);
                return one(Event::Reasoning { delta });
            }
            Chunk::ReasoningEnd { id } => {
                self.open.remove(&format!("reasoning {id}"));
            }
            Chunk::FinishStep => self.open.clear(),
            Chunk::CallStart { id, tool, of_server } => {
                let input = Value::Object(Map::new());
                self.begun.insert(id.clone(), Call { id, tool, input, of_server });
            }
            Chunk::Call(call) => return [self.called(call, now).map(Event::ToolCall), None, None],
            Chunk::CallError { call, error } => {
                // Nobody can run it, so it is not the client's.
                let call = Call { of_server: true, ..call };
                self.begun.insert(call.id.clone(), call.clone());
                return self.settle(&call.id, End::Failed(error), now);
            }
            Chunk::Output { preliminary: true, .. } => {}
            Chunk::Output { id, output, .. } => return self.settle(&id, End::Done(output), now),
            Chunk::OutputError { id, error } => return self.settle(&id, End::Failed(error), now),
            Chunk::OutputDenied { id } => return self.settle(&id, End::Failed(DENIED.to_owned()), now),
            Chunk::Tool(data) => return one(Event::ToolAbout(data)),
            Chunk::Progress(data) => {
                let progress = Progress { done: data.progress, total: data.total, message: data.message };
                return one(Event::Progress { call_id: data.tool_call_id, progress });
            }
            Chunk::Notice(data) => return one(Event::Notice(data)),
            Chunk::Abort => {
                self.finish = Finish::Other("abort".to_owned());
                let message = "The server ended the answer.".to_owned();
                return one(Event::Notice(NoticeData { code: NOTICE_ABORT.to_owned(), message }));
            }
            Chunk::Finish { reason, usage } => {
                self.finish = reason.into();
                self.add_usage(usage);
            }
            Chunk::Error { .. } => self.finish = Finish::Error,
            Chunk::TextStart { .. }
            | Chunk::ReasoningStart { .. }
            | Chunk::CallDelta { .. }
            | Chunk::Other { .. } => {}
        }
        [None, None, None]
    }

    /// Takes what a tool of this client came to.
    pub(super) fn ran(&mut self, call: &Call, outcome: Result<Value, ToolError>) -> Option<CallResult> {
        let end = outcome.map_or_else(|error| End::Failed(error.0), End::Done);
        let result = result(call, &end);
        self.set_end(&call.id, end);
        result
    }

    fn goes_on(&mut self, id: String, delta: &str, make: fn(String) -> Part) {
        let parts = &mut self.current.parts;
        match self.open.get(&id).and_then(|place| parts.get_mut(*place)) {
            Some(Part::Text(text) | Part::Reasoning(text)) => text.push_str(delta),
            _ => {
                self.open.insert(id, parts.len());
                parts.push(make(delta.to_owned()));
            }
        }
    }

    /// A call is whole; none where it was before, in this round.
    fn called(&mut self, call: Call, now: Instant) -> Option<Call> {
        if self.since.insert(call.id.clone(), now).is_some() {
            return None;
        }
        self.begun.remove(&call.id);
        self.current.parts.push(Part::Call(CallPart { call: call.clone(), end: End::Open }));
        Some(call)
    }

    fn settle(&mut self, id: &str, end: End, now: Instant) -> Told {
        // It may fail before it is whole.
        let begun = self.begun.remove(id).and_then(|call| self.called(call, now)).map(Event::ToolCall);
        let Some(call) = self.set_end(id, end.clone()) else { return [begun, None, None] };
        let took = self.since.get(id).map(|since| now.saturating_duration_since(*since)).unwrap_or_default();
        let Some(result) = result(&call, &end) else { return [begun, None, None] };
        let over = Event::ToolEnd { call_id: call.id, tool: call.tool, is_error: result.is_error, took };
        [begun, Some(Event::ToolResult(result)), Some(over)]
    }

    /// The last call of that id: some servers number the calls of each step anew.
    fn set_end(&mut self, id: &str, to: End) -> Option<Call> {
        let found = self.current.parts.iter_mut().rev().find_map(|part| match part {
            Part::Call(part) if part.call.id == id => Some(part),
            _ => None,
        });
        found.map(|part| {
            part.end = to;
            part.call.clone()
        })
    }

    fn add_usage(&mut self, more: Option<Usage>) {
        if let Some(more) = more {
            let sum = self.usage.get_or_insert_default();
            sum.input_tokens = sum.input_tokens.saturating_add(more.input_tokens);
            sum.output_tokens = sum.output_tokens.saturating_add(more.output_tokens);
        }
    }
}

/// The conversation, without an answer that says nothing.
fn with(before: &[Message], answer: &Message) -> Vec<Message> {
    let says = answer.parts.iter().any(|part| *part != Part::Step);
    before.iter().chain(says.then_some(answer)).cloned().collect()
}

fn result(call: &Call, end: &End) -> Option<CallResult> {
    let (output, is_error) = match end {
        End::Open => return None,
        End::Done(output) => (output.clone(), false),
        End::Failed(why) => (json!({ "error": why }), true),
    };
    let Call { id, tool, of_server, .. } = call;
    Some(CallResult { call_id: id.clone(), tool: tool.clone(), output, is_error, of_server: *of_server })
}
