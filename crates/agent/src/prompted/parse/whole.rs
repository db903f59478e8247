//! A reply that is nothing but calls, without markers: JSON, fenced JSON, or a Python list. Only the very beginning of a
//! reply can become one, and it waits until the end: one word more, and it was an example.
//!
//! It stops waiting as soon as it cannot be one: the first member must be one that calls have, or a tool; the first
//! Python name must be a tool; a fence must say `json`, something of tools, or nothing.

use super::{
    envelope::{self, Form, Read},
    family, json,
    limits::{MAX_HELD_BYTES, MAX_OPENING_BYTES},
    markers,
    scan::Scan,
    tools::Tools,
    wrong::Wrong,
};

/// First members of calls.
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
/// What a fence around a call may say.
const FENCES: [&str; 6] = ["", "json", "tool", "tool_call", "tool_calls", "tool_code"];
/// Shortest fence.
const FENCE: usize = 3;
/// Longest first line of a fence.
const MAX_FENCE_LINE: usize = 32;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    /// The first line of a fence.
    Fence,
    /// Up to the first member or name.
    Head,
    /// In a value.
    Inside,
    /// Behind a value.
    Tail,
}

/// A reply that may be nothing but calls.
#[derive(Debug)]
pub(super) struct Whole {
    text: String,
    stage: Stage,
    /// Backticks of the fence.
    fence: usize,
    /// Where the first value begins, and where the last one ended.
    from: usize,
    to: usize,
    python: bool,
    scan: Scan,
}

/// What the end of the reply makes of it.
#[derive(Debug)]
pub(super) enum Verdict {
    Calls(Vec<Read>),
    Text,
}

impl Whole {
    /// Whether a reply that begins like this may be one.
    pub(super) fn may_begin(c: char) -> bool {
        matches!(c, '{' | '[' | '`')
    }

    pub(super) fn new() -> Self {
        let scan = Scan::json();
        Self { text: String::new(), stage: Stage::Head, fence: 0, from: 0, to: 0, python: false, scan }
    }

    /// All of it, for the user after all.
    pub(super) fn into_text(self) -> String {
        self.text
    }

    /// The next character. False: it is text.
    pub(super) fn step(&mut self, c: char, tools: &Tools) -> bool {
        if self.text.is_empty() && c == '`' {
            self.stage = Stage::Fence;
        }
        self.text.push(c);
        if self.text.len() > MAX_HELD_BYTES {
            return false;
        }
        match self.stage {
            Stage::Fence => self.fence_line(c),
            Stage::Head => self.head(tools),
            Stage::Inside => self.inside(c),
            Stage::Tail => self.tail(),
        }
    }

    fn fence_line(&mut self, c: char) -> bool {
        self.fence = self.text.bytes().take_while(|byte| *byte == b'`').count();
        let said = self.text[self.fence..].trim();
        if c == '\n' {
            self.from = self.text.len();
            self.stage = Stage::Head;
            return self.fence >= FENCE && FENCES.contains(&said);
        }
        let is_mark = self.fence == self.text.len();
        self.text.len() <= MAX_FENCE_LINE
            && (is_mark || (self.fence >= FENCE && FENCES.iter().any(|fence| fence.starts_with(said))))
    }

    fn head(&mut self, tools: &Tools) -> bool {
        let head = &self.text[self.from..];
        match head_of(head, tools) {
            Head::No => false,
            Head::Maybe => head.len() <= MAX_OPENING_BYTES,
            Head::Json | Head::Python => {
                self.python = head_of(head, tools) == Head::Python;
                let scan = if self.python { Scan::python() } else { Scan::json() };
                self.scan = scan.of(head);
                self.stage = Stage::Inside;
                true
            }
        }
    }

    fn inside(&mut self, c: char) -> bool {
        self.scan.step(c);
        if self.scan.is_complete() {
            self.to = self.text.len();
            self.stage = Stage::Tail;
        }
        !self.scan.is_mismatched()
    }

    fn tail(&mut self) -> bool {
        let tail = &self.text[self.to..];
        if tail.len() > MAX_OPENING_BYTES {
            return false;
        }
        match tail_of(tail, self.fence) {
            Tail::No => false,
            Tail::Fine => true,
            Tail::Again if self.python => false,
            Tail::Again => {
                self.scan = Scan::json().of("{");
                self.stage = Stage::Inside;
                true
            }
        }
    }

