//! DeepSeek V3 (`function`, separator, name, fenced JSON) and V3.1 (name, separator, JSON).

use crate::prompted::parse::{
    envelope::{Read, named},
    json,
    tools::Tools,
    wrong::Wrong,
};

const SEPARATOR: &str = "<｜tool▁sep｜>";
const KIND: &str = "function";

pub(super) fn read(body: &str, tools: &Tools) -> Read {
    let Some((head, rest)) = body.split_once(SEPARATOR) else {
        return named(head_of(body), Err(Wrong::Cut), tools);
    };
    if head.trim() == KIND && !rest.trim_start().starts_with('{') {
        let (name, arguments) = rest.trim_start().split_once('\n').unwrap_or((rest, ""));
        return named(name, json::arguments(arguments), tools);
    }
    named(head, json::arguments(rest), tools)
}

fn head_of(body: &str) -> &str {
    body.split_once('<').map_or(body, |(head, _)| head)
}
