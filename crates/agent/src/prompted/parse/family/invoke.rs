//! `<invoke name="N">` with parameters in it: MiniMax-M2, and with other brackets DeepSeek's DSML.

use super::tags::text_between;
use crate::prompted::parse::{
    body::BodyEnd,
    envelope::{CallParseResult, resolve_call},
    json,
    problem::CallProblem,
    tools::CallableTools,
    values::{ArgumentList, ValueHint},
};

struct ParameterTags {
    parameter: &'static str,
    parameter_end: &'static str,
}

const MINIMAX: ParameterTags =
    ParameterTags { parameter: "<parameter name=\"", parameter_end: "</parameter>" };
const DSML: ParameterTags =
    ParameterTags { parameter: "<｜DSML｜parameter name=\"", parameter_end: "</｜DSML｜parameter>" };

pub(super) fn parse_minimax(body: &str, end: BodyEnd, tools: &CallableTools) -> CallParseResult {
    parse_invoke(body, end, &MINIMAX, tools)
}

pub(super) fn parse_dsml(body: &str, end: BodyEnd, tools: &CallableTools) -> CallParseResult {
    parse_invoke(body, end, &DSML, tools)
}

/// The body begins with the name. Its closing tag is the only sign that no parameter is missing.
fn parse_invoke(body: &str, end: BodyEnd, tags: &ParameterTags, tools: &CallableTools) -> CallParseResult {
    let Some((name, rest)) = body.split_once('"') else { return Err(CallProblem::Cut.into()) };
    let Some((_, inside)) = rest.split_once('>') else {
        return resolve_call(name, Err(CallProblem::Cut), tools);
    };
    let inside = inside.trim_start();
    let arguments = if inside.starts_with('{') {
        json::parse_arguments(inside)
    } else {
        parse_invoke_parameters(inside, name, tags, tools).and_then(|arguments| match end {
            BodyEnd::Closed => arguments.into_object(),
            BodyEnd::Open => Err(CallProblem::Cut),
        })
    };
    resolve_call(name, arguments, tools)
}

fn parse_invoke_parameters(
    inside: &str,
    name: &str,
    tags: &ParameterTags,
    tools: &CallableTools,
) -> Result<ArgumentList, CallProblem> {
    let spec = tools.find(name).map(AsRef::as_ref);
    let (mut arguments, mut rest) = (ArgumentList::default(), inside);
    loop {
        rest = rest.trim_start();
        if rest.is_empty() {
            return Ok(arguments);
        }
        let (key, value) = text_between(rest, tags.parameter, "\"")?;
        let (attributes, value) = value.split_once('>').ok_or(CallProblem::Cut)?;
        let (value, after) = value.split_once(tags.parameter_end).ok_or(CallProblem::Cut)?;
        let hint = if attributes.contains("string=\"true\"") {
            ValueHint::Text
        } else if attributes.contains("string=\"false\"") {
            ValueHint::Json
        } else {
            ValueHint::None
        };
        arguments.add(spec, key, value, hint)?;
        rest = after;
    }
}
