//! Replies that try to break the parser: no panic, no endless wait, no more memory than the limits allow.

use std::{sync::Arc, time::Duration};

use toolyard_agent::{
    model::ModelStopReason,
    prompted::{
        check::{CountingIds, ParsedReply, check_reply, parse_pieces, sample_tools},
        parse::{ParseEvent, ReplyParser, limits},
    },
};

const MIB: usize = 1024 * 1024;
/// Very generous, for slow and busy machines: quadratic time would take minutes.
const SOON: Duration = Duration::from_secs(30);

/// Feeds one character at a time and drops the events.
fn feed(reply: &str) -> (usize, usize) {
    let began = tokio::time::Instant::now();
    let mut parser = ReplyParser::new(sample_tools(), Arc::new(CountingIds::default()));
    let (mut text, mut others) = (0, 0);
    let mut count = |events: Vec<ParseEvent>| {
        for event in events {
            if let ParseEvent::Text(shown) = event { text += shown.len() } else { others += 1 }
        }
    };
    for c in reply.chars() {
        count(parser.push(c.encode_utf8(&mut [0; 4])));
    }
    count(parser.finish(ModelStopReason::Done));
    assert!(
        began.elapsed() < SOON,
        "{:?} for {:?}…",
        began.elapsed(),
        reply.chars().take(24).collect::<String>()
    );
    (text, others)
}

#[test]
fn a_mebibyte_of_openings_is_read_quickly() {
    for piece in ["<", "{", "[", "```", "<tool>"] {
        feed(&piece.repeat(MIB / piece.len()));
    }
}

/// Shorter, because there are many: quadratic time still shows.
const MUCH: usize = MIB / 16;

#[test]
fn much_of_anything_is_read_quickly() {
    for piece in [
        "`",
        "~",
        "\"",
        "'",
        "\\",
        " ",
        "\n",
        "\t",
        "\r",
        "é",
        ">",
        ">>>",
        "a\n",
        "<tool",
        "<tool>",
        "<tool>\n",
        "<tool>{",
        "<tool>{\"",
        "\n<tool>{\"",
        "<tool>{}</tool>",
        "<tool></tool>",
        "<tool_call>",
        "\n<tool_call>\n<function=",
        "\n<function=f>",
        "<function=f> ",
        "[TOOL_CALLS]",
        "[TOOL_CALLS][",
        "a[TOOL_CALLS][{",
        "<think>",
        "</think>",
        "<think></think>",
        "<|channel|>",
        "<|channel|>final",
        "<|start|>assistant",
        "<|im_end|>",
        "</s> ",
        "x</s>",
        "functools[",
        "[calculator(",
        "{\"name\":",
        "{\"name\":\"calculator\",\"arguments\":{",
        "calculator\n{",
        ">>>calculator\n{}",
        "all\n",
        "```json\n",
        "```\n{",
        "<｜tool▁calls▁begin｜>",
        "a<|tool_call>call:f{",
        "<tool>\n\n\n\n\n\n\n\n",
        "<tool_result name=\"",
        "<minimax:tool_call><invoke name=\"",
        "a\n ",
        "/*",
        "<tool>{/*",
    ] {
        feed(&piece.repeat(MUCH / piece.len()));
    }
}

#[test]
fn much_behind_an_open_call_is_read_quickly() {
    for open in [
        "<tool>{\"",
        "<tool>[",
        "<tool>```",
        "<tool_call>\n<function=f><parameter=a>",
        "<function=f>",
        "<tool_call>f<arg_key>",
        "<|channel|>commentary to=functions.f<|message|>{",
        "[TOOL_CALLS]f[ARGS]{",
        "<|python_tag|>{",
        "<|tool_call>call:f{",
        "```json\n{\"name\":",
        "{\"name\":\"calculator\",\"arguments\":{\"expression\":\"",
        "[calculator(",
        "<think>",
        "calculator\n{\"expression\":",
        "<|python_tag|>f(",
    ] {
        for piece in [
            "x",
            " ",
            "</tool>",
            "</tool",
            "\"",
            "{",
            "\\",
            "<|\"|>",
            "</parameter>",
            "\n<tool>{\"",
            "{\"a\":1,",
            "'a',",
        ] {
            let reply = format!("{open}{}", piece.repeat((limits::MAX_CALL_BYTES + 8 * 1024) / piece.len()));
            feed(&reply);
        }
    }
}

