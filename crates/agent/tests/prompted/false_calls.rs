//! Replies that talk about calls without making one.

use toolyard_agent::{
    model::ModelStopReason,
    prompted::check::{check_reply, parse_pieces},
};

const REPLIES: &str = include_str!("no_calls.txt");
const SEPARATOR: &str = "\n=====\n";
/// Fewest replies of the set.
const FEWEST: usize = 60;

fn replies() -> Vec<&'static str> {
    REPLIES.split(SEPARATOR).collect()
}

#[test]
fn examples_are_not_calls() {
    assert!(replies().len() >= FEWEST, "{}", replies().len());
    for reply in replies() {
        let parsed = parse_pieces([reply], ModelStopReason::Done);
        assert!(parsed.calls.is_empty() && parsed.bad.is_empty(), "{reply}\n{parsed:?}");
        assert_eq!(parsed.text, reply.trim_start_matches('\n'), "nothing of it is lost");
        assert!(parsed.reasoning.is_empty());
    }
}

#[test]
fn examples_are_not_calls_behind_other_text() {
    for reply in replies() {
        for before in ["Sure.\n\n", "<think>x</think>\n", "Sure: "] {
            let text = format!("{before}{reply}");
            let parsed = parse_pieces([text.as_str()], ModelStopReason::Done);
            assert!(parsed.calls.is_empty() && parsed.bad.is_empty(), "{text}\n{parsed:?}");
        }
    }
}

#[test]
fn cuts_change_nothing_here_either() {
    for reply in replies() {
        let every: Vec<_> = (0..reply.len()).collect();
        check_reply(reply, &every, ModelStopReason::Done).unwrap();
        every.iter().for_each(|cut| drop(check_reply(reply, &[*cut], ModelStopReason::Length).unwrap()));
    }
}

/// The other side of the rule: a line that begins with a marker is a call, whatever precedes that line.
#[test]
fn a_call_on_its_own_line_is_one_behind_any_closed_example() {
    for reply in replies().into_iter().filter(|reply| !reply.starts_with("I never closed")) {
        let text = format!("{reply}\n\n<tool>{{\"name\":\"calculator\",\"arguments\":{{}}}}</tool>");
        assert_eq!(parse_pieces([text.as_str()], ModelStopReason::Done).calls.len(), 1, "{text}");
    }
}
