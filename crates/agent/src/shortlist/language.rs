//! Languages of phrases: stop words and stems.

use std::borrow::Cow;

use rust_stemmers::{Algorithm, Stemmer};

/// A language with a stemmer. All other languages use English: the same function on both sides still finds equal words.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum StemLanguage {
    Danish,
    Dutch,
    English,
    Finnish,
    French,
    German,
    Hungarian,
    Italian,
    Norwegian,
    Portuguese,
    Romanian,
    Russian,
    Spanish,
    Swedish,
}

impl StemLanguage {
    #[cfg(test)]
    const ALL: [Self; 14] = [
        Self::Danish,
        Self::Dutch,
        Self::English,
        Self::Finnish,
        Self::French,
        Self::German,
        Self::Hungarian,
        Self::Italian,
        Self::Norwegian,
        Self::Portuguese,
        Self::Romanian,
        Self::Russian,
        Self::Spanish,
        Self::Swedish,
    ];

    /// The language of a tag such as `de` or `de-AT`. English if it is unknown.
    pub(super) fn from_tag(tag: Option<&str>) -> Self {
        let primary = tag.and_then(|tag| tag.split(['-', '_']).next()).unwrap_or_default();
        match primary.to_ascii_lowercase().as_str() {
            "da" => Self::Danish,
            "nl" => Self::Dutch,
            "fi" => Self::Finnish,
            "fr" => Self::French,
            "de" => Self::German,
            "hu" => Self::Hungarian,
            "it" => Self::Italian,
            "nb" | "nn" | "no" => Self::Norwegian,
            "pt" => Self::Portuguese,
            "ro" => Self::Romanian,
            "ru" => Self::Russian,
            "es" => Self::Spanish,
            "sv" => Self::Swedish,
            _ => Self::English,
        }
    }

    fn stemmer_algorithm(self) -> Algorithm {
        match self {
            Self::Danish => Algorithm::Danish,
            Self::Dutch => Algorithm::Dutch,
            Self::English => Algorithm::English,
            Self::Finnish => Algorithm::Finnish,
            Self::French => Algorithm::French,
            Self::German => Algorithm::German,
            Self::Hungarian => Algorithm::Hungarian,
            Self::Italian => Algorithm::Italian,
            Self::Norwegian => Algorithm::Norwegian,
            Self::Portuguese => Algorithm::Portuguese,
            Self::Romanian => Algorithm::Romanian,
            Self::Russian => Algorithm::Russian,
            Self::Spanish => Algorithm::Spanish,
            Self::Swedish => Algorithm::Swedish,
        }
    }

    /// Stop words, sorted, in the form that [`super::words`] produces.
    fn stop_words(self) -> &'static [&'static str] {
        match self {
            Self::Dutch => DUTCH,
            Self::English => ENGLISH,
            Self::French => FRENCH,
            Self::German => GERMAN,
            Self::Italian => ITALIAN,
            Self::Portuguese => PORTUGUESE,
            Self::Russian => RUSSIAN,
            Self::Spanish => SPANISH,
            Self::Swedish => SWEDISH,
            Self::Danish | Self::Finnish | Self::Hungarian | Self::Norwegian | Self::Romanian => &[],
        }
    }

    /// Whether a word is a stop word.
    pub(super) fn is_stop_word(self, word: &str) -> bool {
        self.stop_words().binary_search(&word).is_ok()
    }

    /// The stem of a folded word. The stemmers are made for the letters of their language and can fail on others, so a
    /// word with other characters is returned unchanged.
    pub(super) fn stem_word(self, word: &str) -> Cow<'_, str> {
        let ours = match self {
            Self::Russian => word.chars().all(|c| matches!(c, 'а'..='я' | 'ё')),
            _ => word.bytes().all(|byte| byte.is_ascii_lowercase()),
        };
        if ours { Stemmer::create(self.stemmer_algorithm()).stem(word) } else { Cow::Borrowed(word) }
    }
}

