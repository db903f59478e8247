//! `<invoke name="N">` with parameters in it: MiniMax-M2, and with other brackets DeepSeek's DSML.

use super::tags::between;
use crate::prompted::parse::{
    body::BodyEnd,
    envelope::{Read, named},
    json,
    tools::Tools,
    values::{Arguments, Hint},
    wrong::Wrong,
};

struct Tags {
    parameter: &'static str,
    parameter_end: &'static str,
}

const MINIMAX: Tags = Tags { parameter: "<parameter name=\"", parameter_end: "</parameter>" };
const DSML: Tags =
    Tags { parameter: "<｜DSML｜parameter name=\"", parameter_end: "</｜DSML｜parameter>" };

pub(super) fn minimax(body: &str, end: BodyEnd, tools: &Tools) -> Read {
    read(body, end, &MINIMAX, tools)
}

pub(super) fn dsml(body: &str, end: BodyEnd, tools: &Tools) -> Read {
    read(body, end, &DSML, tools)
}

/// The body begins with the name. Its closing tag is the only sign that no parameter is missing.
fn read(body: &str, end: BodyEnd, tags: &Tags, tools: &Tools) -> Read {
    let Some((name, rest)) = body.split_once('"') else { return Err(Wrong::Cut.into()) };
    let Some((_, inside)) = rest.split_once('>') else { return named(name, Err(Wrong::Cut), tools) };
    let inside = inside.trim_start();
    let arguments = if inside.starts_with('{') {
        json::arguments(inside)
    } else {
        parameters(inside, name, tags, tools).and_then(|arguments| match end {
            BodyEnd::Closed => arguments.object(),
            BodyEnd::Open => Err(Wrong::Cut),
        })
    };
    named(name, arguments, tools)
}

fn parameters(inside: &str, name: &str, tags: &Tags, tools: &Tools) -> Result<Arguments, Wrong> {
    let spec = tools.find(name).map(AsRef::as_ref);
    let (mut arguments, mut rest) = (Arguments::default(), inside);
    loop {
        rest = rest.trim_start();
        if rest.is_empty() {
            return Ok(arguments);
        }
        let (key, value) = between(rest, tags.parameter, "\"")?;
        let (attributes, value) = value.split_once('>').ok_or(Wrong::Cut)?;
        let (value, after) = value.split_once(tags.parameter_end).ok_or(Wrong::Cut)?;
        let hint = if attributes.contains("string=\"true\"") {
            Hint::Text
        } else if attributes.contains("string=\"false\"") {
            Hint::Json
        } else {
            Hint::None
        };
        arguments.add(spec, key, value, hint)?;
        rest = after;
    }
}
