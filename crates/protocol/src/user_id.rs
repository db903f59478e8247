//! User ids: which texts are valid, and which are equal.
//!
//! Two people must never share an id, and no id may look exactly like another. So the letters A to Z are folded to lower case
//! and nothing else is changed: a text that Unicode would still map to another one (case, composition,
//! compatibility forms) or that has invisible characters is rejected. The accepted characters are those of the
//! IdentifierClass of RFC 8264 (PRECIS), without its contextual exceptions.

use std::{str::FromStr, sync::Arc};

use icu_properties::{
    CodePointMapData, CodePointSetData,
    props::{DefaultIgnorableCodePoint, GeneralCategory},
};
use unicode_normalization::is_nfkc;

use crate::{id::InvalidId, name::text_excerpt};

/// Longest user id in bytes: the longest e-mail address.
pub const MAX_USER_BYTES: usize = 254;

/// Precedes a letter that was upper case in a case-sensitive id. The mark itself is doubled.
const UPPER_CASE_MARK: char = '^';

const FORM: &str = "a user id: 1 to 254 bytes without spaces, such as an e-mail address";
const CHARACTERS: &str =
    "a user id: use visible ASCII characters, and beyond ASCII only letters, digits and their marks";
const LOWER_CASE: &str = "a user id: write letters beyond a to z in lower case";
const NORMAL_FORM: &str = "a user id: write it in Unicode normalization form NFKC";

/// A user, usually an e-mail address. Folded once, here; byte-identical everywhere after that, because apps match it
/// exactly.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct UserId(Arc<str>);

impl UserId {
    /// The id as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The id of a user from a system in which case matters, such as the `sub` of an identity
    /// provider. Different texts give different ids: `Ab` becomes `^ab`.
    pub fn from_case_sensitive(text: &str) -> Result<Self, InvalidId> {
        let mut id = String::with_capacity(text.len());
        for c in text.chars() {
            if c.is_ascii_uppercase() || c == UPPER_CASE_MARK {
                id.push(UPPER_CASE_MARK);
            }
            id.push(c);
        }
        id.parse().map_err(|error: InvalidId| InvalidId { text: text_excerpt(text), ..error })
    }

    /// An id from the store. It is not checked again, so that rows from before a rule still work.
    pub fn from_stored(text: &str) -> Self {
        Self(text.into())
    }
}

impl FromStr for UserId {
    type Err = InvalidId;

    fn from_str(text: &str) -> Result<Self, InvalidId> {
        match invalid_reason(text) {
            Some(what) => Err(InvalidId { text: text_excerpt(text), what }),
            None => Ok(Self(text.to_ascii_lowercase().into())),
        }
    }
}

/// Why a text is not a user id.
fn invalid_reason(text: &str) -> Option<&'static str> {
    if text.is_empty() || text.len() > MAX_USER_BYTES || text.chars().any(char::is_whitespace) {
        return Some(FORM);
    }
    if text.is_ascii() {
        let is_visible = text.bytes().all(|byte| byte.is_ascii_graphic());
        return (!is_visible).then_some(CHARACTERS);
    }
    if !text.chars().all(is_identifier) || text.chars().next().is_some_and(is_mark) {
        return Some(CHARACTERS);
    }
    if text.chars().any(|c| !c.is_ascii() && !c.to_lowercase().eq([c])) {
        return Some(LOWER_CASE);
    }
    (!is_nfkc(text)).then_some(NORMAL_FORM)
}

fn general_category(c: char) -> GeneralCategory {
    CodePointMapData::<GeneralCategory>::new().get(c)
}

/// Visible ASCII, and beyond it letters, decimal digits and visible marks.
fn is_identifier(c: char) -> bool {
    if c.is_ascii() {
        return c.is_ascii_graphic();
    }
    let is_letter_or_digit = matches!(
        general_category(c),
        GeneralCategory::LowercaseLetter
            | GeneralCategory::UppercaseLetter
            | GeneralCategory::TitlecaseLetter
            | GeneralCategory::ModifierLetter
            | GeneralCategory::OtherLetter
            | GeneralCategory::DecimalNumber
            | GeneralCategory::NonspacingMark
            | GeneralCategory::SpacingMark
    );
    is_letter_or_digit && !CodePointSetData::new::<DefaultIgnorableCodePoint>().contains(c)
}

fn is_mark(c: char) -> bool {
    matches!(general_category(c), GeneralCategory::NonspacingMark | GeneralCategory::SpacingMark)
}

