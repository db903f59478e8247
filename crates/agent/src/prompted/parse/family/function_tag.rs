//! `<function=N>`: JSON in it is Functionary 3.1 and Llama; `<parameter=K>` in it is Qwen3-Coder and Nemotron.

use super::tags::{between, skip};
use crate::prompted::parse::{
    body::BodyEnd,
    envelope::{Read, named},
    json, limits,
    scan::Scan,
    tools::Tools,
    values::{Arguments, Hint},
    wrong::Wrong,
};

const OPEN: &str = "<function=";
const CLOSE: &str = "</function>";

/// A body with the tags that opened and closed it.
pub(super) fn whole(body: &str, end: BodyEnd) -> String {
    match end {
        BodyEnd::Closed => format!("{OPEN}{body}{CLOSE}"),
        BodyEnd::Open => format!("{OPEN}{body}"),
    }
}

/// All functions of a body.
pub(super) fn read(body: &str, tools: &Tools) -> Vec<Read> {
    let (mut reads, mut rest) = (Vec::new(), body);
    while let Some(start) = rest.find(OPEN) {
        let (read, after) = one(&rest[start..], tools);
        reads.push(read);
        let Some(after) = after.filter(|_| reads.len() <= limits::MAX_CALLS) else { break };
        rest = after;
    }
    reads
}

/// One function, and what follows it if its end was found.
fn one<'a>(text: &'a str, tools: &Tools) -> (Read, Option<&'a str>) {
    let (name, inside) = match between(text, OPEN, ">") {
        Ok(parts) => parts,
        Err(wrong) => return (Err(wrong.into()), None),
    };
    let name = name.trim().trim_matches('"');
    let start = inside.trim_start();
    if start.starts_with('{') {
        let end = json::end_of_value(start, Scan::json());
        let after = end.ok().map(|end| &start[end..]);
        return (named(name, json::arguments(start), tools), after);
    }
    match parameters(inside, name, tools) {
        Ok((arguments, after)) => (named(name, arguments.object(), tools), Some(after)),
        Err(wrong) => (named(name, Err(wrong), tools), None),
    }
}

/// Up to the closing tag, which is the only sign that no parameter is missing.
fn parameters<'a>(inside: &'a str, name: &str, tools: &Tools) -> Result<(Arguments, &'a str), Wrong> {
    let spec = tools.find(name).map(AsRef::as_ref);
    let (mut arguments, mut rest) = (Arguments::default(), inside);
    loop {
        rest = rest.trim_start();
        if let Some(after) = skip(rest, &[CLOSE]) {
            return Ok((arguments, after));
        }
        if CLOSE.starts_with(rest) {
            return Err(Wrong::Cut);
        }
        let (key, value) = between(rest, "<parameter=", ">")?;
        let (value, after) = value.split_once("</parameter>").ok_or(Wrong::Cut)?;
        arguments.add(spec, key.trim().trim_matches('"'), value, Hint::None)?;
        rest = after;
    }
}
