//! Parsing text between tags.

use crate::prompted::parse::problem::CallProblem;

/// The text between two tags at the beginning, and the text after them. An unclosed tag counts as cut.
pub(super) fn text_between<'a>(
    text: &'a str,
    open: &str,
    close: &str,
) -> Result<(&'a str, &'a str), CallProblem> {
    match text.strip_prefix(open) {
        Some(inside) => inside.split_once(close).ok_or(CallProblem::Cut),
        None if open.starts_with(text) => Err(CallProblem::Cut),
        None => Err(CallProblem::Shape),
    }
}

/// The text after one of these tags, if it begins with one.
pub(super) fn strip_tag<'a>(text: &'a str, tags: &[&str]) -> Option<&'a str> {
    tags.iter().find_map(|tag| text.strip_prefix(tag))
}
