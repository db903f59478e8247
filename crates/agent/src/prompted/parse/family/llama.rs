//! Llama 3 behind its tag, and Functionary 3.2, which is built on it.

use super::pythonic;
use crate::prompted::parse::{
    envelope::{self, Read, named},
    json,
    tools::Tools,
};

/// JSON; or what the code interpreter would get, of which only a call of a tool is understood.
pub(super) fn python_tag(body: &str, tools: &Tools) -> Vec<Read> {
    let body = json::bare(body);
    if body.starts_with('{') || body.starts_with("[{") {
        envelope::calls(body, tools)
    } else {
        pythonic::read(body, tools)
    }
}

/// A name, a line break, the arguments.
pub(super) fn functionary(body: &str, tools: &Tools) -> Read {
    let (name, arguments) = body.split_once('\n').unwrap_or((body, ""));
    named(name, json::arguments(arguments), tools)
}
