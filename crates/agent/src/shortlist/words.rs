//! Text to words: identifiers are split, case and accents folded, scripts without spaces cut into pairs of characters.
//!
//! Both sides, tools and questions, go through here, so what counts is that equal things come out equal.

use std::ops::Range;

use unicode_normalization::{
    UnicodeNormalization,
    char::{decompose_canonical, is_combining_mark},
};

use super::{MAX_WORD_BYTES, cut};

/// The smallest parts of a text, without what stands between them.
#[derive(Debug, Default)]
pub(super) struct Atoms {
    /// All atoms in a row: lower case, no accents, no separators.
    squeezed: String,
    atoms: Vec<Atom>,
}

#[derive(Debug, Clone, Copy)]
struct Atom {
    start: usize,
    end: usize,
    kind: Kind,
    /// Nothing stood between it and the atom before.
    glued: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// A word, or a part of an identifier.
    Word,
    /// One character of a script that puts no spaces between words.
    Character,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Class {
    Separator,
    Upper,
    Digit,
    Other,
    Spaceless,
}

/// What a word is to the text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Role {
    /// Part of the running text.
    Text,
    /// Written together from parts that were given as well (`GitHub`: git, hub, and then github).
    Whole,
}

impl Atoms {
    pub(super) fn of(text: &str) -> Self {
        let mut atoms = Self::default();
        if text.is_ascii() {
            atoms.read(text.chars());
        } else {
            atoms.read(text.nfkc());
        }
        atoms
    }

    fn read(&mut self, text: impl Iterator<Item = char>) {
        let (mut before, mut two_before) = (Class::Separator, Class::Separator);
        let mut last_start = 0;
        for c in text {
            let class = match class_of(c) {
                Class::Separator if before != Class::Separator && is_combining_mark(c) => before,
                class => class,
            };
            let start = self.squeezed.len();
            if class != Class::Separator {
                self.push(c);
            }
            match (before, class) {
                (_, Class::Separator) => {}
                (Class::Separator, _) => self.open(start, class, false),
                (Class::Spaceless, _) | (_, Class::Spaceless) => self.open(start, class, true),
                (Class::Digit | Class::Other, Class::Upper) => self.open(start, class, true),
                // The last capital of several belongs to what follows: `HTTPServer`.
                (Class::Upper, Class::Other) if two_before == Class::Upper => {
                    self.atoms.last_mut().into_iter().for_each(|atom| atom.end = last_start);
                    self.open(last_start, class, true);
                }
                _ => self.atoms.last_mut().into_iter().for_each(|atom| atom.end = self.squeezed.len()),
            }
            (two_before, before, last_start) = (before, class, start);
        }
        self.atoms.retain(|atom| atom.start < atom.end);
    }

    fn open(&mut self, start: usize, class: Class, glued: bool) {
        let kind = if class == Class::Spaceless { Kind::Character } else { Kind::Word };
        self.atoms.push(Atom { start, end: self.squeezed.len(), kind, glued });
    }

    /// Folds case and accents. Only Latin and Greek lose their marks: elsewhere a mark makes another letter.
    fn push(&mut self, c: char) {
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

    /// How many atoms there are.
    pub(super) fn len(&self) -> usize {
        self.atoms.len()
    }

    /// Whatever the text's spelling: atoms in a row.
    pub(super) fn squeezed(&self, atoms: Range<usize>) -> &str {
        match self.atoms.get(atoms) {
            Some([one]) => &self.squeezed[one.start..one.end],
            Some([first, .., last]) => &self.squeezed[first.start..last.end],
            Some([]) | None => "",
        }
    }

    /// The words to search by, in order.
    pub(super) fn words(&self) -> impl Iterator<Item = (&str, Role)> {
        self.groups().flat_map(move |group| {
            let pairs = group[0].kind == Kind::Character && group.len() > 1;
            let singles = if pairs { &[] } else { group };
            let whole = match group {
                [first, .., last] if !pairs && last.end - first.start <= MAX_WORD_BYTES => {
                    Some((&self.squeezed[first.start..last.end], Role::Whole))
                }
                _ => None,
            };
            let pairs = group.windows(if pairs { 2 } else { usize::MAX });
            let pairs = pairs.map(|pair| (&self.squeezed[pair[0].start..pair[1].end], Role::Text));
            let text = |atom: &Atom| (cut(&self.squeezed[atom.start..atom.end], MAX_WORD_BYTES), Role::Text);
            singles.iter().map(text).chain(pairs).chain(whole)
        })
    }

    /// Atoms of one kind with nothing between them.
    fn groups(&self) -> impl Iterator<Item = &[Atom]> {
        self.atoms.chunk_by(|before, atom| atom.glued && before.kind == atom.kind)
    }
}

fn class_of(c: char) -> Class {
    match c {
        'a'..='z' => Class::Other,
        'A'..='Z' => Class::Upper,
        '0'..='9' => Class::Digit,
        _ if c.is_ascii() => Class::Separator,
        _ if is_spaceless(c) => Class::Spaceless,
        _ if c.is_uppercase() => Class::Upper,
        _ if c.is_alphabetic() => Class::Other,
        _ if c.is_numeric() => Class::Digit,
        _ => Class::Separator,
    }
}

/// Thai, Lao, Burmese, Khmer, kana, ideographs; Korean too, where endings cling to the word.
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
        Atoms::of(text).words().map(|(word, _)| word.to_owned()).collect()
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
        assert_eq!(Atoms::of("GitHub").words().filter(|(_, role)| *role == Role::Whole).count(), 1);
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
            let atoms = Atoms::of(text);
            assert_eq!(atoms.squeezed(0..atoms.len()), "getuserinfo", "{text}");
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
            let atoms = Atoms::of(&text);
            for (word, _) in atoms.words() {
                prop_assert!(!word.is_empty() && word.len() <= MAX_WORD_BYTES);
            }
            for start in 0..atoms.len() {
                prop_assert!(!atoms.squeezed(start..atoms.len()).is_empty());
            }
        }

        #[test]
        fn case_is_folded(text in "[a-zß-öø-ÿα-ω ]{0,30}") {
            let upper: Vec<_> = words(&text.to_uppercase());
            prop_assert_eq!(upper, words(&text));
        }
    }
}
