//! Long texts, cut for messages and logs.

use std::borrow::Cow;

const ELLIPSIS: &str = "…";

/// The first `max` characters of a text, followed by an ellipsis if something was cut.
pub fn truncate_chars(text: &str, max: usize) -> Cow<'_, str> {
    match text.char_indices().nth(max) {
        Some((end, _)) => Cow::Owned(format!("{}{ELLIPSIS}", &text[..end])),
        None => Cow::Borrowed(text),
    }
}

/// The beginning of a text in at most `max` bytes, followed by an ellipsis, which is included, if something was cut.
pub fn truncate_bytes(text: &str, max: usize) -> Cow<'_, str> {
    if text.len() <= max {
        return Cow::Borrowed(text);
    }
    let end = text.floor_char_boundary(max.saturating_sub(ELLIPSIS.len()));
    Cow::Owned(format!("{}{ELLIPSIS}", &text[..end]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_cut_between_characters() {
        assert_eq!(truncate_chars("short", 5), "short");
        assert_eq!(truncate_chars("üüü", 2), "üü…");
        assert_eq!(truncate_bytes("short", 5), "short");
        assert_eq!(truncate_bytes("longer", 5), "lo…");
        assert_eq!(truncate_bytes("üüüü", 6), "ü…");
        assert!(truncate_bytes(&"ü".repeat(5_000), 2_000).len() <= 2_000);
    }
}
