//! A readable diff of two definitions: plain lines with `+` and `-`.
//!
//! Texts are compared word by word, everything else pointer by pointer. Invisible characters are written as `<U+200B>`.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use toolyard_protocol::text::truncate_chars;

use crate::{
    digest::without_excluded,
    excerpt::show_invisible,
    word_diff::{DiffPiece, diff_words},
};

/// Maximum number of lines. If there are more, the last one says so.
pub const MAX_DIFF_LINES: usize = 400;
/// Longest line, in characters.
pub const MAX_LINE_CHARS: usize = 400;
/// Words of unchanged text shown on each side of a change.
const CONTEXT_WORDS: usize = 8;

/// What a line of a diff says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[expect(missing_docs, reason = "the names say it")]
pub enum DiffLineKind {
    Place,
    Context,
    Removed,
    Added,
}

/// One line of a diff.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DiffLine {
    /// What it says.
    pub kind: DiffLineKind,
    /// Its text, without the sign in front.
    pub text: String,
}

impl std::fmt::Display for DiffLine {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let sign = match self.kind {
            DiffLineKind::Place => "@",
            DiffLineKind::Context => " ",
            DiffLineKind::Removed => "-",
            DiffLineKind::Added => "+",
        };
        write!(f, "{sign} {}", self.text)
    }
}

/// The lines that differ between two versions of a definition.
pub fn diff_definitions(old: &Value, new: &Value) -> Vec<DiffLine> {
    let mut diff = DiffWriter { lines: Vec::new(), overflow: false };
    diff.compare("", Some(&without_excluded(old)), Some(&without_excluded(new)));
    if diff.overflow {
        diff.lines.truncate(MAX_DIFF_LINES - 1);
        diff.lines.push(DiffLine { kind: DiffLineKind::Place, text: "the rest is not shown".to_owned() });
    }
    diff.lines
}

/// The lines that differ between two texts, for instructions and pages.
pub fn diff_texts(old: &str, new: &str) -> Vec<DiffLine> {
    let text = |text: &str| Value::String(text.to_owned());
    let mut diff = DiffWriter { lines: Vec::new(), overflow: false };
    if old != new {
        diff.write_texts(&text(old), &text(new));
    }
    diff.lines
}

struct DiffWriter {
    lines: Vec<DiffLine>,
    overflow: bool,
}

impl DiffWriter {
    fn compare(&mut self, pointer: &str, old: Option<&Value>, new: Option<&Value>) {
        if old == new || self.overflow {
            return;
        }
        match (old, new) {
            (Some(Value::Object(old)), Some(Value::Object(new))) => {
                let added = new.keys().filter(|name| !old.contains_key(*name));
                for name in old.keys().chain(added) {
                    let pointer = format!("{pointer}/{}", name.replace('~', "~0").replace('/', "~1"));
                    self.compare(&pointer, old.get(name), new.get(name));
                }
            }
            (Some(Value::Array(old)), Some(Value::Array(new))) => {
                for index in 0..old.len().max(new.len()) {
                    self.compare(&format!("{pointer}/{index}"), old.get(index), new.get(index));
                }
            }
            (old, new) => {
                self.push(DiffLineKind::Place, pointer);
                match (old, new) {
                    (Some(old @ Value::String(_)), Some(new @ Value::String(_))) => {
                        self.write_texts(old, new)
                    }
                    _ => {
                        self.write_value(DiffLineKind::Removed, old);
                        self.write_value(DiffLineKind::Added, new);
                    }
                }
            }
        }
    }

    fn write_value(&mut self, kind: DiffLineKind, value: Option<&Value>) {
        match value {
            None => {}
            Some(Value::String(text)) => self.push(kind, text),
            Some(other) => {
                let pretty = serde_json::to_string_pretty(other).unwrap_or_default();
                pretty.lines().for_each(|line| self.push(kind, line));
            }
        }
    }

    fn write_texts(&mut self, old: &Value, new: &Value) {
        let (Value::String(old), Value::String(new)) = (old, new) else { return };
        let pieces = diff_words(old, new);
        let last = pieces.len().saturating_sub(1);
        for (number, piece) in pieces.into_iter().enumerate() {
            match piece {
                DiffPiece::Same(text) => {
                    self.push(DiffLineKind::Context, &shorten_context(&text, number == 0, number == last));
                }
                DiffPiece::Removed(text) => self.push(DiffLineKind::Removed, &text),
                DiffPiece::Added(text) => self.push(DiffLineKind::Added, &text),
            }
        }
    }

