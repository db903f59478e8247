//! `<tool_call>`: three families use the same tag, and what stands first in it tells which.

use super::{function_tag, glm};
use crate::prompted::parse::{
    body::BodyEnd,
    envelope::{self, Read},
    json,
    tools::Tools,
};

pub(super) fn read(body: &str, end: BodyEnd, tools: &Tools) -> Vec<Read> {
    let inside = json::bare(body);
    if inside.starts_with("<function=") {
        function_tag::read(inside, tools)
    } else if inside.is_empty() || inside.contains(['{', '[']) && !inside.contains("<arg_key>") {
        envelope::calls(inside, tools)
    } else {
        vec![glm::read(body, end, tools)]
    }
}
