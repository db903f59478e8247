//! Kimi K2: the id names the tool, `functions.N:0`. The id itself is not used, because ids are ours.

use crate::prompted::parse::{
    envelope::{CallParseResult, resolve_call},
    json,
    problem::CallProblem,
    tools::CallableTools,
};

const ARGUMENTS: &str = "<|tool_call_argument_begin|>";

pub(super) fn parse_kimi(body: &str, tools: &CallableTools) -> CallParseResult {
    let (id, arguments) = match body.split_once(ARGUMENTS) {
        Some((id, arguments)) => (id, json::parse_arguments(arguments)),
        None => (body.split_once('<').map_or(body, |(id, _)| id), Err(CallProblem::Cut)),
    };
    resolve_call(name_of(id.trim()), arguments, tools)
}

fn name_of(id: &str) -> &str {
    match id.rsplit_once(':') {
        Some((name, count)) if !count.is_empty() && count.bytes().all(|digit| digit.is_ascii_digit()) => name,
        Some(_) | None => id,
    }
}
