//! The labelled utterances of `evals/spoken-answers`: no false yes, and nearly all of them right.

#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a test fails with a panic and prints its figures"
)]

use std::collections::BTreeMap;

use toolyard_spoken_answer::{AnswerLanguage, SpokenAnswer, interpret};

#[derive(serde::Deserialize)]
struct LabelledUtterance {
    text: String,
    lang: String,
    label: String,
    #[serde(default)]
    held_out: bool,
}

impl LabelledUtterance {
    fn expected(&self) -> SpokenAnswer {
        match self.label.as_str() {
            "yes" => SpokenAnswer::Yes,
            "no" => SpokenAnswer::No,
            "unclear" => SpokenAnswer::Unclear,
            other => panic!("unknown label {other}"),
        }
    }
}

fn utterances() -> Vec<LabelledUtterance> {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../evals/spoken-answers/utterances.jsonl");
    let text = std::fs::read_to_string(path).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// All, right ones, wrong ones that are a yes.
#[derive(Default, Clone, Copy)]
struct AnswerScore {
    all: usize,
    right: usize,
    false_yes: usize,
}

impl AnswerScore {
    fn percent(self) -> f64 {
        100.0 * self.right as f64 / self.all as f64
    }
}

fn score(is_language_known: bool) -> BTreeMap<(String, bool), AnswerScore> {
    let mut scores: BTreeMap<_, AnswerScore> = BTreeMap::new();
    for utterance in utterances() {
        let language = AnswerLanguage::from_tag(&utterance.lang).unwrap();
        let answer = interpret(&utterance.text, is_language_known.then_some(language));
        let is_right = answer == utterance.expected();
        if !is_right && (is_language_known || answer == SpokenAnswer::Yes) {
            let part = if utterance.held_out { "held out" } else { "" };
            println!("{} `{}` is {}, not {answer:?} {part}", utterance.lang, utterance.text, utterance.label);
        }
        for language in [utterance.lang.as_str(), "all"] {
            let score = scores.entry((language.to_owned(), utterance.held_out)).or_default();
            score.all += 1;
            score.right += usize::from(is_right);
            score.false_yes += usize::from(!is_right && answer == SpokenAnswer::Yes);
        }
    }
    for ((language, held_out), score) in &scores {
        let part = if *held_out { "held out" } else { "open" };
        println!(
            "{language} {part}: {} of {}, {:.1} %, {} false yes",
            score.right,
            score.all,
            score.percent(),
            score.false_yes
        );
    }
    scores
}

#[test]
fn no_utterance_is_a_false_yes_and_95_percent_are_right_in_every_language() {
    let scores = score(true);
    for (part, score) in &scores {
        assert_eq!(score.false_yes, 0, "{part:?}");
    }
    for language in AnswerLanguage::ALL.map(AnswerLanguage::tag).into_iter().chain(["all"]) {
        let open = scores[&(language.to_owned(), false)];
        assert!(open.percent() >= 95.0, "{language}: {:.1} %", open.percent());
    }
    assert!(scores[&("all".to_owned(), true)].percent() >= 95.0, "held out");
}

#[test]
fn without_a_language_there_is_no_false_yes_either() {
    for (part, score) in score(false) {
        assert_eq!(score.false_yes, 0, "{part:?}");
    }
}

/// A device may be set to another language than the one that is spoken.
#[test]
fn in_the_wrong_language_there_is_no_false_yes_either() {
    for utterance in utterances().iter().filter(|utterance| utterance.label != "yes") {
        for language in AnswerLanguage::ALL {
            let answer = interpret(&utterance.text, Some(language));
            assert_ne!(answer, SpokenAnswer::Yes, "{} `{}` in {language:?}", utterance.lang, utterance.text);
        }
    }
}

#[test]
fn the_set_has_a_thousand_utterances_in_nine_languages_and_a_part_that_was_held_out() {
    let utterances = utterances();
    assert!(utterances.len() >= 1_000);
    for language in AnswerLanguage::ALL {
        for label in ["yes", "no", "unclear"] {
            let count = |held_out| {
                let of = |u: &&LabelledUtterance| {
                    u.lang == language.tag() && u.label == label && u.held_out == held_out
                };
                utterances.iter().filter(of).count()
            };
            assert!(count(false) >= 30 && count(true) >= 4, "{language:?} {label}");
        }
    }
}
