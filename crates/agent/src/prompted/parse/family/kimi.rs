//! Kimi K2: the id says which tool, `functions.N:0`. The id itself is not kept: ids are ours.

use crate::prompted::parse::{
    envelope::{Read, named},
    json,
    tools::Tools,
    wrong::Wrong,
};

const ARGUMENTS: &str = "<|tool_call_argument_begin|>";

pub(super) fn read(body: &str, tools: &Tools) -> Read {
    let (id, arguments) = match body.split_once(ARGUMENTS) {
        Some((id, arguments)) => (id, json::arguments(arguments)),
        None => (body.split_once('<').map_or(body, |(id, _)| id), Err(Wrong::Cut)),
    };
    named(name_of(id.trim()), arguments, tools)
}

fn name_of(id: &str) -> &str {
    match id.rsplit_once(':') {
        Some((name, count)) if !count.is_empty() && count.bytes().all(|digit| digit.is_ascii_digit()) => name,
        Some(_) | None => id,
    }
}
