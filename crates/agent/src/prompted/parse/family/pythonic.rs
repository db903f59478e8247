//! Calls in Python syntax: Llama 4, LFM2. Only literals are parsed, nothing is evaluated.

use serde_json::value::RawValue;

use crate::prompted::parse::{
    envelope::{self, CallFault, CallParseResult, resolve_call},
    json,
    limits::{MAX_CALLS, MAX_DEPTH},
    problem::CallProblem,
    scan::BracketScan,
    tools::CallableTools,
};

/// Between markers: Python, or JSON from some checkpoints.
pub(super) fn parse_wrapped_pythonic(body: &str, tools: &CallableTools) -> Vec<CallParseResult> {
    let body = json::strip_wrapping(body);
    let inside = body.trim_start_matches('[').trim_start();
    if inside.starts_with(['{', '"']) {
        envelope::parse_calls(body, tools)
    } else {
        parse_pythonic(body, tools)
    }
}

/// `[f(a="x"), g()]`, with or without the list.
pub(in crate::prompted::parse) fn parse_pythonic(body: &str, tools: &CallableTools) -> Vec<CallParseResult> {
    let body = json::strip_wrapping(body);
    if body.is_empty() {
        return vec![Err(CallProblem::Empty.into())];
    }
    let scan = BracketScan::for_python().scan_text(body);
    if scan.is_too_deep() {
        return vec![Err(CallProblem::TooDeep.into())];
    }
    if !scan.is_complete() || scan.is_mismatched() {
        let name = body.trim_start_matches('[').split('(').next().map(|name| name.trim().to_owned());
        return vec![Err(CallFault {
            name,
            problem: if scan.is_mismatched() { CallProblem::Brackets } else { CallProblem::Cut },
        })];
    }
    let list = body.strip_prefix('[').and_then(|body| body.strip_suffix(']')).unwrap_or(body);
    let (mut reader, mut reads) = (PythonReader { rest: list }, Vec::new());
    while reads.len() <= MAX_CALLS {
        match reader.read_call(tools) {
            Ok(read) => reads.push(read),
            Err(fault) => {
                reads.push(Err(fault));
                break;
            }
        }
        if reader.consume_char(',').is_err() || reader.at_end() {
            break;
        }
    }
    if !reader.at_end() && reads.len() <= MAX_CALLS && reads.iter().all(Result::is_ok) {
        return vec![Err(CallProblem::Shape.into())];
    }
    reads
}

struct PythonReader<'a> {
    rest: &'a str,
}

impl<'a> PythonReader<'a> {
    fn skip_space(&mut self) {
        self.rest = self.rest.trim_start();
    }

    fn at_end(&mut self) -> bool {
        self.skip_space();
        self.rest.is_empty()
    }

    fn is_next(&mut self, c: char) -> bool {
        self.skip_space();
        self.rest.starts_with(c)
    }

    fn consume_char(&mut self, c: char) -> Result<(), CallProblem> {
        self.skip_space();
        self.rest = self.rest.strip_prefix(c).ok_or(CallProblem::Shape)?;
        Ok(())
    }

    fn take_word(&mut self) -> &'a str {
        self.skip_space();
        let end = self
            .rest
            .find(|c: char| !(c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '-' | '+')))
            .unwrap_or(self.rest.len());
        let (word, rest) = self.rest.split_at(end);
        self.rest = rest;
        word
    }

    /// The outer error ends parsing, the inner one concerns this call only.
    fn read_call(&mut self, tools: &CallableTools) -> Result<CallParseResult, CallFault> {
        let name = self.take_word();
        match self.read_arguments() {
            Ok(arguments) => Ok(resolve_call(name, Ok(arguments), tools)),
            Err(problem) => {
                Err(CallFault { name: Some(name.to_owned()).filter(|name| !name.is_empty()), problem })
            }
        }
    }

    fn read_arguments(&mut self) -> Result<Box<RawValue>, CallProblem> {
        self.consume_char('(')?;
        let mut members = Vec::new();
        while !self.is_next(')') {
            let key = self.take_word();
            if key.is_empty() || !self.is_next('=') {
                return Err(CallProblem::Positional);
            }
            self.consume_char('=')?;
            members.push(format!("{}:{}", json::quote_json(key), self.read_literal(0)?));
            if self.consume_char(',').is_err() {
                break;
            }
        }
        self.consume_char(')')?;
        json::to_raw_value(format!("{{{}}}", members.join(",")))
    }

    /// A literal, as JSON.
    fn read_literal(&mut self, depth: usize) -> Result<String, CallProblem> {
        if depth > MAX_DEPTH {
            return Err(CallProblem::TooDeep);
        }
        self.skip_space();
        match self.rest.chars().next() {
            Some('"' | '\'') => self.read_string(),
            Some('[') => self.read_list('[', ']', depth),
            Some('(') => self.read_list('(', ')', depth),
            Some('{') => self.read_dictionary(depth),
            Some(_) | None => match self.take_word() {
                "True" | "true" => Ok("true".to_owned()),
                "False" | "false" => Ok("false".to_owned()),
                "None" | "null" => Ok("null".to_owned()),
                word if serde_json::from_str::<serde_json::Number>(word).is_ok() => Ok(word.to_owned()),
                _ => Err(CallProblem::Shape),
            },
        }
    }

    fn read_list(&mut self, open: char, close: char, depth: usize) -> Result<String, CallProblem> {
        self.consume_char(open)?;
        let mut items = Vec::new();
        while !self.is_next(close) {
            items.push(self.read_literal(depth + 1)?);
            if self.consume_char(',').is_err() {
                break;
            }
        }
        self.consume_char(close)?;
        Ok(format!("[{}]", items.join(",")))
    }

    fn read_dictionary(&mut self, depth: usize) -> Result<String, CallProblem> {
        self.consume_char('{')?;
        let mut members = Vec::new();
        while !self.is_next('}') {
            let key = if self.rest.starts_with(['"', '\'']) {
                self.read_string()?
            } else {
                json::quote_json(self.take_word())
            };
            self.consume_char(':')?;
            members.push(format!("{key}:{}", self.read_literal(depth + 1)?));
            if self.consume_char(',').is_err() {
                break;
            }
        }
        self.consume_char('}')?;
        Ok(format!("{{{}}}", members.join(",")))
    }

    fn read_string(&mut self) -> Result<String, CallProblem> {
        let mut chars = self.rest.char_indices();
        let Some((_, quote)) = chars.next() else { return Err(CallProblem::Cut) };
        let mut text = String::new();
        while let Some((at, c)) = chars.next() {
            if c == quote {
                self.rest = &self.rest[at + c.len_utf8()..];
                return Ok(json::quote_json(&text));
            }
            if c != '\\' {
                text.push(c);
                continue;
            }
            match chars.next().ok_or(CallProblem::Cut)?.1 {
                'n' => text.push('\n'),
                't' => text.push('\t'),
                'r' => text.push('\r'),
                'u' => text.push(code_point(&mut chars, 4)?),
                'x' => text.push(code_point(&mut chars, 2)?),
                escaped @ ('\\' | '\'' | '"' | '/') => text.push(escaped),
                _ => return Err(CallProblem::Backslash),
            }
        }
        Err(CallProblem::Cut)
    }
}

fn code_point(chars: &mut std::str::CharIndices<'_>, digits: usize) -> Result<char, CallProblem> {
    let hex: String = chars.take(digits).map(|(_, c)| c).collect();
    u32::from_str_radix(&hex, 16).ok().and_then(char::from_u32).ok_or(CallProblem::Backslash)
}
