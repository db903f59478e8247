//! Reading between tags.

use crate::prompted::parse::problem::CallProblem;

/// What stands between two tags at the beginning of a text, and what follows. A tag that is not closed is cut.
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

/// What follows one of these tags, if a text begins with it.
pub(super) fn strip_tag<'a>(text: &'a str, tags: &[&str]) -> Option<&'a str> {
    tags.iter().find_map(|tag| text.strip_prefix(tag))
}
