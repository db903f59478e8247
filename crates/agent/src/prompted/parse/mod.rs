//! Parses the calls in a reply while it arrives.
//!
//! The parser reads one character at a time, and each decision depends on the characters so far only. So the result is
//! the same however the stream was cut. Text is shown at once, except:
//!
//! - text that may still become a marker (a few characters), and up to three columns of white space at the start of a
//!   line;
//! - the beginning of a reply that may be a bare call (`bare_reply`), until its first key or name shows that it is
//!   none;
//! - an end token, until something follows it.
//!
//! A call counts only at certain positions (`markers::MarkerPosition`), never in code, and only if its tool is known. A
//! mistake between explicit markers is a [`BadCall`], so that the model can try again. Elsewhere it is text.
//!
//! | look for | in |
//! | --- | --- |
//! | the formats | `family` |
//! | the markers, and where each counts | `markers`, `opening` |
//! | which text is shown and which is held back | `prose` |
//! | where a call ends | `body` |
//! | JSON, and what is repaired | `json`, `scan` |
//! | limits | [`limits`] |

mod bare_reply;
mod body;
mod calls;
mod envelope;
mod family;
mod json;
pub mod limits;
mod lines;
pub(super) mod markers;
mod opening;
mod problem;
mod prose;
mod scan;
mod thoughts;
mod tools;
mod values;

use std::{collections::VecDeque, fmt, mem, sync::Arc};

use toolyard_core::ports::IdGenerator;

pub use self::tools::CallableTools;
use self::{
    bare_reply::BareReply, body::PartialBody, family::CallFamily, lines::MarkdownPosition,
    thoughts::ThoughtReader,
};
use crate::{
    message::ModelToolCall,
    model::{BadCall, ModelStopReason},
};

/// An event from a reply.
#[derive(Debug, Clone)]
pub enum ParseEvent {
    /// Text for the user, without call syntax.
    Text(String),
    /// Reasoning.
    Reasoning(String),
    /// A complete call of a known tool.
    Call(ModelToolCall),
    /// A call that cannot be run.
    BadCall(BadCall),
}

#[derive(Debug)]
enum ParserState {
    Prose,
    /// The whole reply may consist of calls.
    Bare(BareReply),
    Thoughts(ThoughtReader),
    /// A result that the model made up.
    Invented(ThoughtReader),
    Body(PartialBody),
}

/// The parser. One for each reply.
pub struct ReplyParser {
    tools: Arc<CallableTools>,
    ids: Arc<dyn IdGenerator>,
    state: ParserState,
    /// Characters to parse before the next one.
    pending: VecDeque<char>,
    lines: MarkdownPosition,
    /// White space that is removed if a marker follows it.
    space: String,
    /// Text that may become a marker.
    held: String,
    /// End tokens and the white space after them. Dropped if only markers follow.
    trailer: String,
    /// Right after a call, a section or reasoning of this family.
    behind: Option<CallFamily>,
    /// Whether text was shown or a call made.
    has_output: bool,
    /// Whether the reply is known not to consist of calls only.
    not_bare: bool,
    /// Whether the shown text ends with a line break.
    line_ended: bool,
    /// Calls, bad ones included.
    count: usize,
    events: Vec<ParseEvent>,
}

impl fmt::Debug for ReplyParser {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ReplyParser")
            .field("state", &self.state)
            .field("count", &self.count)
            .finish_non_exhaustive()
    }
}

impl ReplyParser {
    /// For a reply that may call these tools. Call ids are made with `ids`.
    pub fn new(tools: Arc<CallableTools>, ids: Arc<dyn IdGenerator>) -> Self {
        Self {
            tools,
            ids,
            state: ParserState::Prose,
            pending: VecDeque::new(),
            lines: MarkdownPosition::default(),
            space: String::new(),
            held: String::new(),
            trailer: String::new(),
            behind: None,
            has_output: false,
            not_bare: false,
            line_ended: true,
            count: 0,
            events: Vec::new(),
        }
    }

    /// The next piece of the reply, cut anywhere between characters.
    pub fn push(&mut self, piece: &str) -> Vec<ParseEvent> {
        for c in piece.chars() {
            self.pending.push_back(c);
            self.drain_pending();
        }
        mem::take(&mut self.events)
    }

    /// The end of the reply. An unfinished call is a bad call, also if the model's `stop` says that it was cut.
    pub fn finish(&mut self, stop: ModelStopReason) -> Vec<ParseEvent> {
        let cut = match stop {
            ModelStopReason::Length | ModelStopReason::Filtered => true,
            ModelStopReason::Done | ModelStopReason::Calls | ModelStopReason::Other => false,
        };
        loop {
            self.drain_pending();
            match mem::replace(&mut self.state, ParserState::Prose) {
                ParserState::Prose => break self.finish_prose(),
                ParserState::Bare(whole) => self.finish_bare_reply(whole, cut),
                ParserState::Thoughts(thoughts) => break self.push_reasoning(thoughts.into_rest()),
                ParserState::Invented(_) => break,
                ParserState::Body(body) => self.finish_body(body, cut),
            }
        }
        mem::take(&mut self.events)
    }

    fn drain_pending(&mut self) {
        while let Some(c) = self.pending.pop_front() {
            self.step_char(c);
        }
    }

    fn step_char(&mut self, c: char) {
        match &mut self.state {
            ParserState::Prose => self.step_prose(c),
            ParserState::Bare(whole) => {
                if !whole.push_char(c, &self.tools) {
                    self.give_up_bare_reply();
                }
            }
            ParserState::Thoughts(thoughts) => match thoughts.push_char(c) {
                thoughts::ThoughtStep::More(text) => self.push_reasoning(text),
                thoughts::ThoughtStep::Ended { again } => self.close_section(CallFamily::Plain, again),
            },
            ParserState::Invented(thoughts) => match thoughts.push_char(c) {
                thoughts::ThoughtStep::More(_) => {}
                thoughts::ThoughtStep::Ended { again } => self.close_section(CallFamily::Plain, again),
            },
            ParserState::Body(body) => match body.push_char(c) {
                body::BodyStep::More => {}
                body::BodyStep::Ended { again } => self.end_body(again),
                body::BodyStep::TooLong => self.end_long_body(),
            },
        }
    }

    /// Something ended. `rest` is parsed next.
    fn close_section(&mut self, family: CallFamily, rest: &str) {
        self.state = ParserState::Prose;
        self.behind = Some(family);
        self.lines = MarkdownPosition::default();
        self.requeue_text(rest);
    }

    fn requeue_text(&mut self, text: &str) {
        for c in text.chars().rev() {
            self.pending.push_front(c);
        }
    }

    fn push_reasoning(&mut self, more: String) {
        match self.events.last_mut() {
            _ if more.is_empty() => {}
            Some(ParseEvent::Reasoning(text)) => text.push_str(&more),
            _ => self.events.push(ParseEvent::Reasoning(more)),
        }
    }
}
