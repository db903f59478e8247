//! The name of a client as people see it on the consent page. The client chose it, so it proves nothing.

use std::fmt;

use serde::{Deserialize, Serialize};
use toolyard_protocol::{text::truncate_chars, visible::strip_invisible};

/// Longest name, in characters. Longer ones are cut.
pub const MAX_NAME_CHARS: usize = 80;
/// Most marks in a row, such as accents. More would cover the text around the name.
const MAX_MARKS: usize = 2;

/// A name on one line without invisible characters.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "String", into = "String")]
pub struct DisplayName(String);

impl DisplayName {
    /// Cleans a name. `None` if nothing is left that a person could read.
    pub fn clean(name: &str) -> Option<Self> {
        // Bounds the work. A character that shows is never longer than four bytes.
        let name = &name[..name.floor_char_boundary(MAX_NAME_CHARS * 16)];
        let visible = strip_invisible(name);
        let line = visible.split_whitespace().collect::<Vec<_>>().join(" ");
        let mut marks = 0;
        let bounded: String = line
            .chars()
            .filter(|char| {
                marks = if is_mark(*char) { marks + 1 } else { 0 };
                marks <= MAX_MARKS
            })
            .collect();
        let has_text = bounded.chars().any(char::is_alphanumeric);
        has_text.then(|| Self(truncate_chars(&bounded, MAX_NAME_CHARS).into_owned()))
    }

    /// The name as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// Combining marks that are drawn over or under other characters.
fn is_mark(char: char) -> bool {
    matches!(char, '\u{300}'..='\u{36f}' | '\u{483}'..='\u{489}' | '\u{1ab0}'..='\u{1aff}' | '\u{1dc0}'..='\u{1dff}'
        | '\u{20d0}'..='\u{20ff}' | '\u{fe20}'..='\u{fe2f}')
}

impl From<String> for DisplayName {
    /// A stored name is cleaned again, in case the rules became stricter.
    fn from(name: String) -> Self {
        Self::clean(&name).unwrap_or_else(|| Self("Unnamed client".to_owned()))
    }
}

impl From<DisplayName> for String {
    fn from(name: DisplayName) -> Self {
        name.0
    }
}

impl fmt::Display for DisplayName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn clean(name: &str) -> Option<String> {
        DisplayName::clean(name).map(String::from)
    }

    #[test]
    fn names_are_one_visible_line() {
        for (name, expected) in [
            ("Claude Code", Some("Claude Code")),
            ("  Zed\r\n\teditor ", Some("Zed editor")),
            ("Clau\u{200b}de\u{202e}", Some("Claude")),
            ("\u{2066}safe\u{2069}", Some("safe")),
            ("a\u{a0}\u{3000}b", Some("a b")),
            ("Büro-Helfer 🚀", Some("Büro-Helfer 🚀")),
            ("日本語", Some("日本語")),
            ("", None),
            (" \u{200b} ", None),
            ("\u{2800}\u{2800}", None),
            ("...", None),
        ] {
            assert_eq!(clean(name).as_deref(), expected, "{name:?}");
        }
    }

    #[test]
    fn names_are_bounded() {
        assert_eq!(clean(&"a".repeat(MAX_NAME_CHARS)), Some("a".repeat(MAX_NAME_CHARS)));
        assert_eq!(clean(&"a".repeat(100_000)), Some(format!("{}…", "a".repeat(MAX_NAME_CHARS))));
        assert_eq!(clean(&format!("e{}x", "\u{301}".repeat(50))), Some("e\u{301}\u{301}x".to_owned()));
        assert_eq!(clean(&"\u{200b}".repeat(100_000)), None);
    }

    #[test]
    fn a_stored_name_is_cleaned_again() {
        let name: DisplayName = serde_json::from_str("\"a\\u202eb\"").unwrap();
        assert_eq!(name.as_str(), "ab");
        assert_eq!(serde_json::from_str::<DisplayName>("\"\"").unwrap().as_str(), "Unnamed client");
    }
}
