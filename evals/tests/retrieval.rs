//! The share of expected tools that is found. The floors are a little below the measured values, so that a regression
//! shows.

#![cfg(test)]

use std::sync::Arc;

use toolyard_evals::retrieval::{KS, ShortlistReport, WordVectors, measure_shortlist};
use toolyard_testkit::word_vectors_folder;

const TOOLS: &[u8] = include_bytes!("../retrieval/tools.jsonl");
const QUESTIONS: &[u8] = include_bytes!("../retrieval/questions.jsonl");

fn measure(vectors: Option<Arc<WordVectors>>) -> ShortlistReport {
    let start = tokio::time::Instant::now();
    let report = measure_shortlist(TOOLS, QUESTIONS, vectors, || start.elapsed()).unwrap();
    println!("{report}");
    report
}

/// Recall at 1, 3, 5, 10 and 24 by kind of question, in percent.
fn check(report: &ShortlistReport, floors: &[(&str, [f64; 5])]) {
    for (kind, floors) in floors {
        let row = report.kinds[*kind];
        for ((recall, floor), k) in row.recall.iter().zip(floors).zip(KS) {
            assert!(100.0 * recall >= *floor, "{kind} at {k}: {:.1} is below {floor}", 100.0 * recall);
        }
        assert!(100.0 * row.picked >= floors[4], "{kind}: the list has fewer than the ranking");
    }
}

#[test]
fn words_alone_find_what_is_said() {
    let report = measure(None);
    assert_eq!((report.tools, report.all.questions, report.vectors), (151, 200, false));
    let floors = [
        ("direct", [92.0, 99.0, 99.0, 99.0, 99.0]),
        ("language", [95.0, 95.0, 95.0, 95.0, 95.0]),
        ("multi", [42.0, 87.0, 92.0, 95.0, 97.0]),
        ("paraphrased", [3.0, 5.0, 10.0, 10.0, 11.0]),
    ];
    check(&report, &floors);
}

#[test]
fn vectors_find_what_is_meant() {
    let Some(folder) = word_vectors_folder() else { return };
    let report = measure(Some(Arc::new(WordVectors::open(&folder).unwrap())));
    assert!(report.vectors);
    let floors = [
        ("direct", [97.0, 99.0, 99.0, 99.0, 99.0]),
        ("language", [95.0, 95.0, 95.0, 95.0, 95.0]),
        ("multi", [42.0, 92.0, 95.0, 95.0, 97.0]),
        ("paraphrased", [15.0, 38.0, 50.0, 60.0, 68.0]),
    ];
    check(&report, &floors);
}

#[test]
fn a_report_is_json_as_well() {
    let tools = br#"{"name":"add_task","description":"Adds a task"}"#;
    let questions = br#"{"text":"add a task","tools":["add_task"]}"#;
    let mut ticks = 0;
    let now = || {
        ticks += 1;
        std::time::Duration::from_millis(ticks * ticks)
    };
    let report = measure_shortlist(&tools[..], &questions[..], None, now).unwrap();
    let json = serde_json::to_value(&report).unwrap();
    assert_eq!(json["all"]["recall"], serde_json::json!([1.0, 1.0, 1.0, 1.0, 1.0]));
    assert_eq!((&json["build"], &json["mean"], &json["p95"]), (&0.003.into(), &0.007.into(), &0.007.into()));
    assert_eq!(json["kinds"], serde_json::json!({}));
}
