//! Wake words, and the question after one.

use std::collections::BTreeMap;

use super::normalized::{NormalizedText, comparison_key};

/// Most wake words.
pub const MAX_WAKE_WORDS: usize = 200;
/// Fewest letters of a wake word: shorter ones would match too often.
pub const MIN_LETTERS: usize = 5;

/// The default wake words, by language.
pub const DEFAULTS: &[(&str, &[&str])] = &[
    (
        "en",
        &[
            "hey toolyard",
            "ok toolyard",
            "okay toolyard",
            "hi toolyard",
            "hey mentra",
            "ok mentra",
            "okay mentra",
        ],
    ),
    ("de", &["hallo toolyard", "he toolyard", "hei toolyard", "hallo mentra", "hei mentra"]),
    ("fr", &["hé toolyard", "dis toolyard", "salut toolyard", "dis mentra", "salut mentra"]),
    ("es", &["oye toolyard", "hola toolyard", "oye mentra", "hola mentra"]),
    ("it", &["ehi toolyard", "ciao toolyard", "ehi mentra"]),
    ("pt", &["ei toolyard", "olá toolyard", "ei mentra"]),
    ("nl", &["hoi toolyard", "hoi mentra"]),
    ("ja", &["ねえツールヤード", "ヘイツールヤード", "ねえメントラ"]),
    ("zh", &["嘿 toolyard", "你好 toolyard"]),
];

/// Why the wake words cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum WakeWordError {
    /// It would match too often.
    #[error("wake.{0}: `{1}` has fewer than {MIN_LETTERS} letters; it would match too often")]
    Short(String, String),
    /// There are none.
    #[error("wake: no wake words; configure at least one")]
    None,
    /// There are too many.
    #[error("wake: {0} wake words; at most {MAX_WAKE_WORDS} are allowed")]
    Many(usize),
}

/// All wake words, of all languages: users may switch between languages.
#[derive(Debug, Clone)]
pub struct WakeWords(Vec<Vec<char>>);

impl WakeWords {
    /// The defaults, except for languages that are configured.
    pub fn new(configured: &BTreeMap<String, Vec<String>>) -> Result<Self, WakeWordError> {
        let defaults = DEFAULTS.iter().filter(|(language, _)| !configured.contains_key(*language));
        let defaults = defaults.flat_map(|(language, list)| list.iter().map(move |word| (*language, *word)));
        let own = configured
            .iter()
            .flat_map(|(language, list)| list.iter().map(move |word| (language.as_str(), word.as_str())));
        let mut words: Vec<Vec<char>> = Vec::new();
        for (language, word) in defaults.chain(own) {
            let letters: Vec<char> = comparison_key(word).chars().collect();
            if letters.len() < MIN_LETTERS {
                return Err(WakeWordError::Short(language.to_owned(), word.to_owned()));
            }
            if !words.contains(&letters) {
                words.push(letters);
            }
        }
        match words.len() {
            0 => Err(WakeWordError::None),
            many if many > MAX_WAKE_WORDS => Err(WakeWordError::Many(many)),
            _ => Ok(Self(words)),
        }
    }

    /// The text after the last wake word; `None` if there is no wake word.
    pub fn text_after<'a>(&self, text: &'a str) -> Option<&'a str> {
        let normal = NormalizedText::new(text);
        let end = self.0.iter().filter_map(|word| normal.find_last(word)).max()?;
        Some(
            text[end..]
                .trim_start_matches(|c: char| !c.is_alphanumeric() && !matches!(c, '"' | '\'' | '¿' | '('))
                .trim(),
        )
    }
}

impl Default for WakeWords {
    fn default() -> Self {
        // A test checks that the defaults are valid.
        Self::new(&BTreeMap::new()).unwrap_or(Self(Vec::new()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_text_after_the_wake_word_is_the_question() {
        let words = WakeWords::default();
        for (text, question) in [
            ("Hey Toolyard, what time is it?", Some("what time is it?")),
            ("so I said hey mentr a add milk", Some("add milk")),
            ("Hallo Toolyard. Wie spät ist es?", Some("Wie spät ist es?")),
            ("Oye Toolyard, ¿qué hora es?", Some("¿qué hora es?")),
            ("ねえ、ツールヤード。今何時？", Some("今何時？")),
            ("hey toolyard", Some("")),
            ("hey there", None),
            ("toolyard is nice", None),
        ] {
            assert_eq!(words.text_after(text), question, "{text}");
        }
    }

    #[test]
    fn a_configured_language_replaces_its_list_only() {
        let own = BTreeMap::from([("en".to_owned(), vec!["computer".to_owned()])]);
        let words = WakeWords::new(&own).unwrap();
        assert_eq!(words.text_after("computer lights on"), Some("lights on"));
        assert_eq!(words.text_after("hey toolyard lights on"), None);
        assert!(words.text_after("hallo toolyard licht an").is_some());
    }

    #[test]
    fn unusable_wake_words_are_refused() {
        let of = |list: Vec<String>| WakeWords::new(&BTreeMap::from([("en".to_owned(), list)]));
        assert_eq!(
            of(vec!["hey!".to_owned()]).unwrap_err(),
            WakeWordError::Short("en".to_owned(), "hey!".to_owned())
        );
        let many = (0..=MAX_WAKE_WORDS).map(|n| format!("word number {n}")).collect();
        assert!(matches!(of(many).unwrap_err(), WakeWordError::Many(_)));
        let none = DEFAULTS.iter().map(|(language, _)| ((*language).to_owned(), Vec::new())).collect();
        assert_eq!(WakeWords::new(&none).unwrap_err(), WakeWordError::None);
    }
}
