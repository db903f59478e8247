//! Which single changes are harmless. The module above lists them; here is the reasoning.

use serde_json::Value;
use unicode_normalization::UnicodeNormalization as _;

use super::ChangeClass::{self, Harmless, NeedsAcceptance};
use crate::excerpt::is_hidden;

/// More new whitespace than this can push a text out of sight.
const MAX_ADDED_WHITESPACE: usize = 64;

/// Compares two versions of a text that a model reads.
///
/// Only the spelling of the same words is harmless. Punctuation inside a text is not: it decides which words belong
/// together ("No: delete" and "No delete"). Letter case is not: "NOT" and "IMPORTANT" are louder for a model. A shorter text
/// is not: the missing words can be a warning.
pub(super) fn judge_text(old: &str, new: &str) -> (ChangeClass, &'static str) {
    if new.chars().any(is_hidden) {
        return (NeedsAcceptance, "the text has invisible characters");
    }
    if new.len() > old.len() + MAX_ADDED_WHITESPACE || spelled_words(old) != spelled_words(new) {
        return (NeedsAcceptance, "the words changed, and models read them");
    }
    (Harmless, "only whitespace, typographic characters or the final period changed")
}

/// The words of a text with plain quotes and dashes, without a final period.
fn spelled_words(text: &str) -> Vec<String> {
    let plain: String = text.chars().map(plain_character).nfc().collect();
    let plain = plain.trim_end_matches([' ', '\t', '\r', '\n']);
    let plain = plain.strip_suffix('.').filter(|rest| !rest.ends_with('.')).unwrap_or(plain);
    plain.split([' ', '\t', '\r', '\n']).filter(|word| !word.is_empty()).map(str::to_owned).collect()
}

/// Editors replace these on their own.
fn plain_character(char: char) -> char {
    match char {
        '\u{2018}' | '\u{2019}' => '\'',
        '\u{201c}' | '\u{201d}' => '"',
        '\u{2010}' | '\u{2011}' | '\u{2013}' | '\u{2014}' => '-',
        '\u{a0}' => ' ',
        other => other,
    }
}

/// Compares two versions of a hint.
///
/// A hint is a promise of an untrusted party. It may take back a promise without asking, but not make one: `readOnlyHint:
/// true` lets a call run without a question.
pub(super) fn judge_annotation(
    name: &str,
    old: Option<&Value>,
    new: Option<&Value>,
) -> (ChangeClass, &'static str) {
    let ranks = (guard_rank(name, old), guard_rank(name, new));
    match ranks {
        (Some(old), Some(new)) if new >= old => (Harmless, "the annotation did not become weaker"),
        (Some(_), Some(_)) => (NeedsAcceptance, "the annotation became weaker, so fewer calls would ask"),
        _ => (NeedsAcceptance, "the annotation is unknown or not a boolean"),
    }
}

/// How much caution a hint asks for. An absent `destructiveHint` asks for less than a true one, although MCP reads both as
/// true: many policies ask only for tools that are explicitly destructive.
fn guard_rank(name: &str, value: Option<&Value>) -> Option<u8> {
    let value = match value {
        None | Some(Value::Null) => None,
        Some(Value::Bool(value)) => Some(*value),
        Some(_) => return None,
    };
    match (name, value) {
        ("readOnlyHint" | "idempotentHint", Some(true)) => Some(0),
        ("readOnlyHint" | "idempotentHint", _) => Some(1),
        ("destructiveHint" | "openWorldHint", Some(false)) => Some(0),
        ("destructiveHint" | "openWorldHint", None) => Some(1),
        ("destructiveHint" | "openWorldHint", Some(true)) => Some(2),
        _ => None,
    }
}
