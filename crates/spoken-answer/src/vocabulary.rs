//! The words and phrases of each language.

mod european;
mod unspaced;

use std::sync::LazyLock;

use crate::{AnswerLanguage, normalize};

/// What a phrase means in an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Meaning {
    Yes,
    No,
    /// Please, thanks, sir: changes nothing.
    Polite,
    /// Uh, well: changes nothing before a yes. After it, something else may be about to follow.
    Hesitation,
    /// Oh, ah, but: changes nothing about a no. A yes with it is often none.
    Aside,
    /// Neither yes nor no, although it has such a word: `no problem`, `no idea`.
    Doubt,
}

/// Phrases as they are written here: separated by `|`.
pub(crate) struct PhraseLists {
    pub(crate) yes: &'static str,
    pub(crate) no: &'static str,
    pub(crate) polite: &'static str,
    pub(crate) hesitation: &'static str,
    pub(crate) aside: &'static str,
    pub(crate) doubt: &'static str,
}

/// Understood in every language.
const COMMON: PhraseLists = PhraseLists {
    yes: "yes|ok|okay|okey|o k",
    no: "no|stop|cancel",
    polite: "toolyard",
    hesitation: "uh|um|eh|ehm|hm|hmm|mm|m|er",
    aside: "",
    doubt: "",
};

/// The phrases of one language.
pub(crate) struct Vocabulary {
    /// Longest first.
    phrases: Vec<(Vec<String>, Meaning)>,
    /// Whether a no also stands at the end of a sentence: `stuur dat niet`.
    pub(crate) ends_with_no: bool,
}

static VOCABULARIES: LazyLock<[Vocabulary; 9]> = LazyLock::new(|| AnswerLanguage::ALL.map(Vocabulary::build));

const fn lists(language: AnswerLanguage) -> &'static PhraseLists {
    match language {
        AnswerLanguage::English => &european::ENGLISH,
        AnswerLanguage::German => &european::GERMAN,
        AnswerLanguage::French => &european::FRENCH,
        AnswerLanguage::Spanish => &european::SPANISH,
        AnswerLanguage::Italian => &european::ITALIAN,
        AnswerLanguage::Portuguese => &european::PORTUGUESE,
        AnswerLanguage::Dutch => &european::DUTCH,
        AnswerLanguage::Japanese => &unspaced::JAPANESE,
        AnswerLanguage::Chinese => &unspaced::CHINESE,
    }
}

impl Vocabulary {
    pub(crate) fn of_language(language: AnswerLanguage) -> &'static Self {
        &VOCABULARIES[language as usize]
    }

    fn build(language: AnswerLanguage) -> Self {
        let mut phrases = Vec::new();
        for lists in [lists(language), &COMMON] {
            for (list, meaning) in [
                (lists.yes, Meaning::Yes),
                (lists.no, Meaning::No),
                (lists.polite, Meaning::Polite),
                (lists.hesitation, Meaning::Hesitation),
                (lists.aside, Meaning::Aside),
                (lists.doubt, Meaning::Doubt),
            ] {
                let words = list.split('|').map(normalize::words).filter(|words| !words.is_empty());
                phrases.extend(words.map(|words| (words, meaning)));
            }
        }
        phrases.sort_by_key(|(words, _)| std::cmp::Reverse(words.len()));
        let ends_with_no =
            matches!(language, AnswerLanguage::German | AnswerLanguage::Dutch | AnswerLanguage::Japanese);
        Self { phrases, ends_with_no }
    }

    /// The meaning of the longest phrase at the start of these words, and how many words it has. An unknown word has none.
    pub(crate) fn longest_phrase(&self, words: &[String]) -> (Option<Meaning>, usize) {
        let found = self.phrases.iter().find(|(phrase, _)| words.starts_with(phrase));
        found.map_or((None, 1), |(phrase, meaning)| (Some(*meaning), phrase.len()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_phrase_means_two_things_in_one_language() {
        for language in AnswerLanguage::ALL {
            let phrases = &Vocabulary::of_language(language).phrases;
            for (at, (words, meaning)) in phrases.iter().enumerate() {
                let other = phrases[..at].iter().find(|(other, _)| other == words);
                assert!(other.is_none_or(|(_, other)| other == meaning), "{language:?}: {words:?}");
            }
        }
    }
}
