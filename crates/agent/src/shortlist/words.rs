//! Splits text into words: identifiers are split, case and accents are folded, and scripts without spaces are cut into
//! pairs of characters.
//!
//! Tools and questions both use it, so equal words give equal results.

use std::ops::Range;

use unicode_normalization::{
    UnicodeNormalization,
    char::{decompose_canonical, is_combining_mark},
};

use super::{MAX_WORD_BYTES, truncate_bytes};

/// The smallest parts of a text, without separators.
#[derive(Debug, Default)]
pub(super) struct TextAtoms {
    /// All atoms joined: lower case, no accents, no separators.
    squeezed: String,
    atoms: Vec<AtomSpan>,
}

#[derive(Debug, Clone, Copy)]
struct AtomSpan {
    start: usize,
    end: usize,
    kind: AtomKind,
    /// Directly after the previous atom, without a separator.
    glued: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum AtomKind {
    /// A word, or a part of an identifier.
    Word,
    /// One character of a script without spaces.
    Character,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum CharClass {
    Separator,
    Upper,
    Digit,
    Other,
    Spaceless,
}

/// The role of a word in the text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum WordRole {
    /// Part of the running text.
    Text,
    /// Joined from parts that are words as well (`GitHub`: git, hub, and then github).
    Whole,
}

impl TextAtoms {
    pub(super) fn from_text(text: &str) -> Self {
        let mut atoms = Self::default();
        if text.is_ascii() {
            atoms.read_chars(text.chars());
        } else {
            atoms.read_chars(text.nfkc());
        }
        atoms
    }

    fn read_chars(&mut self, text: impl Iterator<Item = char>) {
        let (mut before, mut two_before) = (CharClass::Separator, CharClass::Separator);
        let mut last_start = 0;
        for c in text {
            let class = match class_of(c) {
                CharClass::Separator if before != CharClass::Separator && is_combining_mark(c) => before,
                class => class,
            };
            let start = self.squeezed.len();
            if class != CharClass::Separator {
                self.push_folded(c);
            }
            match (before, class) {
                (_, CharClass::Separator) => {}
                (CharClass::Separator, _) => self.open_atom(start, class, false),
                (CharClass::Spaceless, _) | (_, CharClass::Spaceless) => self.open_atom(start, class, true),
                (CharClass::Digit | CharClass::Other, CharClass::Upper) => self.open_atom(start, class, true),
                // The last capital of several belongs to the next word: `HTTPServer`.
                (CharClass::Upper, CharClass::Other) if two_before == CharClass::Upper => {
                    self.atoms.last_mut().into_iter().for_each(|atom| atom.end = last_start);
                    self.open_atom(last_start, class, true);
                }
                _ => self.atoms.last_mut().into_iter().for_each(|atom| atom.end = self.squeezed.len()),
            }
            (two_before, before, last_start) = (before, class, start);
        }
        self.atoms.retain(|atom| atom.start < atom.end);
    }

    fn open_atom(&mut self, start: usize, class: CharClass, glued: bool) {
        let kind = if class == CharClass::Spaceless { AtomKind::Character } else { AtomKind::Word };
        self.atoms.push(AtomSpan { start, end: self.squeezed.len(), kind, glued });
    }

    /// Folds case and accents. Only Latin and Greek lose their marks: in other scripts a mark makes another letter.
    fn push_folded(&mut self, c: char) {
        match c {
            'a'..='z' | '0'..='9' => self.squeezed.push(c),
            'A'..='Z' => self.squeezed.push(c.to_ascii_lowercase()),
            'ß' | 'ẞ' => self.squeezed.push_str("ss"),
            'æ' | 'Æ' => self.squeezed.push_str("ae"),
            'œ' | 'Œ' => self.squeezed.push_str("oe"),
            'ø' | 'Ø' => self.squeezed.push('o'),
            'ł' | 'Ł' => self.squeezed.push('l'),
            'đ' | 'Đ' => self.squeezed.push('d'),
            'ı' => self.squeezed.push('i'),
            'ς' => self.squeezed.push('σ'),
            '\u{300}'..='\u{36f}' => {}
            '\u{c0}'..='\u{24f}' | '\u{370}'..='\u{3ff}' | '\u{1e00}'..='\u{1fff}' => {
                decompose_canonical(c, |part| {
                    if !is_combining_mark(part) {
                        self.squeezed.extend(part.to_lowercase());
                    }
                });
            }
            _ => self.squeezed.extend(c.to_lowercase()),
        }
    }

    /// The number of atoms.
    pub(super) fn len(&self) -> usize {
        self.atoms.len()
    }

    /// The joined text of a range of atoms, whatever the original spelling.
    pub(super) fn squeezed_range(&self, atoms: Range<usize>) -> &str {
        match self.atoms.get(atoms) {
            Some([one]) => &self.squeezed[one.start..one.end],
            Some([first, .., last]) => &self.squeezed[first.start..last.end],
            Some([]) | None => "",
        }
    }