/// The largest bodies that are repaired, in the forms that are worst for it.
#[test]
fn repair_is_quick_on_the_largest_calls() {
    for piece in [
        ",",
        "a,",
        "'a',",
        "\"a\" ",
        "[],",
        "{a:1},",
        "a b ",
        "\"\"",
        "//\n",
        "\u{a0}",
        "\"a\"b\",",
        "1 ",
        "\\\"",
        "+",
        "a:",
    ] {
        let room = limits::MAX_CALL_BYTES - 200;
        let body = format!(
            "{{'name':'calculator','arguments':{{'expression':[{}]}}}}",
            piece.repeat(room / piece.len())
        );
        feed(&format!("<tool>{body}</tool>"));
    }
}

fn problems(parsed: &ParsedReply) -> Vec<&str> {
    parsed.bad.iter().map(|(_, _, problem)| problem.as_str()).collect()
}

#[test]
fn the_size_of_a_call_is_bounded() {
    let call = |size: usize| {
        let around = r#"{"name":"write_file","arguments":{"path":""}}"#.len();
        let path = "x".repeat(size - around);
        format!("A\n<tool>{{\"name\":\"write_file\",\"arguments\":{{\"path\":\"{path}\"}}}}</tool>\nB")
    };
    // The closing tag counts, up to its last character.
    let largest = limits::MAX_CALL_BYTES - "</tool".len();
    let fits = parse_pieces([call(largest).as_str()], ModelStopReason::Done);
    assert_eq!((fits.calls.len(), fits.bad.len(), fits.text.as_str()), (1, 0, "A\nB"));
    let long = parse_pieces([call(largest + 1).as_str()], ModelStopReason::Done);
    assert_eq!((long.calls.len(), long.text.as_str()), (0, "A\nB"));
    assert_eq!(problems(&long), ["the call is longer than 64 KiB; send less at once"]);
    assert_eq!(long.bad[0].1.as_deref(), Some("write_file"));
}

#[test]
fn the_depth_of_json_is_bounded() {
    let call = |depth: usize| {
        // The envelope and the arguments are two levels.
        let nested = format!("{}{}", "[".repeat(depth - 2), "]".repeat(depth - 2));
        format!("<tool>{{\"name\":\"read_file\",\"arguments\":{{\"lines\":{nested}}}}}</tool>")
    };
    assert_eq!(parse_pieces([call(limits::MAX_DEPTH).as_str()], ModelStopReason::Done).calls.len(), 1);
    let deep = parse_pieces([call(limits::MAX_DEPTH + 1).as_str()], ModelStopReason::Done);
    assert_eq!(problems(&deep), ["the JSON is nested deeper than 64"]);
    let python = format!(
        "<|tool_call_start|>[read_file(lines={}{})]<|tool_call_end|>",
        "[".repeat(500),
        "]".repeat(500)
    );
    assert_eq!(
        problems(&parse_pieces([python.as_str()], ModelStopReason::Done)),
        ["the JSON is nested deeper than 64"]
    );
}

