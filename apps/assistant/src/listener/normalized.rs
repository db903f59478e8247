//! Normalized text for comparison: only letters and digits, in lower case and without accents, with their original positions.

use unicode_normalization::{UnicodeNormalization as _, char::is_combining_mark};

/// Longest transcript that is considered, in characters; speech is far shorter.
pub const MAX_CHARS: usize = 2_000;

/// One letter or digit of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct NormalizedLetter {
    letter: char,
    /// The end of its original character, in bytes.
    end: usize,
    /// Whether a word may start here.
    begins: bool,
    /// Whether a word may end here.
    ends: bool,
}

/// A text, ready to be searched.
#[derive(Debug, Clone, Default)]
pub struct NormalizedText(Vec<NormalizedLetter>);

impl NormalizedText {
    /// Normalizes a text.
    pub fn new(text: &str) -> Self {
        let mut letters: Vec<NormalizedLetter> = Vec::new();
        let mut apart = true;
        for (at, character) in text.char_indices().take(MAX_CHARS) {
            let end = at + character.len_utf8();
            let mut any = false;
            for letter in fold_char(character) {
                any = true;
                let free = is_unspaced(letter);
                let begins = apart || free || letters.last().is_some_and(|before| is_unspaced(before.letter));
                if begins && let Some(before) = letters.last_mut() {
                    before.ends = true;
                }
                letters.push(NormalizedLetter { letter, end, begins, ends: free });
                apart = false;
            }
            // A combining mark belongs to the letter before it.
            apart |= !any && !is_combining_mark(character);
        }
        if let Some(last) = letters.last_mut() {
            last.ends = true;
        }
        Self(letters)
    }

    /// Whether there are no letters.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The end of the last occurrence of these letters as whole words, with anything in between, in bytes of the text.
    pub fn find_last(&self, letters: &[char]) -> Option<usize> {
        let count = letters.len();
        if count == 0 {
            return None;
        }
        self.0.windows(count).rev().find_map(|window| {
            let whole = window[0].begins && window[count - 1].ends;
            let same = window.iter().map(|letter| letter.letter).eq(letters.iter().copied());
            (whole && same).then_some(window[count - 1].end)
        })
    }

    /// Only the letters, to compare whole texts.
    pub fn letters(&self) -> String {
        self.0.iter().map(|letter| letter.letter).collect()
    }
}

/// The normalized letters of a text: `Hé, Tool-Yard` is `hetoolyard`.
pub fn comparison_key(text: &str) -> String {
    NormalizedText::new(text).letters()
}

/// A character in lower case without accents; nothing if it is not a letter or digit.
fn fold_char(character: char) -> impl Iterator<Item = char> {
    std::iter::once(character)
        .nfkd()
        .filter(|part| !is_combining_mark(*part))
        .flat_map(char::to_lowercase)
        .filter(|part| part.is_alphanumeric())
}

/// Whether a letter belongs to a script without spaces: every character may start or end a word.
fn is_unspaced(letter: char) -> bool {
    matches!(letter,
        '\u{0e00}'..='\u{0eff}' | '\u{1780}'..='\u{17ff}' | '\u{3040}'..='\u{30ff}' | '\u{3400}'..='\u{4dbf}'
        | '\u{4e00}'..='\u{9fff}' | '\u{ac00}'..='\u{d7af}' | '\u{1100}'..='\u{11ff}')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn after<'a>(text: &'a str, word: &str) -> Option<&'a str> {
        let letters: Vec<char> = comparison_key(word).chars().collect();
        NormalizedText::new(text).find_last(&letters).map(|end| &text[end..])
    }

    #[test]
    fn case_accents_gaps_and_punctuation_do_not_count() {
        for text in [
            "Hey Toolyard, go",
            "hey tool yard go",
            "HEY, TOOL-YARD! go",
            "hé y t o o lyard go",
            "hey toolyar d go",
        ] {
            assert!(after(text, "hey toolyard").is_some_and(|rest| rest.ends_with("go")), "{text}");
        }
        assert_eq!(comparison_key("Ça va, Öl?"), "cavaol");
        assert_eq!(comparison_key("e\u{301}te\u{301}"), "ete");
    }

    #[test]
    fn only_whole_words_count() {
        for text in ["hey toolyards go", "they toolyard go", "hey toolyardish", "toolyard"] {
            assert_eq!(after(text, "hey toolyard"), None, "{text}");
        }
        assert_eq!(after("hey toolyard's list", "hey toolyard"), Some("'s list"));
    }

    #[test]
    fn the_last_occurrence_counts() {
        assert_eq!(after("hey mentra hey mentra stop", "hey mentra"), Some(" stop"));
    }

    #[test]
    fn scripts_without_spaces_need_none() {
        assert_eq!(after("ねえツールヤード明日は", "ねえツールヤード"), Some("明日は"));
        assert_eq!(after("嘿toolyard现在几点", "嘿 toolyard"), Some("现在几点"));
    }

    #[test]
    fn long_texts_are_truncated_and_empty_texts_match_nothing() {
        let long = "a ".repeat(MAX_CHARS) + "hey mentra";
        assert_eq!(after(&long, "hey mentra"), None);
        assert_eq!(after("hey", ""), None);
        assert!(NormalizedText::new(" ,.! ").is_empty());
    }
}
