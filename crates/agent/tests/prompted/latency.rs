//! Text is shown as soon as it cannot become a call.

use std::sync::Arc;

use toolyard_agent::prompted::{
    check::{CountingIds, sample_tools},
    parse::{ParseEvent, ReplyParser},
};

/// The text that is shown after the last character, before the end of the reply.
fn shown(reply: &str) -> String {
    let mut parser = ReplyParser::new(sample_tools(), Arc::new(CountingIds::default()));
    let events = reply.chars().flat_map(|c| parser.push(c.encode_utf8(&mut [0; 4])));
    events.map(|event| if let ParseEvent::Text(text) = event { text } else { String::new() }).collect()
}

#[test]
fn prose_does_not_wait() {
    for reply in [
        "Hello",
        "Hello, wor",
        "a\nb",
        "if a < b",
        "[see",
        "{\"answer\"",
        "{ so",
        "```python\nx",
        "```json\n{\"answer\":",
        "calculus",
        "all of",
        "x <b> y",
        "<table",
        "- item",
        "`<tool>{",
        "```\n<tool>{",
    ] {
        assert_eq!(shown(reply), reply);
    }
}

#[test]
fn what_may_become_a_call_waits() {
    for (reply, now) in [
        ("a\n<too", "a\n"),
        ("a\n  <tool>\n", "a\n"),
        ("a <too", "a <too"),
        ("a<|pyth", "a"),
        ("a <|pyth", "a <|pyth"),
        ("done.<|im_en", "done."),
        ("done.</s>\n", "done."),
        ("done.</s> x", "done.</s> x"),
        ("{\"name\": \"Ada\"", ""),
        ("{\"nam", ""),
        ("[calc", ""),
        ("calcul", ""),
        ("```json\n{\"name\":", ""),
        ("a\n  ", "a\n"),
        ("a\n    ", "a\n    "),
    ] {
        assert_eq!(shown(reply), now, "{reply:?}");
    }
}