    /// The words to search by, in order.
    pub(super) fn search_words(&self) -> impl Iterator<Item = (&str, WordRole)> {
        self.atom_groups().flat_map(move |group| {
            let pairs = group[0].kind == AtomKind::Character && group.len() > 1;
            let singles = if pairs { &[] } else { group };
            let whole = match group {
                [first, .., last] if !pairs && last.end - first.start <= MAX_WORD_BYTES => {
                    Some((&self.squeezed[first.start..last.end], WordRole::Whole))
                }
                _ => None,
            };
            let pairs = group.windows(if pairs { 2 } else { usize::MAX });
            let pairs = pairs.map(|pair| (&self.squeezed[pair[0].start..pair[1].end], WordRole::Text));
            let text = |atom: &AtomSpan| {
                (truncate_bytes(&self.squeezed[atom.start..atom.end], MAX_WORD_BYTES), WordRole::Text)
            };
            singles.iter().map(text).chain(pairs).chain(whole)
        })
    }

    /// Atoms of one kind without separators between them.
    fn atom_groups(&self) -> impl Iterator<Item = &[AtomSpan]> {
        self.atoms.chunk_by(|before, atom| atom.glued && before.kind == atom.kind)
    }
}

fn class_of(c: char) -> CharClass {
    match c {
        'a'..='z' => CharClass::Other,
        'A'..='Z' => CharClass::Upper,
        '0'..='9' => CharClass::Digit,
        _ if c.is_ascii() => CharClass::Separator,
        _ if is_spaceless(c) => CharClass::Spaceless,
        _ if c.is_uppercase() => CharClass::Upper,
        _ if c.is_alphabetic() => CharClass::Other,
        _ if c.is_numeric() => CharClass::Digit,
        _ => CharClass::Separator,
    }
}

/// Thai, Lao, Burmese, Khmer, kana, ideographs. Korean too, because endings are attached to words.
fn is_spaceless(c: char) -> bool {
    let script = matches!(c, '\u{e00}'..='\u{eff}' | '\u{1000}'..='\u{109f}' | '\u{1780}'..='\u{17ff}'
        | '\u{3005}'..='\u{3007}' | '\u{3041}'..='\u{30ff}' | '\u{3400}'..='\u{4dbf}' | '\u{4e00}'..='\u{9fff}'
        | '\u{ac00}'..='\u{d7af}' | '\u{f900}'..='\u{faff}' | '\u{20000}'..='\u{323af}');
    script && (c.is_alphanumeric() || is_combining_mark(c))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn words(text: &str) -> Vec<String> {
        TextAtoms::from_text(text).search_words().map(|(word, _)| word.to_owned()).collect()
    }

    #[test]
    fn identifiers_fall_apart_at_every_seam() {
        assert_eq!(words("get_userInfoV2"), ["get", "user", "info", "v2", "userinfov2"]);
        assert_eq!(words("com.example:add-task"), ["com", "example", "add", "task"]);
        assert_eq!(words("parseHTTPServer"), ["parse", "http", "server", "parsehttpserver"]);
        assert_eq!(words("LH400 mp3 2FA"), ["lh400", "mp3", "2", "fa", "2fa"]);
    }

    #[test]
    fn mixed_case_is_found_written_together() {
        assert!(words("GitHub").contains(&"github".to_owned()));
        assert_eq!(words("github"), ["github"]);
        assert_eq!(
            TextAtoms::from_text("GitHub")
                .search_words()
                .filter(|(_, role)| *role == WordRole::Whole)
                .count(),
            1
        );
    }

    #[test]
    fn accents_fold_where_they_are_accents() {
        assert_eq!(words("Añade Éteins Straße ÜBER"), ["anade", "eteins", "strasse", "uber"]);
        assert_eq!(words("e\u{301}te\u{301}"), ["ete"]);
        assert_eq!(words("мой"), ["мой"]);
        assert_eq!(words("がか"), ["がか"]);
    }

    #[test]
    fn scripts_without_spaces_become_pairs() {
        assert_eq!(words("明日の天気"), ["明日", "日の", "の天", "天気"]);
        assert_eq!(words("雨"), ["雨"]);
        assert_eq!(words("10分のタイマー"), ["10", "分の", "のタ", "タイ", "イマ", "マー"]);
        assert_eq!(words("ﾀｲﾏｰ"), words("タイマー"));
    }

    #[test]
    fn spelling_does_not_matter_to_the_squeezed_form() {
        for text in ["getUserInfo", "get_user_info", "Get user-info", "GETUSERINFO"] {
            let atoms = TextAtoms::from_text(text);
            assert_eq!(atoms.squeezed_range(0..atoms.len()), "getuserinfo", "{text}");
        }
    }

    #[test]
    fn long_words_are_cut() {
        assert_eq!(words(&"x".repeat(MAX_WORD_BYTES + 1)), ["x".repeat(MAX_WORD_BYTES)]);
        assert_eq!(words(&"Ab".repeat(100)).iter().map(String::len).max(), Some(2));
    }

    proptest! {
        #[test]
        fn any_text_has_words(text in any::<String>()) {
            let atoms = TextAtoms::from_text(&text);
            for (word, _) in atoms.search_words() {
                prop_assert!(!word.is_empty() && word.len() <= MAX_WORD_BYTES);
            }
            for start in 0..atoms.len() {
                prop_assert!(!atoms.squeezed_range(start..atoms.len()).is_empty());
            }
        }

        #[test]
        fn case_is_folded(text in "[a-zß-öø-ÿα-ω ]{0,30}") {
            let upper: Vec<_> = words(&text.to_uppercase());
            prop_assert_eq!(upper, words(&text));
        }
    }
}
