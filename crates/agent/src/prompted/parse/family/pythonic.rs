//! Calls as Python writes them: Llama 4, LFM2. Only literals are understood; nothing is ever evaluated.

use serde_json::value::RawValue;

use crate::prompted::parse::{
    envelope::{self, Fault, Read, named},
    json,
    limits::{MAX_CALLS, MAX_DEPTH},
    scan::Scan,
    tools::Tools,
    wrong::Wrong,
};

/// Between markers: Python, or JSON as some checkpoints have it.
pub(super) fn wrapped(body: &str, tools: &Tools) -> Vec<Read> {
    let body = json::bare(body);
    let inside = body.trim_start_matches('[').trim_start();
    if inside.starts_with(['{', '"']) { envelope::calls(body, tools) } else { read(body, tools) }
}

/// `[f(a="x"), g()]`, with or without the list.
pub(in crate::prompted::parse) fn read(body: &str, tools: &Tools) -> Vec<Read> {
    let body = json::bare(body);
    if body.is_empty() {
        return vec![Err(Wrong::Empty.into())];
    }
    let scan = Scan::python().of(body);
    if scan.is_too_deep() {
        return vec![Err(Wrong::TooDeep.into())];
    }
    if !scan.is_complete() || scan.is_mismatched() {
        let name = body.trim_start_matches('[').split('(').next().map(|name| name.trim().to_owned());
        return vec![Err(Fault {
            name,
            wrong: if scan.is_mismatched() { Wrong::Brackets } else { Wrong::Cut },
        })];
    }
    let list = body.strip_prefix('[').and_then(|body| body.strip_suffix(']')).unwrap_or(body);
    let (mut reader, mut reads) = (Reader { rest: list }, Vec::new());
    while reads.len() <= MAX_CALLS {
        match reader.call(tools) {
            Ok(read) => reads.push(read),
            Err(fault) => {
                reads.push(Err(fault));
                break;
            }
        }
        if reader.eat(',').is_err() || reader.at_end() {
            break;
        }
    }
    if !reader.at_end() && reads.len() <= MAX_CALLS && reads.iter().all(Result::is_ok) {
        return vec![Err(Wrong::Shape.into())];
    }
    reads
}

struct Reader<'a> {
    rest: &'a str,
}

impl<'a> Reader<'a> {
    fn space(&mut self) {
        self.rest = self.rest.trim_start();
    }

    fn at_end(&mut self) -> bool {
        self.space();
        self.rest.is_empty()
    }

    fn sees(&mut self, c: char) -> bool {
        self.space();
        self.rest.starts_with(c)
    }

    fn eat(&mut self, c: char) -> Result<(), Wrong> {
        self.space();
        self.rest = self.rest.strip_prefix(c).ok_or(Wrong::Shape)?;
        Ok(())
    }

    fn word(&mut self) -> &'a str {
        self.space();
        let end = self
            .rest
            .find(|c: char| !(c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '-' | '+')))
            .unwrap_or(self.rest.len());
        let (word, rest) = self.rest.split_at(end);
        self.rest = rest;
        word
    }

    /// The outer error ends the reading, the inner one is about this call only.
    fn call(&mut self, tools: &Tools) -> Result<Read, Fault> {
        let name = self.word();
        match self.arguments() {
            Ok(arguments) => Ok(named(name, Ok(arguments), tools)),
            Err(wrong) => Err(Fault { name: Some(name.to_owned()).filter(|name| !name.is_empty()), wrong }),
        }
    }

    fn arguments(&mut self) -> Result<Box<RawValue>, Wrong> {
        self.eat('(')?;
        let mut members = Vec::new();
        while !self.sees(')') {
            let key = self.word();
            if key.is_empty() || !self.sees('=') {
                return Err(Wrong::Positional);
            }
            self.eat('=')?;
            members.push(format!("{}:{}", json::quoted(key), self.value(0)?));
            if self.eat(',').is_err() {
                break;
            }
        }
        self.eat(')')?;
        json::raw(format!("{{{}}}", members.join(",")))
    }

    /// A literal, as JSON.
    fn value(&mut self, depth: usize) -> Result<String, Wrong> {
        if depth > MAX_DEPTH {
            return Err(Wrong::TooDeep);
        }
        self.space();
        match self.rest.chars().next() {
            Some('"' | '\'') => self.string(),
            Some('[') => self.list('[', ']', depth),
            Some('(') => self.list('(', ')', depth),
            Some('{') => self.dictionary(depth),
            Some(_) | None => match self.word() {
                "True" | "true" => Ok("true".to_owned()),
                "False" | "false" => Ok("false".to_owned()),
                "None" | "null" => Ok("null".to_owned()),
                word if serde_json::from_str::<serde_json::Number>(word).is_ok() => Ok(word.to_owned()),
                _ => Err(Wrong::Shape),
            },
        }
    }

    fn list(&mut self, open: char, close: char, depth: usize) -> Result<String, Wrong> {
        self.eat(open)?;
        let mut items = Vec::new();
        while !self.sees(close) {
            items.push(self.value(depth + 1)?);
            if self.eat(',').is_err() {
                break;
            }
        }
        self.eat(close)?;
        Ok(format!("[{}]", items.join(",")))
    }

    fn dictionary(&mut self, depth: usize) -> Result<String, Wrong> {
        self.eat('{')?;
        let mut members = Vec::new();
        while !self.sees('}') {
            let key =
                if self.rest.starts_with(['"', '\'']) { self.string()? } else { json::quoted(self.word()) };
            self.eat(':')?;
            members.push(format!("{key}:{}", self.value(depth + 1)?));
            if self.eat(',').is_err() {
                break;
            }
        }
        self.eat('}')?;
        Ok(format!("{{{}}}", members.join(",")))
    }

    fn string(&mut self) -> Result<String, Wrong> {
        let mut chars = self.rest.char_indices();
        let Some((_, quote)) = chars.next() else { return Err(Wrong::Cut) };
        let mut text = String::new();
        while let Some((at, c)) = chars.next() {
            if c == quote {
                self.rest = &self.rest[at + c.len_utf8()..];
                return Ok(json::quoted(&text));
            }
            if c != '\\' {
                text.push(c);
                continue;
            }
            match chars.next().ok_or(Wrong::Cut)?.1 {
                'n' => text.push('\n'),
                't' => text.push('\t'),
                'r' => text.push('\r'),
                'u' => text.push(code_point(&mut chars, 4)?),
                'x' => text.push(code_point(&mut chars, 2)?),
                escaped @ ('\\' | '\'' | '"' | '/') => text.push(escaped),
                _ => return Err(Wrong::Backslash),
            }
        }
        Err(Wrong::Cut)
    }
}

fn code_point(chars: &mut std::str::CharIndices<'_>, digits: usize) -> Result<char, Wrong> {
    let hex: String = chars.take(digits).map(|(_, c)| c).collect();
    u32::from_str_radix(&hex, 16).ok().and_then(char::from_u32).ok_or(Wrong::Backslash)
}
