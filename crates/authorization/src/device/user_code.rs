//! The code that a person types.

use std::fmt;

use serde::{Deserialize, Serialize};

/// Consonants that are not mistaken for each other or for digits. Without vowels, no words appear.
pub const USER_CODE_ALPHABET: &[u8; 20] = b"BCDFGHJKLMNPQRSTVWXZ";
/// Characters of a code: 20^8 codes, about 34 bits. The caller limits attempts.
pub const USER_CODE_CHARS: usize = 8;
/// Longest text that a person may type, in characters.
pub const MAX_TYPED_CHARS: usize = 40;

/// A text that is not a user code.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the code must have eight letters, such as BCDF-GHJK; check what your device shows")]
pub struct InvalidUserCode;

/// A user code. Stored without the hyphen that is shown.
#[derive(Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct UserCode(String);

impl UserCode {
    /// A code from 8 random bytes. Their number of values is so much larger than that of the codes that no code is
    /// noticeably more likely than another.
    pub fn from_bytes(bytes: [u8; 8]) -> Self {
        let mut rest = u64::from_be_bytes(bytes);
        let base = USER_CODE_ALPHABET.len() as u64;
        let mut next_char = || {
            let letter = USER_CODE_ALPHABET[(rest % base) as usize];
            rest /= base;
            char::from(letter)
        };
        Self((0..USER_CODE_CHARS).map(|_| next_char()).collect())
    }

    /// Reads what a person typed: in any case, with spaces, hyphens and dots anywhere.
    pub fn parse_typed(text: &str) -> Result<Self, InvalidUserCode> {
        if text.chars().nth(MAX_TYPED_CHARS).is_some() {
            return Err(InvalidUserCode);
        }
        let is_ignored =
            |c: &char| c.is_whitespace() || matches!(c, '-' | '.' | '_' | '\u{2010}'..='\u{2015}');
        let code: String = text.chars().filter(|c| !is_ignored(c)).map(|c| c.to_ascii_uppercase()).collect();
        let is_code = code.len() == USER_CODE_CHARS && code.bytes().all(|c| USER_CODE_ALPHABET.contains(&c));
        if is_code { Ok(Self(code)) } else { Err(InvalidUserCode) }
    }

    /// The code without the hyphen, as it is stored.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for UserCode {
    /// As it is shown: `BCDF-GHJK`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (first, second) = self.0.split_at(USER_CODE_CHARS / 2);
        write!(f, "{first}-{second}")
    }
}

impl fmt::Debug for UserCode {
    /// Hidden: until it is used, it is half of a consent.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("UserCode(..)")
    }
}

impl TryFrom<String> for UserCode {
    type Error = InvalidUserCode;

    fn try_from(text: String) -> Result<Self, InvalidUserCode> {
        Self::parse_typed(&text)
    }
}

impl From<UserCode> for String {
    fn from(code: UserCode) -> Self {
        code.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_use_the_whole_alphabet_and_no_look_alikes() {
        for look_alike in b"AEIOUY01258" {
            assert!(!USER_CODE_ALPHABET.contains(look_alike));
        }
        assert_eq!(UserCode::from_bytes([0; 8]).to_string(), "BBBB-BBBB");
        assert_eq!(UserCode::from_bytes(19_u64.to_be_bytes()).as_str(), "ZBBBBBBB");
        let code = UserCode::from_bytes([0xff; 8]);
        assert_eq!(code.as_str().len(), USER_CODE_CHARS);
        assert_eq!(UserCode::parse_typed(&code.to_string()), Ok(code));
    }

    #[test]
    fn typed_codes_are_normalized() {
        let code = UserCode::parse_typed("BCDF-GHJK").unwrap();
        for typed in ["bcdfghjk", " BCDF GHJK ", "b-c-d-f-g-h-j-k", "BCDF\u{2013}ghjk", "bcdf.ghjk\n"] {
            assert_eq!(UserCode::parse_typed(typed).as_ref(), Ok(&code), "{typed}");
        }
        for wrong in
            ["", "BCDF", "BCDFGHJKL", "BCDF-GHJ0", "BCDF-GHJA", "ВСDF-GHJK", &"-".repeat(MAX_TYPED_CHARS + 1)]
        {
            assert_eq!(UserCode::parse_typed(wrong), Err(InvalidUserCode), "{wrong}");
        }
    }

    #[test]
    fn a_code_is_stored_plain_and_not_logged() {
        let code = UserCode::parse_typed("BCDF-GHJK").unwrap();
        assert_eq!(serde_json::to_string(&code).unwrap(), "\"BCDFGHJK\"");
        assert_eq!(serde_json::from_str::<UserCode>("\"BCDFGHJK\"").unwrap(), code);
        assert!(!format!("{code:?}").contains("BCDF"));
    }
}
