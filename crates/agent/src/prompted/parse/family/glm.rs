//! GLM-4.5 and later: `N` and then pairs of `<arg_key>k</arg_key><arg_value>v</arg_value>`.

use super::tags::text_between;
use crate::prompted::parse::{
    body::BodyEnd,
    envelope::{CallFault, CallParseResult, resolve_call},
    problem::CallProblem,
    tools::CallableTools,
    values::{ArgumentList, ValueHint},
};

/// The closing tag is the only sign that no argument is missing.
pub(super) fn parse_glm(body: &str, end: BodyEnd, tools: &CallableTools) -> CallParseResult {
    let body = body.trim();
    let name_end = body.find(|c: char| c == '<' || c.is_whitespace()).unwrap_or(body.len());
    let (name, mut rest) = body.split_at(name_end);
    let spec = tools.find(name).map(AsRef::as_ref);
    let mut arguments = ArgumentList::default();
    loop {
        rest = rest.trim_start();
        if rest.is_empty() {
            return match end {
                BodyEnd::Closed => resolve_call(name, arguments.into_object(), tools),
                BodyEnd::Open => resolve_call(name, Err(CallProblem::Cut), tools),
            };
        }
        let pair = text_between(rest, "<arg_key>", "</arg_key>").and_then(|(key, rest)| {
            Ok((key, text_between(rest.trim_start(), "<arg_value>", "</arg_value>")?))
        });
        let (key, (value, after)) = match pair {
            Ok(pair) => pair,
            Err(problem) => return call_fault(name, problem),
        };
        if let Err(problem) = arguments.add(spec, key.trim(), value, ValueHint::None) {
            return call_fault(name, problem);
        }
        rest = after;
    }
}

fn call_fault(name: &str, problem: CallProblem) -> CallParseResult {
    Err(CallFault { name: Some(name.to_owned()).filter(|name| !name.is_empty()), problem })
}