/// Whether a character is invisible, or changes how the text around it is displayed.
pub(crate) fn is_invisible(c: char) -> bool {
    c.is_control()
        || matches!(
            general_category(c),
            GeneralCategory::Format
                | GeneralCategory::LineSeparator
                | GeneralCategory::ParagraphSeparator
                | GeneralCategory::Unassigned
        )
        || CodePointSetData::new::<DefaultIgnorableCodePoint>().contains(c)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn parse(text: &str) -> Result<UserId, InvalidId> {
        text.parse()
    }

    #[test]
    fn ascii_letters_are_folded_and_nothing_else() {
        assert_eq!(parse("Ada@Example.COM").unwrap().as_str(), "ada@example.com");
        for text in [
            "ada",
            "a+b%c@x.example",
            "auth0|5f7c8ec7",
            "j\u{fc}rgen@example.com",
            "\u{65e5}\u{672c}",
            "\u{5d0}7",
        ] {
            assert_eq!(parse(text).unwrap().as_str(), text);
        }
    }

    #[test]
    fn no_case_variant_beyond_ascii_becomes_another_user() {
        // KELVIN SIGN, ANGSTROM SIGN, I WITH DOT ABOVE, LATIN O WITH DIAERESIS, GREEK OMEGA, a titlecase digraph.
        for text in ["\u{212a}ate", "\u{212b}", "\u{130}da", "J\u{d6}rg", "\u{3a9}", "\u{1c5}", "\u{1e9e}"] {
            assert!(parse(text).is_err(), "{text:?}");
        }
    }

    #[test]
    fn what_one_cannot_see_is_refused() {
        for invisible in [
            '\u{0}',
            '\n',
            '\u{7f}',
            '\u{85}',
            ' ',
            '\u{a0}',
            '\u{2003}',
            '\u{3000}',
            '\u{ad}',
            '\u{34f}',
            '\u{61c}',
            '\u{115f}',
            '\u{17b4}',
            '\u{180e}',
            '\u{200b}',
            '\u{200c}',
            '\u{200d}',
            '\u{200e}',
            '\u{202e}',
            '\u{2028}',
            '\u{2060}',
            '\u{2066}',
            '\u{2800}',
            '\u{3164}',
            '\u{fe0f}',
            '\u{feff}',
            '\u{ffa0}',
            '\u{fffd}',
            '\u{e0001}',
            '\u{e0041}',
            '\u{e0100}',
            '\u{378}',
            '\u{e000}',
            '\u{ffff}',
            '\u{10ffff}',
            '\u{1f600}',
        ] {
            for text in [format!("ada{invisible}"), format!("{invisible}ada"), format!("a{invisible}da")] {
                assert!(parse(&text).is_err(), "{text:?}");
            }
        }
    }

    #[test]
    fn one_text_has_one_form() {
        // Decomposed letters, full-width letters, ligatures, superscripts, the long s.
        for text in ["jo\u{308}rg", "\u{ff41}da", "\u{fb01}x", "a\u{b2}", "\u{17f}am", "\u{301}a"] {
            assert!(parse(text).is_err(), "{text:?}");
        }
        assert!(parse("j\u{f6}rg").is_ok());
    }

    #[test]
    fn length_and_emptiness_are_bounded() {
        assert!(parse(&"x".repeat(MAX_USER_BYTES)).is_ok());
        for text in ["", "  ", "a b", " ada", "ada ", "a\nb", &"x".repeat(MAX_USER_BYTES + 1)] {
            assert!(parse(text).is_err(), "{text:?}");
        }
    }

    #[test]
    fn errors_show_what_cannot_be_seen() {
        let error = parse("a\u{200b}\nda").unwrap_err().to_string();
        assert!(error.contains("\\u{200b}") && error.contains("\\u{a}") && !error.contains('\n'), "{error}");
    }

    #[test]
    fn case_sensitive_ids_stay_apart() {
        let ids = ["ab", "Ab", "aB", "AB", "^ab", "a^b", "^^ab"];
        let made: std::collections::BTreeSet<_> =
            ids.iter().map(|text| UserId::from_case_sensitive(text).unwrap()).collect();
        assert_eq!(made.len(), ids.len(), "{made:?}");
        assert_eq!(UserId::from_case_sensitive("00uAb").unwrap().as_str(), "00u^ab");
        for text in ["", "a b", "\u{212a}", "a\u{200b}"] {
            assert!(UserId::from_case_sensitive(text).is_err(), "{text:?}");
        }
    }

    proptest! {
        #[test]
        fn an_accepted_id_is_stable_under_every_folding(text in "\\PC{1,12}") {
            if let Ok(id) = parse(&text) {
                prop_assert_eq!(parse(id.as_str()).unwrap(), id.clone());
                prop_assert_eq!(id.as_str().to_lowercase(), id.as_str());
                prop_assert!(id.as_str().eq_ignore_ascii_case(&text));
            }
        }

        #[test]
        fn different_case_sensitive_texts_are_different_users(a in "[aAbB^]{1,6}", b in "[aAbB^]{1,6}") {
            let id = |text: &str| UserId::from_case_sensitive(text).unwrap();
            prop_assert_eq!(a == b, id(&a) == id(&b));
        }
    }
}
