//! Alphabets of key formats, and runs of their characters.

/// The characters that a part of a key may have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Alphabet {
    /// `0-9`
    Digits,
    /// `0-9a-f`
    Hex,
    /// `0-9a-fA-F`
    AnyHex,
    /// `A-Z2-7`
    Base32,
    /// `A-Z0-9`
    UpperAlnum,
    /// `A-Za-z0-9`
    Alnum,
    /// `A-Za-z0-9_`
    Word,
    /// `A-Za-z0-9-`
    AlnumHyphen,
    /// `A-Za-z0-9_-`
    UrlSafe,
    /// `A-Za-z0-9+/=`
    Base64,
    /// Base64 that is percent-encoded or not: `A-Za-z0-9+/=_%-`
    EncodedBase64,
    /// What RFC 6750 allows in a bearer token: `A-Za-z0-9-._~+/=`
    BearerToken,
}

const COUNT: usize = 12;

impl Alphabet {
    /// Whether the byte belongs to it.
    pub(crate) const fn contains(self, byte: u8) -> bool {
        let alnum = byte.is_ascii_alphanumeric();
        match self {
            Self::Digits => byte.is_ascii_digit(),
            Self::Hex => matches!(byte, b'0'..=b'9' | b'a'..=b'f'),
            Self::AnyHex => byte.is_ascii_hexdigit(),
            Self::Base32 => matches!(byte, b'A'..=b'Z' | b'2'..=b'7'),
            Self::UpperAlnum => matches!(byte, b'A'..=b'Z' | b'0'..=b'9'),
            Self::Alnum => alnum,
            Self::Word => alnum || byte == b'_',
            Self::AlnumHyphen => alnum || byte == b'-',
            Self::UrlSafe => alnum || matches!(byte, b'_' | b'-'),
            Self::Base64 => alnum || matches!(byte, b'+' | b'/' | b'='),
            Self::EncodedBase64 => alnum || matches!(byte, b'+' | b'/' | b'=' | b'_' | b'%' | b'-'),
            Self::BearerToken => alnum || matches!(byte, b'-' | b'.' | b'_' | b'~' | b'+' | b'/' | b'='),
        }
    }
}

/// A text that is searched for keys. It remembers the last run of each alphabet, so that a text in which prefixes follow each
/// other closely is still read once per alphabet, not once per prefix.
pub(crate) struct ScannedText<'t> {
    pub(crate) text: &'t str,
    /// The name of the JSON member whose value this text is.
    pub(crate) member: Option<&'t str>,
    runs: [(usize, usize); COUNT],
}

impl<'t> ScannedText<'t> {
    pub(crate) fn new(text: &'t str, member: Option<&'t str>) -> Self {
        // No position is inside of an empty run that starts behind its end.
        Self { text, member, runs: [(1, 0); COUNT] }
    }

    pub(crate) fn byte(&self, at: usize) -> Option<u8> {
        self.text.as_bytes().get(at).copied()
    }

    /// Where the run of an alphabet's characters that starts here ends.
    pub(crate) fn run_end(&mut self, alphabet: Alphabet, at: usize) -> usize {
        let bytes = self.text.as_bytes();
        let (start, end) = self.runs[alphabet as usize];
        if (start..=end).contains(&at) {
            return end;
        }
        let mut next = at;
        while next < bytes.len() && alphabet.contains(bytes[next]) {
            next = if start == next && end > start { end } else { next + 1 };
        }
        self.runs[alphabet as usize] = (at, next);
        next
    }

    /// Whether a key may start here: after the start, a character that is no letter or digit, or an escape (`\n`, `%3D`, `\u201c`).
    pub(crate) fn is_key_start(&self, at: usize) -> bool {
        let bytes = self.text.as_bytes();
        let Some(before) = at.checked_sub(1).and_then(|before| bytes.get(before)) else { return true };
        if !before.is_ascii_alphanumeric() {
            return true;
        }
        let is_escape =
            matches!(before, b'n' | b'r' | b't' | b'b' | b'f') && at >= 2 && bytes[at - 2] == b'\\';
        let is_percent = at >= 3
            && bytes[at - 3] == b'%'
            && bytes[at - 2].is_ascii_hexdigit()
            && bytes[at - 1].is_ascii_hexdigit();
        let is_unicode = at >= 6
            && bytes[at - 6..].starts_with(b"\\u")
            && bytes[at - 4..at].iter().all(u8::is_ascii_hexdigit);
        is_escape || is_percent || is_unicode
    }

    /// Whether a key may end here: before the end or a character that is no letter or digit.
    pub(crate) fn is_key_end(&self, at: usize) -> bool {
        self.byte(at).is_none_or(|next| !next.is_ascii_alphanumeric())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_is_the_same_from_each_of_its_positions_in_any_order() {
        let text = "ab-cd ef_gh";
        for order in [[0, 3, 6], [6, 3, 0], [3, 0, 6]] {
            let mut scanned = ScannedText::new(text, None);
            for at in order {
                assert_eq!(scanned.run_end(Alphabet::UrlSafe, at), if at < 5 { 5 } else { 11 });
            }
            assert_eq!(scanned.run_end(Alphabet::UrlSafe, 5), 5, "a space is no part of a run");
        }
    }

    #[test]
    fn a_key_starts_after_an_escape_but_not_inside_of_a_word() {
        for (text, at, starts) in
            [("x", 0, true), ("=x", 1, true), ("ax", 1, false), ("\\nx", 2, true), ("%3Dx", 3, true)]
        {
            assert_eq!(ScannedText::new(text, None).is_key_start(at), starts, "{text}");
        }
    }
}
