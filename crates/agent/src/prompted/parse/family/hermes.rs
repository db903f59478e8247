//! `<tool_call>`: three families use this tag, and its first characters tell which.

use super::{function_tag, glm};
use crate::prompted::parse::{
    body::BodyEnd,
    envelope::{self, CallParseResult},
    json,
    tools::CallableTools,
};

pub(super) fn parse_hermes(body: &str, end: BodyEnd, tools: &CallableTools) -> Vec<CallParseResult> {
    let inside = json::strip_wrapping(body);
    if inside.starts_with("<function=") {
        function_tag::parse_functions(inside, tools)
    } else if inside.is_empty() || inside.contains(['{', '[']) && !inside.contains("<arg_key>") {
        envelope::parse_calls(inside, tools)
    } else {
        vec![glm::parse_glm(body, end, tools)]
    }
}
