//! Random replies, made of the parts of calls. `PROPTEST_CASES` makes it run longer.

#![cfg(test)]

use std::{fs, path::Path};

use proptest::prelude::*;
use toolyard_agent::{model::ModelStopReason, prompted::check::check_reply};

/// Cases without `PROPTEST_CASES`.
const CASES: u32 = 2_000;
/// The default of proptest.
const UNASKED: u32 = 256;

/// Parts of calls, and of texts about calls.
const PIECES: &[&str] = &[
    "<tool>",
    "</tool>",
    "<tool_call>",
    "</tool_call>",
    "<function=",
    "calculator",
    ">",
    "</function>",
    "<parameter=",
    "expression",
    "</parameter>",
    "<arg_key>",
    "</arg_key>",
    "<arg_value>",
    "</arg_value>",
    "<|python_tag|>",
    "<|tool_call_start|>",
    "<|tool_call_end|>",
    "[TOOL_CALLS]",
    "[ARGS]",
    "functools[",
    "<start_function_call>",
    "call:",
    "<escape>",
    "<end_function_call>",
    "<|tool_call>",
    "<|\"|>",
    "<tool_call|>",
    "<｜tool▁calls▁begin｜>",
    "<｜tool▁call▁begin｜>",
    "function",
    "<｜tool▁sep｜>",
    "<｜tool▁call▁end｜>",
    "<｜tool▁calls▁end｜>",
    "<｜DSML｜function_calls>",
    "<｜DSML｜invoke name=\"",
    "<｜DSML｜parameter name=\"",
    "string=\"true\"",
    "</｜DSML｜parameter>",
    "</｜DSML｜invoke>",
    "<|tool_calls_section_begin|>",
    "<|tool_call_begin|>",
    "functions.",
    ":0",
    "<|tool_call_argument_begin|>",
    "<|channel|>",
    "commentary",
    "analysis",
    "final",
    " to=",
    "<|constrain|>json",
    "<|message|>",
    "<|call|>",
    "<|end|>",
    "<|start|>",
    "assistant",
    "<minimax:tool_call>",
    "<invoke name=\"",
    "\">",
    "<parameter name=\"",
    "</invoke>",
    "</minimax:tool_call>",
    "<think>",
    "</think>",
    "<tool_result name=\"",
    "</tool_result>",
    "<|im_end|>",
    "</s>",
    "<|eot_id|>",
    ">>>",
    "all\n",
    "{",
    "}",
    "[",
    "]",
    "(",
    ")",
    "{{",
    "}}",
    "\"",
    "'",
    "“",
    "”",
    "\\",
    ":",
    ",",
    ";",
    "=",
    "//",
    "/*",
    "*/",
    "#",
    "```",
    "```json\n",
    "`",
    "~~~",
    "\n",
    "\r\n",
    " ",
    "    ",
    "\t",
    "{\"name\":\"calculator\",\"arguments\":{\"expression\":\"1\"}}",
    "{\"name\":\"",
    "\",\"arguments\":{",
    "\"name\"",
    "\"arguments\"",
    "weather",
    "True",
    "None",
    "12",
    "é",
    "你好",
    "word ",
    "> ",
    "- ",
];

fn reply() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        8 => prop::sample::select(PIECES).prop_map(str::to_owned),
        1 => any::<String>().prop_map(|text| text.chars().take(8).collect()),
    ];
    prop::collection::vec(piece, 0..40).prop_map(|pieces| pieces.concat())
}

fn stop() -> impl Strategy<Value = ModelStopReason> {
    prop::sample::select(vec![
        ModelStopReason::Done,
        ModelStopReason::Calls,
        ModelStopReason::Length,
        ModelStopReason::Filtered,
        ModelStopReason::Other,
    ])
}

/// Replies of the corpus, as seeds.
fn seeds() -> Vec<String> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/corpus");
    let families = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let files = families.flat_map(|family| fs::read_dir(family).unwrap()).map(|entry| entry.unwrap().path());
    let mut replies: Vec<_> = files
        .filter(|path| path.extension().is_some_and(|kind| kind == "txt"))
        .map(|path| fs::read_to_string(path).unwrap())
        .collect();
    replies.sort();
    replies
}

/// A seed with random insertions and removals.
fn mutated() -> impl Strategy<Value = String> {
    let seed = prop::sample::select(seeds());
    (seed, any::<prop::sample::Index>(), any::<prop::sample::Index>(), prop::sample::select(PIECES)).prop_map(
        |(seed, at, length, piece)| {
            let start = seed.floor_char_boundary(at.index(seed.len() + 1));
            let end = seed.floor_char_boundary(start + length.index(8).min(seed.len() - start));
            format!("{}{piece}{}", &seed[..start], &seed[end.max(start)..])
        },
    )
}

fn config() -> ProptestConfig {
    // The default includes what the environment says.
    let default = ProptestConfig::default();
    let cases = if default.cases == UNASKED { CASES } else { default.cases };
    ProptestConfig { cases, failure_persistence: None, ..default }
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn made_up_replies_hold(reply in reply(), cuts in prop::collection::vec(any::<usize>(), 0..12), stop in stop()) {
        check_reply(&reply, &cuts, stop).map_err(TestCaseError::fail)?;
    }

    #[test]
    fn changed_seeds_hold(reply in mutated(), cuts in prop::collection::vec(any::<usize>(), 0..12), stop in stop()) {
        check_reply(&reply, &cuts, stop).map_err(TestCaseError::fail)?;
    }

    #[test]
    fn any_text_holds(reply in ".*", cuts in prop::collection::vec(any::<usize>(), 0..12), stop in stop()) {
        check_reply(&reply, &cuts, stop).map_err(TestCaseError::fail)?;
    }
}
