//! DeepSeek V3 (`function`, separator, name, fenced JSON) and V3.1 (name, separator, JSON).

use crate::prompted::parse::{
    envelope::{CallParseResult, resolve_call},
    json,
    problem::CallProblem,
    tools::CallableTools,
};

const SEPARATOR: &str = "<｜tool▁sep｜>";
const KIND: &str = "function";

pub(super) fn parse_deepseek(body: &str, tools: &CallableTools) -> CallParseResult {
    let Some((head, rest)) = body.split_once(SEPARATOR) else {
        return resolve_call(head_of(body), Err(CallProblem::Cut), tools);
    };
    if head.trim() == KIND && !rest.trim_start().starts_with('{') {
        let (name, arguments) = rest.trim_start().split_once('\n').unwrap_or((rest, ""));
        return resolve_call(name, json::parse_arguments(arguments), tools);
    }
    resolve_call(head, json::parse_arguments(rest), tools)
}

fn head_of(body: &str) -> &str {
    body.split_once('<').map_or(body, |(head, _)| head)
}