const ENGLISH: &[&str] = &[
    "a", "about", "all", "also", "am", "an", "and", "any", "are", "as", "at", "be", "been", "being", "but",
    "by", "can", "could", "d", "did", "do", "does", "doing", "down", "for", "from", "had", "has", "have",
    "he", "hello", "her", "here", "hey", "hi", "him", "his", "how", "i", "if", "in", "into", "is", "it",
    "its", "just", "let", "ll", "m", "may", "me", "might", "mine", "must", "my", "need", "no", "not", "of",
    "off", "ok", "okay", "on", "onto", "or", "our", "out", "over", "please", "re", "s", "shall", "she",
    "should", "so", "some", "such", "t", "than", "thanks", "that", "the", "their", "them", "then", "there",
    "these", "they", "this", "those", "to", "too", "up", "us", "ve", "very", "want", "was", "we", "were",
    "what", "when", "where", "which", "who", "whom", "why", "will", "with", "would", "yes", "you", "your",
];
const GERMAN: &[&str] = &[
    "aber", "als", "am", "an", "auf", "aus", "bei", "bin", "bist", "bitte", "da", "das", "dein", "deine",
    "dem", "den", "der", "des", "dich", "die", "dir", "du", "ein", "eine", "einem", "einen", "einer", "er",
    "es", "fur", "habe", "hast", "hat", "ich", "ihr", "im", "in", "ist", "kann", "kannst", "mein", "meine",
    "meinem", "meinen", "meiner", "mich", "mir", "mit", "nach", "nicht", "noch", "oder", "sie", "sind", "so",
    "um", "und", "uns", "vom", "von", "war", "was", "welche", "wenn", "wer", "wie", "will", "wir", "wird",
    "wo", "zu", "zum", "zur",
];
const SPANISH: &[&str] = &[
    "a", "al", "como", "con", "cual", "cuando", "de", "del", "donde", "e", "el", "ella", "en", "era", "es",
    "esta", "este", "esto", "favor", "la", "las", "le", "lo", "los", "me", "mi", "mis", "no", "nos", "o",
    "para", "pero", "por", "puedes", "que", "quien", "quiero", "se", "si", "son", "su", "sus", "te", "tu",
    "tus", "un", "una", "unas", "uno", "unos", "y", "ya", "yo",
];
const FRENCH: &[&str] = &[
    "a", "au", "aux", "avec", "c", "ce", "ces", "cette", "comme", "d", "dans", "de", "des", "du", "elle",
    "en", "es", "est", "et", "il", "j", "je", "l", "la", "le", "les", "leur", "m", "ma", "mais", "me", "mes",
    "moi", "mon", "n", "ne", "nous", "on", "ou", "par", "pas", "plus", "pour", "qu", "que", "quel", "quelle",
    "qui", "s", "sa", "se", "ses", "si", "son", "sont", "sur", "t", "ta", "te", "tes", "toi", "ton", "tu",
    "un", "une", "veux", "vous", "y",
];
const ITALIAN: &[&str] = &[
    "a", "ai", "al", "alla", "che", "chi", "ci", "come", "con", "cosa", "da", "dal", "dei", "del", "della",
    "delle", "di", "e", "gli", "ha", "ho", "i", "il", "in", "io", "l", "la", "le", "lo", "ma", "me", "mi",
    "mia", "mio", "nel", "nella", "no", "non", "o", "per", "piu", "quale", "quando", "se", "si", "sono",
    "su", "sul", "ti", "tra", "tu", "tuo", "un", "una", "uno", "vorrei",
];
const PORTUGUESE: &[&str] = &[
    "a", "ao", "aos", "as", "com", "como", "da", "das", "de", "do", "dos", "e", "ela", "ele", "em", "es",
    "esta", "este", "eu", "favor", "foi", "isso", "isto", "mas", "me", "meu", "meus", "minha", "na", "nao",
    "nas", "no", "nos", "o", "os", "ou", "para", "pela", "pelo", "por", "qual", "quando", "que", "quem",
    "quero", "se", "sem", "seu", "sua", "te", "tem", "um", "uma", "voce",
];
const DUTCH: &[&str] = &[
    "aan", "al", "als", "bij", "dat", "de", "den", "der", "die", "dit", "een", "en", "er", "ga", "heb",
    "het", "hij", "hoe", "ik", "in", "is", "je", "kan", "maar", "me", "met", "mij", "mijn", "moet", "naar",
    "niet", "nog", "of", "om", "ook", "op", "te", "tot", "uit", "van", "voor", "waar", "wanneer", "wat",
    "we", "wie", "wil", "zijn", "zo",
];
const RUSSIAN: &[&str] = &[
    "а",
    "бы",
    "в",
    "вы",
    "да",
    "для",
    "до",
    "его",
    "ее",
    "за",
    "и",
    "из",
    "или",
    "к",
    "как",
    "ко",
    "когда",
    "ли",
    "меня",
    "мне",
    "мой",
    "мы",
    "на",
    "не",
    "нет",
    "но",
    "о",
    "об",
    "он",
    "она",
    "они",
    "от",
    "по",
    "под",
    "при",
    "с",
    "со",
    "так",
    "то",
    "ты",
    "у",
    "уже",
    "что",
    "это",
    "я",
];
const SWEDISH: &[&str] = &[
    "alla", "ar", "att", "av", "da", "de", "dem", "den", "det", "dig", "du", "en", "ett", "for", "fran",
    "har", "hur", "i", "inte", "jag", "kan", "med", "men", "mig", "min", "mitt", "nar", "och", "om", "pa",
    "sig", "sin", "skulle", "som", "till", "ut", "vad", "var", "vara", "vi", "vill",
];

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::shortlist::words::TextAtoms;

    #[test]
    fn tags_are_read_by_their_first_part() {
        assert_eq!(StemLanguage::from_tag(Some("de-AT")), StemLanguage::German);
        assert_eq!(StemLanguage::from_tag(Some("PT_br")), StemLanguage::Portuguese);
        for unknown in [None, Some("ja"), Some(""), Some("klingon")] {
            assert_eq!(StemLanguage::from_tag(unknown), StemLanguage::English);
        }
    }

    #[test]
    fn stop_words_are_sorted_and_folded() {
        for language in StemLanguage::ALL {
            let list = language.stop_words();
            assert!(list.is_sorted(), "{language:?}");
            for word in list {
                let atoms = TextAtoms::from_text(word);
                assert_eq!(atoms.search_words().map(|(word, _)| word).collect::<Vec<_>>(), [*word]);
                assert!(language.is_stop_word(word));
            }
        }
    }

    #[test]
    fn each_language_has_its_own_stems() {
        assert_eq!(StemLanguage::English.stem_word("reminders"), StemLanguage::English.stem_word("reminder"));
        assert_eq!(StemLanguage::German.stem_word("karten"), StemLanguage::German.stem_word("karte"));
        assert_eq!(StemLanguage::Spanish.stem_word("vuelos"), StemLanguage::Spanish.stem_word("vuelo"));
        assert_eq!(StemLanguage::Russian.stem_word("погоды"), StemLanguage::Russian.stem_word("погода"));
        assert_eq!(StemLanguage::English.stem_word("v2"), "v2");
        assert_eq!(StemLanguage::German.stem_word("天気"), "天気");
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2_000))]
        #[test]
        fn no_word_breaks_a_stemmer(latin in "[a-z]{0,12}", vowels in "[aeiouysx]{0,9}", russian in "[а-яё]{0,12}", any in any::<String>()) {
            for language in StemLanguage::ALL {
                for word in [&latin, &vowels, &russian, &any] {
                    let _ = language.stem_word(word);
                }
            }
        }
    }
}
