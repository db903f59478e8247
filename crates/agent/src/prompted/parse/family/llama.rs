//! Llama 3 with its tag, and Functionary 3.2, which is based on it.

use super::pythonic;
use crate::prompted::parse::{
    envelope::{self, CallParseResult, resolve_call},
    json,
    tools::CallableTools,
};

/// JSON, or Python for the code interpreter, of which only tool calls are understood.
pub(super) fn parse_python_tag(body: &str, tools: &CallableTools) -> Vec<CallParseResult> {
    let body = json::strip_wrapping(body);
    if body.starts_with('{') || body.starts_with("[{") {
        envelope::parse_calls(body, tools)
    } else {
        pythonic::parse_pythonic(body, tools)
    }
}

/// A name, a line break, the arguments.
pub(super) fn parse_functionary(body: &str, tools: &CallableTools) -> CallParseResult {
    let (name, arguments) = body.split_once('\n').unwrap_or((body, ""));
    resolve_call(name, json::parse_arguments(arguments), tools)
}
