//! A reply that consists of calls only, without markers: JSON, fenced JSON, or a Python list. Only the beginning of a
//! reply can become one, and the parser waits for the end: if any text follows, it was an example.
//!
//! The parser stops waiting as soon as the reply cannot be one. The first key must occur in calls or be a tool, the
//! first Python name must be a tool, and a fence must say `json`, a word for tools, or nothing.

use super::{
    envelope::{self, CallParseResult, EnvelopeForm},
    family, json,
    limits::{MAX_HELD_BYTES, MAX_OPENING_BYTES},
    markers,
    problem::CallProblem,
    scan::BracketScan,
    tools::CallableTools,
};

/// Keys that can be first in a call.
const FIRST_KEYS: [&str; 16] = [
    "name",
    "tool",
    "tool_name",
    "function",
    "function_name",
    "type",
    "id",
    "call_id",
    "index",
    "tool_calls",
    "arguments",
    "args",
    "params",
    "parameters",
    "input",
    "tool_input",
];
/// Accepted labels of a fence around a call.
const FENCES: [&str; 6] = ["", "json", "tool", "tool_call", "tool_calls", "tool_code"];
/// Shortest fence.
const FENCE: usize = 3;
/// Longest first line of a fence.
const MAX_FENCE_LINE: usize = 32;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum BareStage {
    /// The first line of a fence.
    Fence,
    /// Up to the first member or name.
    Head,
    /// In a value.
    Inside,
    /// After a value.
    Tail,
}

/// A reply that may consist of calls only.
#[derive(Debug)]
pub(super) struct BareReply {
    text: String,
    stage: BareStage,
    /// Backticks of the fence.
    fence: usize,
    /// Where the first value begins, and where the last one ended.
    from: usize,
    to: usize,
    python: bool,
    scan: BracketScan,
}

/// The decision at the end of the reply.
#[derive(Debug)]
pub(super) enum BareVerdict {
    Calls(Vec<CallParseResult>),
    Text,
}

impl BareReply {
    /// Whether a reply that begins with this character may be one.
    pub(super) fn may_begin(c: char) -> bool {
        matches!(c, '{' | '[' | '`')
    }

    pub(super) fn new() -> Self {
        let scan = BracketScan::for_json();
        Self { text: String::new(), stage: BareStage::Head, fence: 0, from: 0, to: 0, python: false, scan }
    }

    /// The whole text, if it is none.
    pub(super) fn into_text(self) -> String {
        self.text
    }

    /// Takes the next character. Returns false if the reply is text.
    pub(super) fn push_char(&mut self, c: char, tools: &CallableTools) -> bool {
        if self.text.is_empty() && c == '`' {
            self.stage = BareStage::Fence;
        }
        self.text.push(c);
        if self.text.len() > MAX_HELD_BYTES {
            return false;
        }
        match self.stage {
            BareStage::Fence => self.fence_line(c),
            BareStage::Head => self.check_head(tools),
            BareStage::Inside => self.check_inside(c),
            BareStage::Tail => self.check_tail(),
        }
    }

    fn fence_line(&mut self, c: char) -> bool {
        self.fence = self.text.bytes().take_while(|byte| *byte == b'`').count();
        let label = self.text[self.fence..].trim();
        if c == '\n' {
            self.from = self.text.len();
            self.stage = BareStage::Head;
            return self.fence >= FENCE && FENCES.contains(&label);
        }
        let is_mark = self.fence == self.text.len();
        self.text.len() <= MAX_FENCE_LINE
            && (is_mark || (self.fence >= FENCE && FENCES.iter().any(|fence| fence.starts_with(label))))
    }

    fn check_head(&mut self, tools: &CallableTools) -> bool {
        let head = &self.text[self.from..];
        match head_of(head, tools) {
            BareHead::No => false,
            BareHead::Maybe => head.len() <= MAX_OPENING_BYTES,
            BareHead::Json | BareHead::Python => {
                self.python = head_of(head, tools) == BareHead::Python;
                let scan = if self.python { BracketScan::for_python() } else { BracketScan::for_json() };
                self.scan = scan.scan_text(head);
                self.stage = BareStage::Inside;
                true
            }
        }
    }

    fn check_inside(&mut self, c: char) -> bool {
        self.scan.push_char(c);
        if self.scan.is_complete() {
            self.to = self.text.len();
            self.stage = BareStage::Tail;
        }
        !self.scan.is_mismatched()
    }

    fn check_tail(&mut self) -> bool {
        let tail = &self.text[self.to..];
        if tail.len() > MAX_OPENING_BYTES {
            return false;
        }
        match tail_of(tail, self.fence) {
            BareTail::No => false,
            BareTail::Fine => true,
            BareTail::Again if self.python => false,
            BareTail::Again => {
                self.scan = BracketScan::for_json().scan_text("{");
                self.stage = BareStage::Inside;
                true
            }
        }
    }

