//! Reading between tags.

use crate::prompted::parse::wrong::Wrong;

/// What stands between two tags at the beginning of a text, and what follows. A tag that is not closed is cut.
pub(super) fn between<'a>(text: &'a str, open: &str, close: &str) -> Result<(&'a str, &'a str), Wrong> {
    match text.strip_prefix(open) {
        Some(inside) => inside.split_once(close).ok_or(Wrong::Cut),
        None if open.starts_with(text) => Err(Wrong::Cut),
        None => Err(Wrong::Shape),
    }
}

/// What follows one of these tags, if a text begins with it.
pub(super) fn skip<'a>(text: &'a str, tags: &[&str]) -> Option<&'a str> {
    tags.iter().find_map(|tag| text.strip_prefix(tag))
}
