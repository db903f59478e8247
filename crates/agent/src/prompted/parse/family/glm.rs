//! GLM-4.5 and later: `N` and then pairs of `<arg_key>k</arg_key><arg_value>v</arg_value>`.

use super::tags::between;
use crate::prompted::parse::{
    body::BodyEnd,
    envelope::{Fault, Read, named},
    tools::Tools,
    values::{Arguments, Hint},
    wrong::Wrong,
};

/// The closing tag is the only sign that no argument is missing.
pub(super) fn read(body: &str, end: BodyEnd, tools: &Tools) -> Read {
    let body = body.trim();
    let name_end = body.find(|c: char| c == '<' || c.is_whitespace()).unwrap_or(body.len());
    let (name, mut rest) = body.split_at(name_end);
    let spec = tools.find(name).map(AsRef::as_ref);
    let mut arguments = Arguments::default();
    loop {
        rest = rest.trim_start();
        if rest.is_empty() {
            return match end {
                BodyEnd::Closed => named(name, arguments.object(), tools),
                BodyEnd::Open => named(name, Err(Wrong::Cut), tools),
            };
        }
        let pair = between(rest, "<arg_key>", "</arg_key>")
            .and_then(|(key, rest)| Ok((key, between(rest.trim_start(), "<arg_value>", "</arg_value>")?)));
        let (key, (value, after)) = match pair {
            Ok(pair) => pair,
            Err(wrong) => return fault(name, wrong),
        };
        if let Err(wrong) = arguments.add(spec, key.trim(), value, Hint::None) {
            return fault(name, wrong);
        }
        rest = after;
    }
}

fn fault(name: &str, wrong: Wrong) -> Read {
    Err(Fault { name: Some(name.to_owned()).filter(|name| !name.is_empty()), wrong })
}
