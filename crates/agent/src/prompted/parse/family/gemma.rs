//! Gemma: `call:N{k:v}` where strings stand between marks that cannot occur in them, unescaped.

use crate::prompted::parse::{
    envelope::{Read, named},
    json,
    tools::Tools,
    wrong::Wrong,
};

/// Around strings of FunctionGemma.
pub(super) const ESCAPE: &str = "<escape>";
/// Around strings of Gemma 4.
pub(super) const QUOTE: &str = "<|\"|>";

pub(super) fn read(body: &str, mark: &str, tools: &Tools) -> Read {
    let body = body.trim();
    let Some(call) = body.strip_prefix("call:") else { return Err(Wrong::Shape.into()) };
    let Some(start) = call.find('{') else { return named(call, Err(Wrong::Cut), tools) };
    let (name, arguments) = call.split_at(start);
    named(name, json::arguments(&with_strings(arguments, mark)), tools)
}

/// With JSON strings instead of marked ones. After a mark without its partner the rest is one string, so that the braces
/// stay open and the call counts as cut.
fn with_strings(arguments: &str, mark: &str) -> String {
    let mut json = String::with_capacity(arguments.len());
    for (at, part) in arguments.split(mark).enumerate() {
        if at % 2 == 1 { json.push_str(&json::quoted(part)) } else { json.push_str(part) }
    }
    json
}