    fn push(&mut self, kind: DiffLineKind, text: &str) {
        // A new line in a text starts a new line of the diff, with the same sign. Whitespace alone is shown as such.
        let text = if text.trim().is_empty() && !text.is_empty() {
            text.escape_debug().to_string()
        } else {
            text.to_owned()
        };
        for line in text.lines() {
            if self.lines.len() == MAX_DIFF_LINES {
                self.overflow = true;
                return;
            }
            // Cut first: what is shown is bounded, and writing characters out makes a text longer.
            let shown = show_invisible(&truncate_chars(line, MAX_LINE_CHARS)).replace(['\r', '\t'], " ");
            self.lines.push(DiffLine { kind, text: truncate_chars(&shown, MAX_LINE_CHARS).into_owned() });
        }
    }
}

/// Unchanged text next to a change, without its middle.
fn shorten_context(text: &str, is_first: bool, is_last: bool) -> String {
    let words: Vec<&str> = text.split_whitespace().collect();
    let head = if is_first { 0 } else { CONTEXT_WORDS };
    let tail = if is_last { 0 } else { CONTEXT_WORDS };
    if words.len() <= head + tail {
        return words.join(" ");
    }
    let (start, end) = (words[..head].join(" "), words[words.len() - tail..].join(" "));
    [start.as_str(), "…", end.as_str()]
        .into_iter()
        .filter(|part| !part.is_empty())
        .collect::<Vec<_>>()
        .join(" ")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn lines(old: &Value, new: &Value) -> Vec<String> {
        diff_definitions(old, new).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn texts_are_shown_word_by_word_and_values_by_pointer() {
        let old = json!({ "name": "a", "description": "Adds one todo to the list of the user.",
            "annotations": { "readOnlyHint": false }, "inputSchema": { "properties": { "x": { "type": "string" } } } });
        let new = json!({ "name": "a", "description": "Adds one todo to the\u{200b} shared list of the user.",
            "annotations": { "readOnlyHint": true }, "inputSchema": { "properties": { "y/z": { "type": "string" } } } });
        assert_eq!(
            lines(&old, &new),
            [
                "@ /description",
                "  Adds one todo to",
                "- the ",
                "+ the<U+200B> shared ",
                "  list of the user.",
                "@ /annotations/readOnlyHint",
                "- false",
                "+ true",
                "@ /inputSchema/properties/x",
                "- {",
                "-   \"type\": \"string\"",
                "- }",
                "@ /inputSchema/properties/y~1z",
                "+ {",
                "+   \"type\": \"string\"",
                "+ }",
            ]
        );
        assert_eq!(lines(&old, &old), Vec::<String>::new());
    }

    #[test]
    fn unchanged_text_is_shortened() {
        let base = "word ".repeat(100);
        let shown: Vec<_> = diff_texts(&format!("{base}old"), &format!("{base}new"))
            .iter()
            .map(ToString::to_string)
            .collect();
        assert_eq!(shown, [format!("  … {}", "word ".repeat(8).trim_end()), "- old".into(), "+ new".into()]);
    }

    #[test]
    fn a_diff_is_bounded() {
        let many = |value: &str| {
            let members: serde_json::Map<_, _> =
                (0..2_000).map(|n| (format!("m{n}"), json!(value))).collect();
            Value::Object(members)
        };
        let shown = diff_definitions(&many("a"), &many(&"\u{200b}".repeat(10_000)));
        assert_eq!(shown.len(), MAX_DIFF_LINES);
        assert_eq!(shown[MAX_DIFF_LINES - 1].text, "the rest is not shown");
        assert!(shown.iter().all(|line| line.text.chars().count() <= MAX_LINE_CHARS + 1));
    }

    #[test]
    fn changed_whitespace_is_visible() {
        let shown: Vec<_> = diff_texts("a b", "a  b").iter().map(ToString::to_string).collect();
        assert!(shown.iter().any(|line| line.starts_with('+')), "{shown:?}");
    }
}
