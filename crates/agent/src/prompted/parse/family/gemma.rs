//! Gemma: `call:N{k:v}`. Strings are not escaped and stand between marks that cannot occur in them.

use crate::prompted::parse::{
    envelope::{CallParseResult, resolve_call},
    json,
    problem::CallProblem,
    tools::CallableTools,
};

/// Around strings of FunctionGemma.
pub(super) const ESCAPE: &str = "<escape>";
/// Around strings of Gemma 4.
pub(super) const QUOTE: &str = "<|\"|>";

pub(super) fn parse_gemma(body: &str, mark: &str, tools: &CallableTools) -> CallParseResult {
    let body = body.trim();
    let Some(call) = body.strip_prefix("call:") else { return Err(CallProblem::Shape.into()) };
    let Some(start) = call.find('{') else { return resolve_call(call, Err(CallProblem::Cut), tools) };
    let (name, arguments) = call.split_at(start);
    resolve_call(name, json::parse_arguments(&with_strings(arguments, mark)), tools)
}

/// Replaces marked strings with JSON strings. After an unmatched mark the rest is one string, so the braces stay open
/// and the call counts as cut.
fn with_strings(arguments: &str, mark: &str) -> String {
    let mut json = String::with_capacity(arguments.len());
    for (at, part) in arguments.split(mark).enumerate() {
        if at % 2 == 1 { json.push_str(&json::quote_json(part)) } else { json.push_str(part) }
    }
    json
}
