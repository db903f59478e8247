//! Harmony of GPT-OSS: the header names the tool, the message is its arguments.

use crate::prompted::parse::{
    envelope::{Read, named},
    json,
    tools::Tools,
};

pub(super) fn read(name: &str, body: &str, tools: &Tools) -> Read {
    named(name, json::arguments(body), tools)
}