    /// The end of the reply. `cut` means that the model had more to say.
    pub(super) fn finish(&self, cut: bool, tools: &CallableTools) -> BareVerdict {
        let known = || {
            let body = &self.text[self.from..];
            let python =
                || Some(body.trim_start().trim_start_matches('[').split_once('(')?.0.trim().to_owned());
            let name = if self.python { python() } else { json::guess_name(body) };
            name.filter(|name| tools.find(name).is_some())
        };
        let broken = |problem| match known() {
            Some(name) => BareVerdict::Calls(vec![Err(envelope::CallFault { name: Some(name), problem })]),
            None => BareVerdict::Text,
        };
        match self.stage {
            BareStage::Fence | BareStage::Head => return BareVerdict::Text,
            BareStage::Inside => return broken(CallProblem::Cut),
            BareStage::Tail => {}
        }
        let values = &self.text[self.from..self.to];
        let reads = if self.python {
            family::parse_pythonic(values, tools)
        } else {
            envelope::parse_calls(values, tools)
        };
        let sure = |read: &CallParseResult| match read {
            Ok(found) => matches!(found.form, EnvelopeForm::Full | EnvelopeForm::Keyed),
            Err(fault) => match fault.problem {
                CallProblem::Unknown(_)
                | CallProblem::NoName
                | CallProblem::Loose
                | CallProblem::Definition => false,
                CallProblem::Empty | CallProblem::Shape | CallProblem::Positional => false,
                _ => fault.name.as_deref().is_some_and(|name| tools.find(name).is_some()),
            },
        };
        if !reads.iter().all(sure) {
            return BareVerdict::Text;
        }
        if cut { broken(CallProblem::Cut) } else { BareVerdict::Calls(reads) }
    }
}

#[derive(Debug, PartialEq, Eq)]
enum BareHead {
    No,
    Maybe,
    Json,
    Python,
}

fn head_of(text: &str, tools: &CallableTools) -> BareHead {
    let text = text.trim_start();
    if text.is_empty() {
        return BareHead::Maybe;
    }
    if let Some(list) = text.strip_prefix('[') {
        let list = list.trim_start();
        return match list.chars().next() {
            None => BareHead::Maybe,
            Some('{') => first_key(list, tools),
            Some(_) => first_name(list, tools),
        };
    }
    first_key(text, tools)
}

/// `{"name"`, `{'name'`, `{name:`, `{{"name"`.
fn first_key(text: &str, tools: &CallableTools) -> BareHead {
    let Some(inside) = text.strip_prefix('{') else { return BareHead::No };
    let inside = inside.trim_start();
    let inside = inside.strip_prefix('{').unwrap_or(inside).trim_start();
    let quote = |c: char| matches!(c, '"' | '\'' | '“' | '”');
    let key = inside.strip_prefix(quote).unwrap_or(inside);
    let Some(end) = key.find(|c: char| quote(c) || c.is_whitespace() || matches!(c, ':' | ',' | '}' | '{'))
    else {
        let open = tools.has_name_prefix(key) || FIRST_KEYS.iter().any(|known| known.starts_with(key));
        return if open { BareHead::Maybe } else { BareHead::No };
    };
    let key = &key[..end];
    if FIRST_KEYS.contains(&key) || tools.find(key).is_some() { BareHead::Json } else { BareHead::No }
}

fn first_name(list: &str, tools: &CallableTools) -> BareHead {
    match list.split_once('(') {
        Some((name, _)) if tools.find(name).is_some() => BareHead::Python,
        Some(_) => BareHead::No,
        None if tools.has_name_prefix(list.trim_end()) || "functions.".starts_with(list) => BareHead::Maybe,
        None if list.strip_prefix("functions.").is_some_and(|name| tools.has_name_prefix(name)) => {
            BareHead::Maybe
        }
        None => BareHead::No,
    }
}

#[derive(Debug, PartialEq, Eq)]
enum BareTail {
    No,
    Fine,
    /// Another value begins.
    Again,
}

fn tail_of(mut text: &str, fence: usize) -> BareTail {
    let mut open = fence > 0;
    loop {
        // An extra bracket is a common mistake.
        text = text.trim_start_matches(|c: char| c.is_whitespace() || matches!(c, ';' | ',' | '}' | ']'));
        let ticks = text.bytes().take_while(|byte| *byte == b'`').count();
        if open && ticks > 0 {
            if ticks < fence {
                return if ticks == text.len() { BareTail::Fine } else { BareTail::No };
            }
            (text, open) = (&text[ticks..], false);
        } else if let Some(token) = markers::end_token(text) {
            text = &text[token.len()..];
        } else if text == "{" && (open || fence == 0) {
            return BareTail::Again;
        } else {
            return if markers::may_be_end_token(text) { BareTail::Fine } else { BareTail::No };
        }
    }
}
