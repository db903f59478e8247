//! Time that grows with the length of the text and not with what is in it. The measure of speed itself is the example
//! `scan_speed`; here a text that invites repeated work must not take minutes where a plain one takes milliseconds.

use std::time::{Duration, Instant};

use toolyard_redaction::find_secrets;

const LENGTH: usize = 1 << 20;

#[expect(clippy::disallowed_methods, reason = "it measures")]
fn fastest(text: &str) -> Duration {
    let mut best = Duration::MAX;
    for _ in 0..3 {
        let start = Instant::now();
        std::hint::black_box(find_secrets(text));
        best = best.min(start.elapsed());
    }
    best
}

#[test]
fn texts_made_of_prefixes_take_no_more_than_a_multiple_of_plain_text() {
    let plain = fastest(&"the quick brown fox ".repeat(LENGTH / 20));
    for piece in [
        "-eyJ",
        "_eyJ-",
        "sk-",
        "sk-ant-",
        "glpat-",
        "://a:",
        "://a@",
        "-----BEGIN PRIVATE KEY-----",
        "SG.",
        "AccountKey=",
        "Authorization: Bearer ",
        "secretAccessKey=",
        "1//0",
        ":AA",
        "Q~",
        "Private-Lines: 9\n",
        "sig=%41",
        "ghs_1_eyJ",
    ] {
        let hostile = fastest(&piece.repeat(LENGTH / piece.len()));
        assert!(hostile < plain * 60 + Duration::from_secs(2), "{piece}: {hostile:?}, plain text: {plain:?}");
    }
}
