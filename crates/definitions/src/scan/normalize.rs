//! The form of a text that rules read: compatibility characters, look-alike letters, case, whitespace and spaced-out words
//! are undone, invisible characters removed.

use std::sync::LazyLock;

use regex::Regex;
use toolyard_protocol::visible::strip_invisible;
use unicode_normalization::UnicodeNormalization as _;

use super::names::fold_homoglyph;

/// A word whose letters are separated: `i g n o r e`, `i.g.n.o.r.e`.
#[expect(clippy::expect_used, reason = "the pattern is a constant, and a test compiles it")]
static SPACED_WORD: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"\b(?:[a-z][ .\-_*]){4,}[a-z]\b").expect("a valid pattern"));

/// A text as the rules read it: lower case, single spaces; a line break stands for the end of a paragraph or list item.
pub(super) fn normalize(text: &str) -> String {
    let visible = strip_invisible(text);
    let compatible: String = visible.nfkc().collect();
    let folded = if compatible.is_ascii() { compatible } else { fold_mixed_words(&compatible) };
    let lower = collapse_whitespace(&folded.to_lowercase());
    SPACED_WORD
        .replace_all(&lower, |found: &regex::Captures<'_>| {
            found[0].chars().filter(char::is_ascii_alphabetic).collect::<String>()
        })
        .into_owned()
}

/// Replaces look-alike letters in words that also have Latin letters. Words of one script are left alone: they can be
/// honest text in another language.
fn fold_mixed_words(text: &str) -> String {
    let mut folded = String::with_capacity(text.len());
    for word in text.split_inclusive(|char: char| !char.is_alphanumeric()) {
        if word.chars().any(|char| char.is_ascii_alphabetic()) {
            folded.extend(word.chars().map(fold_homoglyph).map(plain_quote));
        } else {
            folded.extend(word.chars().map(plain_quote));
        }
    }
    folded
}

fn plain_quote(char: char) -> char {
    match char {
        '\u{2018}' | '\u{2019}' | '\u{201b}' => '\'',
        '\u{201c}' | '\u{201d}' => '"',
        '\u{2010}'..='\u{2015}' => '-',
        other => other,
    }
}

/// Docstrings break lines inside of sentences, so a single line break is a space. Before a blank line or a list item, it ends
/// a sentence.
fn collapse_whitespace(text: &str) -> String {
    let mut collapsed = String::with_capacity(text.len());
    for line in text.lines() {
        let line = line.trim();
        let is_item = line.starts_with(['-', '*', '#', '•', '<', '['])
            || line.starts_with(|char: char| char.is_ascii_digit());
        if line.is_empty() || is_item {
            if !collapsed.is_empty() && !collapsed.ends_with('\n') {
                collapsed.push('\n');
            }
        } else if !collapsed.is_empty() && !collapsed.ends_with(['\n', ' ']) {
            collapsed.push(' ');
        }
        let mut words = line.split_whitespace();
        if let Some(first) = words.next() {
            collapsed.push_str(first);
        }
        for word in words {
            collapsed.extend([" ", word]);
        }
    }
    collapsed
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn disguised_words_become_plain() {
        assert_eq!(normalize("Ig\u{200b}nore  ALL\nprevious"), "ignore all previous");
        assert_eq!(normalize("ｉｇｎｏｒｅ 𝐚𝐥𝐥"), "ignore all");
        assert_eq!(normalize("іgnоrе аll"), "ignore all");
        assert_eq!(normalize("i g n o r e this"), "ignore this");
        assert_eq!(normalize("Don’t “do” it"), "don't \"do\" it");
    }

    #[test]
    fn honest_text_in_other_scripts_stays() {
        assert_eq!(normalize("Удаляет файл."), "удаляет файл.");
        assert_eq!(normalize("東京の天気"), "東京の天気");
    }

    #[test]
    fn paragraphs_and_list_items_end_sentences() {
        assert_eq!(normalize("One\ntwo.\n\nThree\n- four\n- five"), "one two.\nthree\n- four\n- five");
    }
}
