//! Finds the calls in what a model writes, while it writes.
//!
//! The machine reads one character at a time and every decision depends only on the characters so far, so what comes out
//! is the same however the stream was cut. It shows text at once, except:
//!
//! - what may still become a marker (a few characters), and up to three columns of white space at the start of a line;
//! - the beginning of a reply that may be a bare call (`whole`): until its first member or name says that it is none;
//! - an end token, until something follows it.
//!
//! A call is one only where a call may stand (`markers::Stands`), never in code, and only if its tool is known. What is
//! wrong between explicit markers is a [`BadCall`], so that the model can try again; what is wrong elsewhere is text.
//!
//! | look for | in |
//! | --- | --- |
//! | the forms | `family` |
//! | the markers, and where each counts | `markers`, `opening` |
//! | what is shown and what waits | `prose` |
//! | where a call ends | `body` |
//! | JSON, repair, and what must not be repaired | `json`, `scan` |
//! | bounds | [`limits`] |

mod body;
mod calls;
mod envelope;
mod family;
mod json;
pub mod limits;
mod lines;
pub(super) mod markers;
mod opening;
mod prose;
mod scan;
mod thoughts;
mod tools;
mod values;
mod whole;
mod wrong;

use std::{collections::VecDeque, fmt, mem, sync::Arc};

use toolyard_core::ports::Ids;

pub use self::tools::Tools;
use self::{body::Body, family::Family, lines::Lines, thoughts::Thoughts, whole::Whole};
use crate::{
    message::Call,
    model::{BadCall, Stop},
};

/// What comes of a reply.
#[derive(Debug, Clone)]
pub enum Event {
    /// Words for the user. Never call syntax.
    Text(String),
    /// Thoughts.
    Reasoning(String),
    /// A call of a known tool, whole.
    Call(Call),
    /// Something that was meant as a call and cannot be run.
    BadCall(BadCall),
}

#[derive(Debug)]
enum State {
    Prose,
    /// All of the reply may be calls.
    Whole(Whole),
    Thoughts(Thoughts),
    /// A result that the model made up.
    Invented(Thoughts),
    Body(Body),
}

/// The machine. One for each reply.
pub struct Parser {
    tools: Arc<Tools>,
    ids: Arc<dyn Ids>,
    state: State,
    /// Characters that must be looked at again before the next one.
    again: VecDeque<char>,
    lines: Lines,
    /// White space that a marker behind it would swallow.
    space: String,
    /// What may become a marker.
    held: String,
    /// End tokens and white space behind them; dropped if nothing but markers follows.
    trailer: String,
    /// Right behind a call, a section or thoughts: of which family.
    behind: Option<Family>,
    /// Whether text was shown or a call made.
    said: bool,
    /// Whether the reply was already found not to be all calls.
    not_whole: bool,
    /// Whether the text shown so far ends a line.
    line_ended: bool,
    /// Calls, bad ones included.
    count: usize,
    events: Vec<Event>,
}

impl fmt::Debug for Parser {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Parser")
            .field("state", &self.state)
            .field("count", &self.count)
            .finish_non_exhaustive()
    }
}

impl Parser {
    /// For a reply that may call these tools. Ids of calls are made with `ids`.
    pub fn new(tools: Arc<Tools>, ids: Arc<dyn Ids>) -> Self {
        Self {
            tools,
            ids,
            state: State::Prose,
            again: VecDeque::new(),
            lines: Lines::default(),
            space: String::new(),
            held: String::new(),
            trailer: String::new(),
            behind: None,
            said: false,
            not_whole: false,
            line_ended: true,
            count: 0,
            events: Vec::new(),
        }
    }

    /// The next piece of the reply, cut anywhere between characters.
    pub fn push(&mut self, piece: &str) -> Vec<Event> {
        for c in piece.chars() {
            self.again.push_back(c);
            self.work();
        }
        mem::take(&mut self.events)
    }

    /// The end of the reply. A call under way that was cut, by itself or by the model's `stop`, is a bad call.
    pub fn finish(&mut self, stop: Stop) -> Vec<Event> {
        let cut = match stop {
            Stop::Length | Stop::Filtered => true,
            Stop::Done | Stop::Calls | Stop::Other => false,
        };
        loop {
            self.work();
            match mem::replace(&mut self.state, State::Prose) {
                State::Prose => break self.finish_prose(),
                State::Whole(whole) => self.finish_whole(whole, cut),
                State::Thoughts(thoughts) => break self.reason(thoughts.rest()),
                State::Invented(_) => break,
                State::Body(body) => self.finish_body(body, cut),
            }
        }
        mem::take(&mut self.events)
    }

    fn work(&mut self) {
        while let Some(c) = self.again.pop_front() {
            self.step(c);
        }
    }

    fn step(&mut self, c: char) {
        match &mut self.state {
            State::Prose => self.step_prose(c),
            State::Whole(whole) => {
                if !whole.step(c, &self.tools) {
                    self.give_up_whole();
                }
            }
            State::Thoughts(thoughts) => match thoughts.step(c) {
                thoughts::Step::More(text) => self.reason(text),
                thoughts::Step::Ended { again } => self.close(Family::Plain, again),
            },
            State::Invented(thoughts) => match thoughts.step(c) {
                thoughts::Step::More(_) => {}
                thoughts::Step::Ended { again } => self.close(Family::Plain, again),
            },
            State::Body(body) => match body.step(c) {
                body::Step::More => {}
                body::Step::Ended { again } => self.end_body(again),
                body::Step::TooLong => self.end_long_body(),
            },
        }
    }

    /// What ended is behind us; `rest` comes next.
    fn close(&mut self, family: Family, rest: &str) {
        self.state = State::Prose;
        self.behind = Some(family);
        self.lines = Lines::default();
        self.look_again(rest);
    }

    fn look_again(&mut self, text: &str) {
        for c in text.chars().rev() {
            self.again.push_front(c);
        }
    }

    fn reason(&mut self, more: String) {
        match self.events.last_mut() {
            _ if more.is_empty() => {}
            Some(Event::Reasoning(text)) => text.push_str(&more),
            _ => self.events.push(Event::Reasoning(more)),
        }
    }
}
