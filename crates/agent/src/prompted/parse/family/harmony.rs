//! Harmony of GPT-OSS: the header names the tool, the message is its arguments.

use crate::prompted::parse::{
    envelope::{CallParseResult, resolve_call},
    json,
    tools::CallableTools,
};

pub(super) fn parse_harmony(name: &str, body: &str, tools: &CallableTools) -> CallParseResult {
    resolve_call(name, json::parse_arguments(body), tools)
}