    /// The reply is at its end; `cut` means that the model had more to say.
    pub(super) fn end(&self, cut: bool, tools: &Tools) -> Verdict {
        let known = || {
            let body = &self.text[self.from..];
            let python =
                || Some(body.trim_start().trim_start_matches('[').split_once('(')?.0.trim().to_owned());
            let name = if self.python { python() } else { json::name_in(body) };
            name.filter(|name| tools.find(name).is_some())
        };
        let broken = |wrong| match known() {
            Some(name) => Verdict::Calls(vec![Err(envelope::Fault { name: Some(name), wrong })]),
            None => Verdict::Text,
        };
        match self.stage {
            Stage::Fence | Stage::Head => return Verdict::Text,
            Stage::Inside => return broken(Wrong::Cut),
            Stage::Tail => {}
        }
        let values = &self.text[self.from..self.to];
        let reads =
            if self.python { family::read_pythonic(values, tools) } else { envelope::calls(values, tools) };
        let sure = |read: &Read| match read {
            Ok(found) => matches!(found.form, Form::Full | Form::Keyed),
            Err(fault) => match fault.wrong {
                Wrong::Unknown(_) | Wrong::NoName | Wrong::Loose | Wrong::Definition => false,
                Wrong::Empty | Wrong::Shape | Wrong::Positional => false,
                _ => fault.name.as_deref().is_some_and(|name| tools.find(name).is_some()),
            },
        };
        if !reads.iter().all(sure) {
            return Verdict::Text;
        }
        if cut { broken(Wrong::Cut) } else { Verdict::Calls(reads) }
    }
}

#[derive(Debug, PartialEq, Eq)]
enum Head {
    No,
    Maybe,
    Json,
    Python,
}

fn head_of(text: &str, tools: &Tools) -> Head {
    let text = text.trim_start();
    if text.is_empty() {
        return Head::Maybe;
    }
    if let Some(list) = text.strip_prefix('[') {
        let list = list.trim_start();
        return match list.chars().next() {
            None => Head::Maybe,
            Some('{') => first_key(list, tools),
            Some(_) => first_name(list, tools),
        };
    }
    first_key(text, tools)
}

/// `{"name"`, `{'name'`, `{name:`, `{{"name"`.
fn first_key(text: &str, tools: &Tools) -> Head {
    let Some(inside) = text.strip_prefix('{') else { return Head::No };
    let inside = inside.trim_start();
    let inside = inside.strip_prefix('{').unwrap_or(inside).trim_start();
    let quote = |c: char| matches!(c, '"' | '\'' | '“' | '”');
    let key = inside.strip_prefix(quote).unwrap_or(inside);
    let Some(end) = key.find(|c: char| quote(c) || c.is_whitespace() || matches!(c, ':' | ',' | '}' | '{'))
    else {
        let open = tools.any_begins(key) || FIRST_KEYS.iter().any(|known| known.starts_with(key));
        return if open { Head::Maybe } else { Head::No };
    };
    let key = &key[..end];
    if FIRST_KEYS.contains(&key) || tools.find(key).is_some() { Head::Json } else { Head::No }
}

fn first_name(list: &str, tools: &Tools) -> Head {
    match list.split_once('(') {
        Some((name, _)) if tools.find(name).is_some() => Head::Python,
        Some(_) => Head::No,
        None if tools.any_begins(list.trim_end()) || "functions.".starts_with(list) => Head::Maybe,
        None if list.strip_prefix("functions.").is_some_and(|name| tools.any_begins(name)) => Head::Maybe,
        None => Head::No,
    }
}

#[derive(Debug, PartialEq, Eq)]
enum Tail {
    No,
    Fine,
    /// One more value begins.
    Again,
}

fn tail_of(mut text: &str, fence: usize) -> Tail {
    let mut open = fence > 0;
    loop {
        // A bracket too many is a common slip.
        text = text.trim_start_matches(|c: char| c.is_whitespace() || matches!(c, ';' | ',' | '}' | ']'));
        let ticks = text.bytes().take_while(|byte| *byte == b'`').count();
        if open && ticks > 0 {
            if ticks < fence {
                return if ticks == text.len() { Tail::Fine } else { Tail::No };
            }
            (text, open) = (&text[ticks..], false);
        } else if let Some(token) = markers::end_token(text) {
            text = &text[token.len()..];
        } else if text == "{" && (open || fence == 0) {
            return Tail::Again;
        } else {
            return if markers::may_be_end_token(text) { Tail::Fine } else { Tail::No };
        }
    }
}
