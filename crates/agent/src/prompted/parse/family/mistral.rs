//! Mistral: in older models a list of calls, in newer ones a name and its arguments after each marker.

use crate::prompted::parse::{
    envelope::{self, CallParseResult, resolve_call},
    json,
    problem::CallProblem,
    tools::CallableTools,
};

pub(super) fn parse_mistral(body: &str, tools: &CallableTools) -> Vec<CallParseResult> {
    let body = body.trim_start();
    if body.starts_with(['[', '{', '`']) {
        return envelope::parse_calls(body, tools);
    }
    let name = body[..body.find(['[', '{']).unwrap_or(body.len())].trim();
    let arguments =
        body.find('{').map_or(Err(CallProblem::Cut), |start| json::parse_arguments(&body[start..]));
    vec![resolve_call(name, arguments, tools)]
}
