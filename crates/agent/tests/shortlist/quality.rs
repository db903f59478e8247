//! The share of expected tools that is found. The floors are a little below the measured values, so that a regression
//! shows.

use std::{fs::File, io::BufReader, path::Path, sync::Arc};

use toolyard_agent::shortlist::{eval, vectors::WordVectors};

use crate::{clock, vectors};

fn measure(vectors: Option<Arc<WordVectors>>) -> eval::ShortlistReport {
    let file = |name| {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../evals/retrieval").join(name);
        BufReader::new(File::open(path).unwrap())
    };
    let report =
        eval::measure_shortlist(file("tools.jsonl"), file("questions.jsonl"), vectors, clock()).unwrap();
    println!("{report}");
    report
}

/// Recall at 1, 3, 5, 10 and 24 by kind of question, in percent.
fn check(report: &eval::ShortlistReport, floors: &[(&str, [f64; 5])]) {
    for (kind, floors) in floors {
        let row = report.kinds[*kind];
        for ((recall, floor), k) in row.recall.iter().zip(floors).zip(eval::KS) {
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
    let Some(vectors) = vectors() else { return };
    let report = measure(Some(vectors));
    assert!(report.vectors);
    let floors = [
        ("direct", [97.0, 99.0, 99.0, 99.0, 99.0]),
        ("language", [95.0, 95.0, 95.0, 95.0, 95.0]),
        ("multi", [42.0, 92.0, 95.0, 95.0, 97.0]),
        ("paraphrased", [15.0, 38.0, 50.0, 60.0, 68.0]),
    ];
    check(&report, &floors);
}

/// Any set: `cargo test --release -p toolyard-agent --test shortlist any_set -- --ignored --nocapture`, with the
/// directory of `tools.jsonl` and `questions.jsonl` in `TOOLYARD_EVAL_SET`.
#[test]
#[ignore = "measures a set of one's own"]
fn any_set() {
    let directory = std::env::var_os("TOOLYARD_EVAL_SET").expect("TOOLYARD_EVAL_SET names a directory");
    let file = |name| BufReader::new(File::open(Path::new(&directory).join(name)).unwrap());
    for vectors in [None, vectors()] {
        println!(
            "{}",
            eval::measure_shortlist(file("tools.jsonl"), file("questions.jsonl"), vectors, clock()).unwrap()
        );
    }
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
    let report = eval::measure_shortlist(&tools[..], &questions[..], None, now).unwrap();
    let json = serde_json::to_value(&report).unwrap();
    assert_eq!(json["all"]["recall"], serde_json::json!([1.0, 1.0, 1.0, 1.0, 1.0]));
    assert_eq!((&json["build"], &json["mean"], &json["p95"]), (&0.003.into(), &0.007.into(), &0.007.into()));
    assert_eq!(json["kinds"], serde_json::json!({}));
}
