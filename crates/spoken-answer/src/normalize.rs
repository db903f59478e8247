//! An utterance as words that can be compared.

use unicode_normalization::{UnicodeNormalization as _, char::is_combining_mark};

use crate::MAX_WORDS;

/// Longest transcript that is looked at, in characters. An answer is far shorter.
const MAX_CHARS: usize = 300;

/// What recognizers write for sounds that are not speech.
const NOISE: &[&str] = &[
    "noise",
    "background noise",
    "music",
    "cough",
    "coughs",
    "breath",
    "breathing",
    "silence",
    "static",
    "beep",
    "click",
    "rauschen",
    "geraeusch",
    "bruit",
    "ruido",
    "rumore",
    "ruis",
    "雑音",
    "噪音",
    "噪声",
];

/// The words of an utterance that is no question.
pub(crate) struct Utterance {
    pub(crate) words: Vec<String>,
}

impl Utterance {
    /// `None` if it is a question, empty or too long to be an answer.
    pub(crate) fn new(text: &str) -> Option<Self> {
        if text.chars().nth(MAX_CHARS).is_some() || text.contains(['?', '？', '¿', '؟']) {
            return None;
        }
        let words = words(&without_noise(text));
        (1..=MAX_WORDS).contains(&words.len()).then_some(Self { words })
    }
}

/// Whether something was said: long transcripts have words.
pub(crate) fn has_words(text: &str) -> bool {
    text.chars().nth(MAX_CHARS).is_some() || !words(&without_noise(text)).is_empty()
}

/// The text without its marks for noise. Other marks stay, and count as words.
fn without_noise(text: &str) -> String {
    let mut kept = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(open) = rest.find(['[', '(', '<', '*', '（', '［']) {
        let (before, marked) = rest.split_at(open);
        kept.push_str(before);
        let first = marked.chars().next().map_or(0, char::len_utf8);
        let inner = &marked[first..];
        let close = inner.find([']', ')', '>', '*', '）', '］']);
        match close.filter(|close| NOISE.contains(&words(&inner[..*close]).join(" ").as_str())) {
            Some(close) => {
                let last = inner[close..].chars().next().map_or(0, char::len_utf8);
                rest = &inner[close + last..];
            }
            None => rest = inner,
        }
        kept.push(' ');
    }
    kept.push_str(rest);
    kept
}

/// Words in lower case and without accents. A character of Japanese or Chinese is a word of its own.
pub(crate) fn words(text: &str) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    let mut is_open = false;
    for character in folded(text) {
        if is_unspaced(character) {
            words.push(character.to_string());
            is_open = false;
        } else if character.is_alphanumeric() {
            match words.last_mut().filter(|_| is_open) {
                Some(word) => word.push(character),
                None => words.push(character.to_string()),
            }
            is_open = true;
        } else {
            // `don't` is one word, `d'accord` and `n'envoie` are two.
            let is_apostrophe = matches!(character, '\'' | '’' | 'ʼ' | '`');
            is_open &= is_apostrophe && words.last().is_some_and(|word| word.len() > 1);
        }
    }
    words
}

/// In lower case, without accents of Latin letters and differences of width; three or more of a character are one.
fn folded(text: &str) -> Vec<char> {
    let characters: Vec<char> = text.nfkc().flat_map(char::to_lowercase).flat_map(without_accent).collect();
    let runs = characters.chunk_by(|one, next| one == next);
    runs.flat_map(|run| &run[..if run.len() > 2 { 1 } else { run.len() }]).copied().collect()
}

/// The letters of a character without accents. Umlauts are other letters (`äh` is not `ah`), and so are kana with their marks.
fn without_accent(character: char) -> Vec<char> {
    match character {
        'ä' => vec!['a', 'e'],
        'ö' => vec!['o', 'e'],
        'ü' => vec!['u', 'e'],
        'ß' => vec!['s', 's'],
        other if is_unspaced(other) => vec![other],
        other => std::iter::once(other).nfd().filter(|part| !is_combining_mark(*part)).collect(),
    }
}

/// Kana and Chinese characters, which are written without spaces.
fn is_unspaced(character: char) -> bool {
    matches!(character, '\u{3005}'..='\u{3007}' | '\u{3041}'..='\u{30ff}' | '\u{3400}'..='\u{9fff}' | '\u{f900}'..='\u{faff}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_compared_without_case_accents_and_punctuation() {
        for (text, expected) in [
            ("Sí, POR favor!", "si por favor"),
            ("Ｙｅｓ　ｐｌｅａｓｅ", "yes please"),
            ("d’accord / don't", "d accord dont"),
            ("vas-y", "vas y"),
            ("Yesss noooo okaaay yes yes", "yes no okay yes yes"),
            ("ｶﾞはい、が", "ガ は い が"),
            ("好好好", "好"),
        ] {
            assert_eq!(words(text).join(" "), expected, "{text}");
        }
    }

    #[test]
    fn noise_is_ignored_and_other_marks_are_not() {
        for (text, expected) in [
            ("[noise] yes", Some("yes")),
            ("yes (Background noise).", Some("yes")),
            ("*coughs* yes", Some("yes")),
            ("[inaudible] yes", Some("inaudible yes")),
            ("yes [no", Some("yes no")),
            ("[noise]", None),
            ("yes?", None),
            ("", None),
        ] {
            let utterance = Utterance::new(text).map(|utterance| utterance.words.join(" "));
            assert_eq!(utterance.as_deref(), expected, "{text}");
            assert_eq!(has_words(text), !matches!(text, "[noise]" | ""), "{text}");
        }
    }
}
