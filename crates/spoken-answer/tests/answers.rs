//! Rules that hold whatever the words are.

use proptest::prelude::*;
use toolyard_spoken_answer::{AnswerLanguage, MAX_WORDS, SpokenAnswer, interpret};

const YES: [(&str, AnswerLanguage); 9] = [
    ("yes", AnswerLanguage::English),
    ("ja", AnswerLanguage::German),
    ("oui", AnswerLanguage::French),
    ("sí", AnswerLanguage::Spanish),
    ("sì", AnswerLanguage::Italian),
    ("sim", AnswerLanguage::Portuguese),
    ("ja", AnswerLanguage::Dutch),
    ("はい", AnswerLanguage::Japanese),
    ("是", AnswerLanguage::Chinese),
];

#[test]
fn a_question_is_no_answer() {
    for (word, language) in YES {
        assert_eq!(interpret(word, Some(language)), SpokenAnswer::Yes);
        assert_eq!(interpret(word, None), SpokenAnswer::Yes);
        assert_eq!(interpret(&format!("{word}?"), Some(language)), SpokenAnswer::Unclear);
        assert_eq!(interpret(&format!("{word}？"), None), SpokenAnswer::Unclear);
    }
}

#[test]
fn the_words_of_another_language_are_no_answer_if_the_language_is_known() {
    assert_eq!(interpret("oui", Some(AnswerLanguage::German)), SpokenAnswer::Unclear);
    assert_eq!(interpret("sim", Some(AnswerLanguage::English)), SpokenAnswer::Unclear);
    assert_eq!(interpret("yes", Some(AnswerLanguage::German)), SpokenAnswer::Yes, "known everywhere");
}

#[test]
fn a_long_utterance_is_no_answer() {
    assert_eq!(interpret(&"yes ".repeat(MAX_WORDS), None), SpokenAnswer::Yes);
    assert_eq!(interpret(&"yes ".repeat(MAX_WORDS + 1), None), SpokenAnswer::Unclear);
    assert_eq!(interpret(&"no ".repeat(100_000), None), SpokenAnswer::Unclear);
}

#[test]
fn tags_with_regions_name_their_language() {
    for (tag, language) in [
        ("de-AT", Some(AnswerLanguage::German)),
        ("pt_BR", Some(AnswerLanguage::Portuguese)),
        ("ZH-Hant-TW", Some(AnswerLanguage::Chinese)),
        ("ko", None),
        ("", None),
    ] {
        assert_eq!(AnswerLanguage::from_tag(tag), language, "{tag}");
    }
}

proptest! {
    #[test]
    fn a_yes_with_an_unknown_word_is_never_a_yes(at in 0..9usize, word in "[bcdfgklqvwxz]{5,9}", before in any::<bool>()) {
        let (yes, language) = YES[at];
        let text = if before { format!("{word} {yes}") } else { format!("{yes}, {word}") };
        prop_assert_ne!(interpret(&text, Some(language)), SpokenAnswer::Yes);
        prop_assert_ne!(interpret(&text, None), SpokenAnswer::Yes);
    }

    #[test]
    fn a_yes_with_a_no_is_never_a_yes(at in 0..9usize, no in 0..9usize, before in any::<bool>()) {
        let nos = ["no", "nein", "non", "no", "no", "não", "nee", "いいえ", "不"];
        let (yes, _) = YES[at];
        let text = if before { format!("{} {yes}", nos[no]) } else { format!("{yes} {}", nos[no]) };
        prop_assert_ne!(interpret(&text, None), SpokenAnswer::Yes);
        prop_assert_ne!(interpret(&text, Some(YES[no].1)), SpokenAnswer::Yes);
    }

    #[test]
    fn any_text_gets_an_answer(text in any::<String>()) {
        interpret(&text, None);
    }
}
