//! Every format with its expected result, however the stream is cut. `tests/corpus/<family>/<case>.txt` is a reply, and
//! the JSON file next to it is the expected result.

use std::{fs, path::Path};

use proptest::test_runner::{RngAlgorithm, TestRng};
use serde_json::{Value, json};
use toolyard_agent::{
    model::ModelStopReason,
    prompted::check::{ParsedReply, check_reply, parse_cut, parse_pieces},
};

/// Up to this size, every pair of cuts is tried.
const SMALL: usize = 48;
/// Random cuts of a larger one.
const CUTS: usize = 200;
/// Fewest cases of a family.
const FEWEST: usize = 5;

const FAMILIES: &[&str] = &[
    "anything",
    "deepseek",
    "dsml",
    "function_gemma",
    "function_tag",
    "functionary",
    "functools",
    "gemma",
    "glm",
    "harmony",
    "hermes",
    "kimi",
    "lfm2",
    "llama",
    "minimax",
    "mistral",
    "pythonic",
    "qwen_coder",
    "repair",
    "tool",
];

fn cases(family: &str) -> Vec<(String, String, Value)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/corpus").join(family);
    let mut cases: Vec<_> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|kind| kind == "txt"))
        .map(|path| {
            let expected = fs::read_to_string(path.with_extension("json")).unwrap();
            let name = format!("{family}/{}", path.file_stem().unwrap().to_str().unwrap());
            (name, fs::read_to_string(&path).unwrap(), serde_json::from_str(&expected).unwrap())
        })
        .collect();
    cases.sort_by(|one, other| one.0.cmp(&other.0));
    cases
}

fn stop_of(expected: &Value) -> ModelStopReason {
    match expected["stop"].as_str() {
        None => ModelStopReason::Done,
        Some("length") => ModelStopReason::Length,
        Some(other) => panic!("no such stop: {other}"),
    }
}

fn assert_case(name: &str, parsed: &ParsedReply, expected: &Value) {
    assert_eq!(parsed.text, expected["text"], "{name}: text; {parsed:?}");
    assert_eq!(parsed.reasoning, expected["reasoning"].as_str().unwrap_or_default(), "{name}: reasoning");
    let arguments = |text: &str| serde_json::from_str::<Value>(text).unwrap();
    let calls: Vec<_> = parsed
        .calls
        .iter()
        .map(|(_, name, given)| json!({"name": name, "arguments": arguments(given)}))
        .collect();
    assert_eq!(Value::Array(calls), expected["calls"], "{name}: calls; {parsed:?}");
    let bad = expected["bad"].as_array().unwrap();
    assert_eq!(parsed.bad.len(), bad.len(), "{name}: bad calls; {parsed:?}");
    for ((_, tool, problem), expected) in parsed.bad.iter().zip(bad) {
        assert_eq!(tool.as_deref(), expected["name"].as_str(), "{name}: name of a bad call; {parsed:?}");
        assert!(problem.contains(expected["problem"].as_str().unwrap()), "{name}: {problem}");
    }
    for (id, ..) in &parsed.calls {
        let rest = id.strip_prefix("call_").unwrap();
        assert!(rest.len() == 24 && rest.bytes().all(|byte| byte.is_ascii_alphanumeric()), "{name}: {id}");
    }
}

#[test]
fn every_form_is_read() {
    for family in FAMILIES {
        let cases = cases(family);
        assert!(cases.len() >= FEWEST, "{family} has {} cases", cases.len());
        for (name, reply, expected) in cases {
            assert_case(&name, &parse_pieces([reply.as_str()], stop_of(&expected)), &expected);
        }
    }
}

#[test]
fn no_family_is_forgotten() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/corpus");
    let mut found: Vec<_> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    found.sort();
    assert_eq!(found, FAMILIES);
}

#[test]
fn cuts_of_the_stream_change_nothing() {
    let mut rng = TestRng::deterministic_rng(RngAlgorithm::ChaCha);
    for (name, reply, expected) in FAMILIES.iter().flat_map(|family| cases(family)) {
        let stop = stop_of(&expected);
        let every: Vec<_> = (0..reply.len()).collect();
        let whole = check_reply(&reply, &every, stop).unwrap_or_else(|wrong| panic!("{name}: {wrong}"));
        let tried =
            |cuts: &[usize]| assert_eq!(parse_cut(&reply, cuts, stop), whole, "{name} cut at {cuts:?}");
        every.iter().for_each(|cut| tried(&[*cut]));
        if reply.len() <= SMALL {
            for first in 0..reply.len() {
                (first..reply.len()).for_each(|second| tried(&[first, second]));
            }
        }
        for _ in 0..CUTS {
            let count = 1 + random(&mut rng) % 8;
            tried(&(0..count).map(|_| random(&mut rng)).collect::<Vec<_>>());
        }
    }
}

fn random(rng: &mut TestRng) -> usize {
    use proptest::prelude::Rng as _;
    rng.next_u32() as usize
}

/// If a reply is cut anywhere, only its complete calls remain.
#[test]
fn a_cut_reply_never_makes_another_call() {
    for (name, reply, expected) in FAMILIES.iter().flat_map(|family| cases(family)) {
        let whole = parse_pieces([reply.as_str()], ModelStopReason::Done).calls;
        let whole: Vec<_> = whole.iter().map(|(_, name, arguments)| (name, value(arguments))).collect();
        // A bare call with text after it is text. Without that text it is a call.
        let is_text = expected["calls"] == json!([]) && expected["bad"] == json!([]);
        for at in (0..reply.len()).filter(|at| reply.is_char_boundary(*at)) {
            for stop in
                [ModelStopReason::Length, ModelStopReason::Done].into_iter().take(if is_text { 1 } else { 2 })
            {
                for (_, tool, arguments) in parse_pieces([&reply[..at]], stop).calls {
                    assert!(
                        whole.contains(&(&tool, value(&arguments))),
                        "{name} cut at {at} calls {tool} {arguments}"
                    );
                }
            }
        }
    }
}

fn value(json: &str) -> Value {
    serde_json::from_str(json).unwrap()
}
