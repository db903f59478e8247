//! Truncates texts at character boundaries.

/// The first characters of a text, with `…` if something was left out.
pub(crate) fn truncate_text(text: &str, characters: usize) -> String {
    match text.char_indices().nth(characters) {
        None => text.to_owned(),
        Some((end, _)) => format!("{}…", &text[..end]),
    }
}

/// Puts a text on one line: white space and control characters become one space.
pub(crate) fn one_line(text: &str) -> String {
    let words = text.split(|c: char| c.is_whitespace() || c.is_control()).filter(|word| !word.is_empty());
    words.collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cut_is_between_characters_and_shows() {
        assert_eq!(truncate_text("äöü", 3), "äöü");
        assert_eq!(truncate_text("äöü", 2), "äö…");
        assert_eq!(truncate_text("", 0), "");
    }

    #[test]
    fn a_line_has_no_line_ends() {
        assert_eq!(one_line(" a\n\t b\u{0}c "), "a b c");
    }
}
