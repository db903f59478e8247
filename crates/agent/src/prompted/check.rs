//! Invariants of the parser, for property tests and fuzzing.

use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};

use serde_json::{Value, json};
use toolyard_core::ports::IdGenerator;

use super::parse::{CallableTools, ParseEvent, ReplyParser, limits};
use crate::model::{ModelStopReason, ToolSpec};

/// A counter as id generator, so that the same calls get the same ids.
#[derive(Debug, Default)]
pub struct CountingIds(AtomicU64);

impl IdGenerator for CountingIds {
    fn fill_random(&self, bytes: &mut [u8]) {
        let count = self.0.fetch_add(1, Ordering::Relaxed);
        bytes.fill(0);
        bytes.iter_mut().rev().zip(count.to_le_bytes()).for_each(|(byte, part)| *byte = part);
    }
}

/// A few tools with arguments of many types.
pub fn sample_tools() -> Arc<CallableTools> {
    let tool = |name: &str, properties: Value| {
        let schema = json!({"type": "object", "properties": properties});
        Arc::new(ToolSpec { name: name.to_owned(), description: format!("The tool {name}."), schema })
    };
    let text = json!({"type": "string"});
    Arc::new(
        CallableTools::new(&[
            tool("calculator", json!({"expression": text, "precision": {"type": "integer"}})),
            tool("current_time", json!({"timezone": text})),
            tool(
                "read_file",
                json!({"path": text, "lines": {"type": "array"}, "follow": {"type": "boolean"}}),
            ),
            tool("write_file", json!({"path": text, "content": text, "options": {"type": "object"}})),
        ])
        .with_alias("com.example.math:calculator", "calculator"),
    )
}

/// A parsed reply: the joined text, the joined reasoning, and the calls and bad calls in order.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ParsedReply {
    /// Text for the user.
    pub text: String,
    /// Reasoning.
    pub reasoning: String,
    /// Id, name, arguments.
    pub calls: Vec<(String, String, String)>,
    /// Id, name, problem.
    pub bad: Vec<(String, Option<String>, String)>,
    /// The kinds of events in order, equal neighbours joined.
    pub order: String,
}

/// Parses a reply that arrives in these pieces.
pub fn parse_pieces<'a>(pieces: impl IntoIterator<Item = &'a str>, stop: ModelStopReason) -> ParsedReply {
    let mut parser = ReplyParser::new(sample_tools(), Arc::new(CountingIds::default()));
    let mut parsed = ParsedReply::default();
    for piece in pieces {
        parsed.add_events(parser.push(piece));
    }
    parsed.add_events(parser.finish(stop));
    parsed
}

impl ParsedReply {
    fn add_events(&mut self, events: Vec<ParseEvent>) {
        for event in events {
            let kind = match event {
                ParseEvent::Text(text) => {
                    self.text.push_str(&text);
                    't'
                }
                ParseEvent::Reasoning(text) => {
                    self.reasoning.push_str(&text);
                    'r'
                }
                ParseEvent::Call(call) => {
                    self.calls.push((call.id, call.name, call.arguments.get().to_owned()));
                    'c'
                }
                ParseEvent::BadCall(bad) => {
                    self.bad.push((bad.id, bad.name, bad.problem));
                    'b'
                }
            };
            if matches!(kind, 'c' | 'b') || !self.order.ends_with(kind) {
                self.order.push(kind);
            }
        }
    }
}

/// Parses a reply that is cut at these byte offsets. Offsets inside a character are moved.
pub fn parse_cut(reply: &str, cuts: &[usize], stop: ModelStopReason) -> ParsedReply {
    let mut at: Vec<_> = cuts.iter().map(|cut| reply.floor_char_boundary(cut % (reply.len() + 1))).collect();
    at.extend([0, reply.len()]);
    at.sort_unstable();
    parse_pieces(at.windows(2).map(|pair| &reply[pair[0]..pair[1]]), stop)
}

/// Checks the invariants for a reply that is cut at these byte offsets.
pub fn check_reply(reply: &str, cuts: &[usize], stop: ModelStopReason) -> Result<ParsedReply, String> {
    let whole = parse_pieces([reply], stop);
    let cut = parse_cut(reply, cuts, stop);
    if whole != cut {
        return Err(format!("cut at {cuts:?}: {cut:?}, whole: {whole:?}"));
    }
    if whole.calls.len() > limits::MAX_CALLS || whole.calls.len() + whole.bad.len() > limits::MAX_CALLS + 1 {
        return Err(format!("{} calls and {} bad ones", whole.calls.len(), whole.bad.len()));
    }
    if whole.text.len() + whole.reasoning.len() > reply.len() {
        return Err("more text than was written".to_owned());
    }
    let tools = sample_tools();
    for (_, name, arguments) in &whole.calls {
        if tools.find(name).is_none() || serde_json::from_str::<Value>(arguments).is_err() {
            return Err(format!("not a call: {name} {arguments}"));
        }
    }
    Ok(whole)
}
