//! How well the listener detects questions to the assistant: measured on a labelled data set and printed.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use tokio::time::Instant;
use toolyard_assistant::listener::{
    ListenerDecision, ListeningSettings, QuestionListener, SpeechPiece, wake::WakeWords,
};

const UTTERANCES: &str = include_str!("../../data/utterances.tsv");

/// Right and wrong decisions of one language.
#[derive(Default, Clone, Copy)]
struct Count {
    heard: usize,
    missed: usize,
    ignored: usize,
    wrongly_heard: usize,
}

impl Count {
    fn all(self) -> usize {
        self.heard + self.missed + self.ignored + self.wrongly_heard
    }

    fn recall(self) -> f64 {
        self.heard as f64 / (self.heard + self.missed).max(1) as f64
    }

    fn precision(self) -> f64 {
        self.heard as f64 / (self.heard + self.wrongly_heard).max(1) as f64
    }
}

/// Whether the speech becomes a question in that situation.
fn is_heard(situation: &str, words: &str) -> bool {
    let mut listener = QuestionListener::new(Arc::new(WakeWords::default()), ListeningSettings::default());
    let start = Instant::now();
    let wait = match situation {
        "idle" => 0,
        "pressed" => {
            assert_eq!(listener.on_press(start), ListenerDecision::Listening);
            1
        }
        "after" | "aside" => {
            listener.answer_ended(start);
            3
        }
        "late" => {
            listener.answer_ended(start);
            12
        }
        "busy" => {
            listener.answer_started();
            1
        }
        other => panic!("{other} is no situation"),
    };
    let now = start + Duration::from_secs(wait);
    let verdict =
        listener.on_speech(SpeechPiece { text: words, is_final: true, ..SpeechPiece::default() }, now);
    matches!(verdict, ListenerDecision::Question(_))
}

#[test]
fn addressed_or_not() {
    let mut counts: BTreeMap<&str, Count> = BTreeMap::new();
    let mut wrong = Vec::new();
    for line in UTTERANCES.lines().filter(|line| !line.starts_with('#')) {
        let fields: Vec<&str> = line.split('\t').collect();
        let &[language, situation, addressed, words] = fields.as_slice() else {
            panic!("four fields: {line}")
        };
        let count = counts.entry(language).or_default();
        match (addressed, is_heard(situation, words)) {
            ("yes", true) => count.heard += 1,
            ("yes", false) => count.missed += 1,
            ("no", false) => count.ignored += 1,
            ("no", true) => count.wrongly_heard += 1,
            _ => panic!("yes or no: {line}"),
        }
        if (addressed == "yes") != is_heard(situation, words) {
            wrong.push(line);
        }
    }
    let total = counts.values().fold(Count::default(), |sum, count| Count {
        heard: sum.heard + count.heard,
        missed: sum.missed + count.missed,
        ignored: sum.ignored + count.ignored,
        wrongly_heard: sum.wrongly_heard + count.wrongly_heard,
    });
    println!(
        "{:<9}{:>6}{:>7}{:>8}{:>9}{:>7}{:>8}{:>11}",
        "language", "all", "heard", "missed", "ignored", "wrong", "recall", "precision"
    );
    for (language, count) in
        counts.iter().map(|(language, count)| (*language, *count)).chain([("all", total)])
    {
        println!(
            "{language:<9}{:>6}{:>7}{:>8}{:>9}{:>7}{:>8.3}{:>11.3}",
            count.all(),
            count.heard,
            count.missed,
            count.ignored,
            count.wrongly_heard,
            count.recall(),
            count.precision()
        );
    }
    for line in &wrong {
        println!("wrong: {line}");
    }
    assert!(total.all() >= 100 && counts.len() >= 4, "the set is large and in several languages");
    assert!(total.recall() >= 0.98, "{:.3}", total.recall());
    assert!(total.precision() >= 0.95, "{:.3}", total.precision());
}
