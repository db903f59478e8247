//! `<function=N>`: with JSON inside it is Functionary 3.1 and Llama, with `<parameter=K>` it is Qwen3-Coder and
//! Nemotron.

use super::tags::{strip_tag, text_between};
use crate::prompted::parse::{
    body::BodyEnd,
    envelope::{CallParseResult, resolve_call},
    json, limits,
    problem::CallProblem,
    scan::BracketScan,
    tools::CallableTools,
    values::{ArgumentList, ValueHint},
};

const OPEN: &str = "<function=";
const CLOSE: &str = "</function>";

/// A body including its opening and closing tag.
pub(super) fn with_tags(body: &str, end: BodyEnd) -> String {
    match end {
        BodyEnd::Closed => format!("{OPEN}{body}{CLOSE}"),
        BodyEnd::Open => format!("{OPEN}{body}"),
    }
}

/// All functions of a body.
pub(super) fn parse_functions(body: &str, tools: &CallableTools) -> Vec<CallParseResult> {
    let (mut reads, mut rest) = (Vec::new(), body);
    while let Some(start) = rest.find(OPEN) {
        let (read, after) = parse_function(&rest[start..], tools);
        reads.push(read);
        let Some(after) = after.filter(|_| reads.len() <= limits::MAX_CALLS) else { break };
        rest = after;
    }
    reads
}

/// One function, and what follows it if its end was found.
fn parse_function<'a>(text: &'a str, tools: &CallableTools) -> (CallParseResult, Option<&'a str>) {
    let (name, inside) = match text_between(text, OPEN, ">") {
        Ok(parts) => parts,
        Err(problem) => return (Err(problem.into()), None),
    };
    let name = name.trim().trim_matches('"');
    let start = inside.trim_start();
    if start.starts_with('{') {
        let end = json::end_of_value(start, BracketScan::for_json());
        let after = end.ok().map(|end| &start[end..]);
        return (resolve_call(name, json::parse_arguments(start), tools), after);
    }
    match parse_function_parameters(inside, name, tools) {
        Ok((arguments, after)) => (resolve_call(name, arguments.into_object(), tools), Some(after)),
        Err(problem) => (resolve_call(name, Err(problem), tools), None),
    }
}

/// Parameters up to the closing tag, which is the only sign that none is missing.
fn parse_function_parameters<'a>(
    inside: &'a str,
    name: &str,
    tools: &CallableTools,
) -> Result<(ArgumentList, &'a str), CallProblem> {
    let spec = tools.find(name).map(AsRef::as_ref);
    let (mut arguments, mut rest) = (ArgumentList::default(), inside);
    loop {
        rest = rest.trim_start();
        if let Some(after) = strip_tag(rest, &[CLOSE]) {
            return Ok((arguments, after));
        }
        if CLOSE.starts_with(rest) {
            return Err(CallProblem::Cut);
        }
        let (key, value) = text_between(rest, "<parameter=", ">")?;
        let (value, after) = value.split_once("</parameter>").ok_or(CallProblem::Cut)?;
        arguments.add(spec, key.trim().trim_matches('"'), value, ValueHint::None)?;
        rest = after;
    }
}
