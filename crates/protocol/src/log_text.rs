//! Text for a log line. External text must not end the line, start another one, or control a terminal.

use std::{borrow::Cow, fmt::Write as _};

use crate::user_id::is_invisible;

/// Escapes each invisible character as JSON does, so that a line of a JSON log
/// stays valid JSON.
pub fn escape_invisible(text: &str) -> Cow<'_, str> {
    if !text.chars().any(is_invisible) {
        return Cow::Borrowed(text);
    }
    let mut escaped = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        match c {
            '\n' => escaped.push_str("\\n"),
            '\r' => escaped.push_str("\\r"),
            '\t' => escaped.push_str("\\t"),
            c if is_invisible(c) => {
                for unit in c.encode_utf16(&mut [0; 2]) {
                    let _ = write!(escaped, "\\u{unit:04x}");
                }
            }
            c => escaped.push(c),
        }
    }
    Cow::Owned(escaped)
}

/// Escapes one log line: only its last character may be a line break.
pub fn escape_line(line: &str) -> Cow<'_, str> {
    match line.strip_suffix('\n') {
        Some(body) => match escape_invisible(body) {
            Cow::Borrowed(_) => Cow::Borrowed(line),
            Cow::Owned(mut escaped) => {
                escaped.push('\n');
                Cow::Owned(escaped)
            }
        },
        None => escape_invisible(line),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_breaks_out_of_its_line() {
        for (text, escaped) in [
            ("plain \u{e4}\u{1f600}", "plain \u{e4}\u{1f600}"),
            ("a\nINFO forged", "a\\nINFO forged"),
            ("a\r\nb\tc", "a\\r\\nb\\tc"),
            ("\u{1b}[31mred\u{7}", "\\u001b[31mred\\u0007"),
            ("\u{85}\u{2028}\u{2029}\u{202e}\u{200b}", "\\u0085\\u2028\\u2029\\u202e\\u200b"),
            ("\u{e0041}", "\\udb40\\udc41"),
            ("\u{0}", "\\u0000"),
        ] {
            assert_eq!(escape_invisible(text), escaped);
            assert_eq!(escape_line(&format!("{text}\n")), format!("{escaped}\n"));
        }
        assert!(matches!(escape_line("plain\n"), Cow::Borrowed(_)));
    }

    #[test]
    fn a_line_of_json_stays_json() {
        let line = format!("{{\"a\":\"{}\"}}\n", "\u{7f}\u{9b}\u{2028}\u{e0041}");
        let read: serde_json::Value = serde_json::from_str(&escape_line(&line)).unwrap();
        assert_eq!(read["a"], "\u{7f}\u{9b}\u{2028}\u{e0041}");
    }
}
