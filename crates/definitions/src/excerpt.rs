//! Short, visible excerpts of untrusted text.

use std::fmt::Write as _;

use toolyard_protocol::visible::count_invisible;

/// Longest excerpt of a value, in characters.
pub(crate) const MAX_EXCERPT_CHARS: usize = 240;

/// A text in which every invisible character is written as `<U+200B>`.
pub(crate) fn show_invisible(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for char in text.chars() {
        // Joiners that visible text needs are shown as well: a person who reviews a change has to see every character.
        if is_hidden(char) {
            // Writing to a string cannot fail.
            let _ = write!(shown, "<U+{:04X}>", u32::from(char));
        } else {
            shown.push(char);
        }
    }
    shown
}

/// Whether a person does not see this character.
pub(crate) fn is_hidden(char: char) -> bool {
    if char.is_ascii() {
        return char.is_ascii_control() && !matches!(char, '\n' | '\r' | '\t');
    }
    count_invisible(char.encode_utf8(&mut [0; 4])) > 0
        || matches!(char, '\u{e000}'..='\u{f8ff}' | '\u{f0000}'..='\u{10fffd}')
}

/// The beginning of a text, visible and on one line.
pub(crate) fn excerpt(text: &str) -> String {
    let cut: String = text.chars().take(MAX_EXCERPT_CHARS).collect();
    let mut shown = show_invisible(&cut).replace(['\n', '\r', '\t'], " ");
    if cut.len() < text.len() {
        shown.push('…');
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn invisible_characters_are_written_out() {
        assert_eq!(show_invisible("a\u{200b}b\u{202e}c\u{e0041}"), "a<U+200B>b<U+202E>c<U+E0041>");
        assert_eq!(show_invisible("a\u{1b}[8mb\u{e001}"), "a<U+001B>[8mb<U+E001>");
        assert_eq!(show_invisible("Grüße\n日本"), "Grüße\n日本");
    }

    #[test]
    fn excerpts_are_short_and_on_one_line() {
        assert_eq!(excerpt("a\nb"), "a b");
        let long = excerpt(&"x".repeat(10_000));
        assert_eq!(long.chars().count(), MAX_EXCERPT_CHARS + 1);
    }
}
