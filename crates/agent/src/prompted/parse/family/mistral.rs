//! Mistral: once a list of calls, now a name and its arguments behind each marker.

use crate::prompted::parse::{
    envelope::{self, Read, named},
    json,
    tools::Tools,
    wrong::Wrong,
};

pub(super) fn read(body: &str, tools: &Tools) -> Vec<Read> {
    let body = body.trim_start();
    if body.starts_with(['[', '{', '`']) {
        return envelope::calls(body, tools);
    }
    let name = body[..body.find(['[', '{']).unwrap_or(body.len())].trim();
    let arguments = body.find('{').map_or(Err(Wrong::Cut), |start| json::arguments(&body[start..]));
    vec![named(name, arguments, tools)]
}
