//! A spoken yes or no, in nine languages, by a fixed vocabulary.
//!
//! This decides whether a transcript answers a request for approval. A wrong yes runs something that nobody wanted, so the rules
//! are strict, and no model is involved:
//!
//! - **Yes** only if the whole utterance consists of words for yes and words without meaning (`uh`, `please`, `thanks`). One word
//!   more (`yes, but ...`, `yes, tomorrow`) and it is unclear; so is a hesitation after the yes, because more may follow.
//! - **No** if the utterance starts with a word for no and has no word for yes. What follows does not matter: `no, the other card`.
//!   In German, Dutch and Japanese, the word may also come last.
//! - **Unclear** otherwise: both words, a question, doubt, something else. Ask again or show a button.
//!
//! Case, accents of Latin letters, punctuation, full-width letters and drawn-out letters (`yesss`) make no difference. Marks that
//! recognizers write for noise (`[noise]`) are ignored; those for speech they did not understand are not.
//!
//! The set that measures it is `evals/spoken-answers`.
//!
//! ```
//! use toolyard_spoken_answer::{AnswerLanguage, SpokenAnswer, interpret};
//!
//! assert_eq!(interpret("Uh, yes please!", Some(AnswerLanguage::English)), SpokenAnswer::Yes);
//! assert_eq!(interpret("yes, but not that one", Some(AnswerLanguage::English)), SpokenAnswer::Unclear);
//! assert_eq!(interpret("Nein danke", None), SpokenAnswer::No);
//! ```

#![warn(missing_docs)]

mod normalize;
mod vocabulary;

use normalize::Utterance;
use vocabulary::{Meaning, Vocabulary};

/// Longest utterance that can be an answer, in words (in characters for Japanese and Chinese).
pub const MAX_WORDS: usize = 24;

/// What an utterance says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum SpokenAnswer {
    /// Yes, and nothing else.
    Yes,
    /// No.
    No,
    /// Neither: ask again.
    Unclear,
}

/// A language with a vocabulary.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum AnswerLanguage {
    /// `en`
    English,
    /// `de`
    German,
    /// `fr`
    French,
    /// `es`
    Spanish,
    /// `it`
    Italian,
    /// `pt`
    Portuguese,
    /// `nl`
    Dutch,
    /// `ja`
    Japanese,
    /// `zh`
    Chinese,
}

impl AnswerLanguage {
    /// All of them.
    pub const ALL: [Self; 9] = [
        Self::English,
        Self::German,
        Self::French,
        Self::Spanish,
        Self::Italian,
        Self::Portuguese,
        Self::Dutch,
        Self::Japanese,
        Self::Chinese,
    ];

    /// The language of a tag such as `de` or `pt-BR`; `None` if it has no vocabulary.
    pub fn from_tag(tag: &str) -> Option<Self> {
        let primary = tag.split(['-', '_']).next().unwrap_or_default();
        Self::ALL.into_iter().find(|language| language.tag().eq_ignore_ascii_case(primary))
    }

    /// Its primary tag.
    pub const fn tag(self) -> &'static str {
        match self {
            Self::English => "en",
            Self::German => "de",
            Self::French => "fr",
            Self::Spanish => "es",
            Self::Italian => "it",
            Self::Portuguese => "pt",
            Self::Dutch => "nl",
            Self::Japanese => "ja",
            Self::Chinese => "zh",
        }
    }
}

/// What an utterance says in a language. Without a language, all of them are tried, and they must not contradict each other.
pub fn interpret(utterance: &str, language: Option<AnswerLanguage>) -> SpokenAnswer {
    let Some(utterance) = Utterance::new(utterance) else { return SpokenAnswer::Unclear };
    if let Some(language) = language {
        return answer(&utterance, Vocabulary::of_language(language));
    }
    let answers = AnswerLanguage::ALL.map(|language| answer(&utterance, Vocabulary::of_language(language)));
    match (answers.contains(&SpokenAnswer::Yes), answers.contains(&SpokenAnswer::No)) {
        (true, false) => SpokenAnswer::Yes,
        (false, true) => SpokenAnswer::No,
        _ => SpokenAnswer::Unclear,
    }
}

/// Whether an utterance has words, apart from marks for noise.
pub fn has_words(utterance: &str) -> bool {
    normalize::has_words(utterance)
}

fn answer(utterance: &Utterance, vocabulary: &Vocabulary) -> SpokenAnswer {
    let mut rest = utterance.words.as_slice();
    let (mut yes, mut no) = (false, false);
    // Whether there is a word that is no part of an answer, one that weakens a yes, and one that may lead to more.
    let (mut other, mut aside, mut hesitates) = (false, false, false);
    let (mut starts_with_no, mut ends_with_no) = (false, false);
    while !rest.is_empty() {
        let (meaning, words) = vocabulary.longest_phrase(rest);
        ends_with_no = meaning == Some(Meaning::No) || (ends_with_no && meaning == Some(Meaning::Polite));
        match meaning {
            Some(Meaning::Yes) => (yes, hesitates) = (true, false),
            Some(Meaning::No) => {
                starts_with_no |= !no && !yes && !other;
                no = true;
            }
            Some(Meaning::Polite) => {}
            Some(Meaning::Hesitation) => hesitates = true,
            Some(Meaning::Aside) => aside = true,
            Some(Meaning::Doubt) => return SpokenAnswer::Unclear,
            None => other = true,
        }
        rest = &rest[words..];
    }
    match (yes, no) {
        (true, false) if !other && !aside && !hesitates => SpokenAnswer::Yes,
        (false, true) if starts_with_no || (vocabulary.ends_with_no && ends_with_no) => SpokenAnswer::No,
        _ => SpokenAnswer::Unclear,
    }
}