#[test]
fn the_number_of_calls_is_bounded() {
    let call = "<tool>{\"name\":\"current_time\",\"arguments\":{}}</tool>\n";
    let most = parse_pieces([call.repeat(limits::MAX_CALLS).as_str()], ModelStopReason::Done);
    assert_eq!((most.calls.len(), most.bad.len()), (limits::MAX_CALLS, 0));
    let more = parse_pieces(
        [format!("{}Done.", call.repeat(limits::MAX_CALLS + 5)).as_str()],
        ModelStopReason::Done,
    );
    assert_eq!((more.calls.len(), more.text.as_str()), (limits::MAX_CALLS, "Done."));
    assert_eq!(problems(&more), ["more than 32 calls in one reply; the others were not run"]);
    let list = format!("<tool>[{}{{}}]</tool>", "{\"name\":\"current_time\"},".repeat(limits::MAX_CALLS + 5));
    let list = parse_pieces([list.as_str()], ModelStopReason::Done);
    assert_eq!((list.calls.len(), list.bad.len()), (limits::MAX_CALLS, 1));
}

#[test]
fn what_waits_for_a_bare_call_is_bounded() {
    let reply = format!(
        "{{\"name\":\"calculator\",\"arguments\":{{\"expression\":\"{}",
        "1".repeat(limits::MAX_HELD_BYTES)
    );
    let mut parser = ReplyParser::new(sample_tools(), Arc::new(CountingIds::default()));
    let shown: usize = parser
        .push(&reply)
        .iter()
        .map(|event| if let ParseEvent::Text(text) = event { text.len() } else { 0 })
        .sum();
    assert_eq!(shown, reply.len(), "past the bound it is text, and shown");
    let all = format!("{reply}\"}}}}");
    assert_eq!(parse_pieces([all.as_str()], ModelStopReason::Done).text, all);
}

#[test]
fn what_waits_for_a_marker_is_bounded() {
    let reply = format!("<tool>{}", " ".repeat(limits::MAX_OPENING_BYTES));
    assert_eq!(parse_pieces([reply.as_str(), "{}"], ModelStopReason::Done).text, format!("{reply}{{}}"));
    let header = format!("<|channel|>commentary to=functions.{}", "x".repeat(limits::MAX_OPENING_BYTES));
    assert_eq!(parse_pieces([header.as_str()], ModelStopReason::Done).text, header);
    let name = format!("<tool_call>{}", "n".repeat(limits::MAX_NAME_BYTES + 1));
    assert_eq!(parse_pieces([name.as_str()], ModelStopReason::Done).text, name);
    let trailer = format!("x</s>{}y", " ".repeat(500));
    assert_eq!(parse_pieces([trailer.as_str()], ModelStopReason::Done).text, trailer);
}

#[test]
fn what_a_bad_call_shows_is_bounded() {
    let name = "n".repeat(5000);
    let reply = format!("<tool>{{\"name\":\"{name}\",\"arguments\":{{}}}}</tool>");
    let mut parser = ReplyParser::new(sample_tools(), Arc::new(CountingIds::default()));
    let events = parser.push(&reply);
    let [ParseEvent::BadCall(bad)] = events.as_slice() else { panic!("{events:?}") };
    assert!(bad.text.len() <= limits::MAX_SHOWN_BYTES + '…'.len_utf8());
    assert!(bad.name.as_ref().unwrap().len() <= limits::MAX_NAME_BYTES + '…'.len_utf8());
    assert!(bad.problem.len() < 400, "{}", bad.problem);
}

#[test]
fn end_tokens_are_swallowed_at_the_end_only() {
    for (reply, text) in [
        ("Hi.<|im_end|>", "Hi."),
        ("Hi.<|eot_id|>\n</s>\n", "Hi."),
        ("```\nx\n```<|im_end|>", "```\nx\n```"),
        ("a </s> b", "a </s> b"),
        ("<|im_end|>", ""),
        ("Hi.\n  </s>", "Hi.\n"),
    ] {
        assert_eq!(parse_pieces([reply], ModelStopReason::Done).text, text, "{reply:?}");
        check_reply(reply, &(0..reply.len()).collect::<Vec<_>>(), ModelStopReason::Done).unwrap();
    }
}
