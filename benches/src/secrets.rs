//! The search for secrets in results, which every result for a model passes.

use std::time::Instant;

use toolyard_redaction::Redactor;

use crate::process::percentile;

/// Sizes of results, and how often each is searched.
const RESULTS: [(&str, usize, usize); 2] = [("10 KB", 10_000, 2_000), ("1 MB", 1_000_000, 100)];
/// What a result consists of: an item as APIs list them.
const ITEM: &str = r#"{"id":"550e8400-e29b-41d4-a716-446655440000","url":"https://example.com/a?b=c","task":"ask about it"},"#;

pub fn measure() {
    println!("Secrets in results. Time for one result, on one core.");
    println!("{:<26} {:>12} {:>12}", "result", "p50 us", "p95 us");
    let token = format!("ghp_{}", "0123456789abcdefghijABCDEFGHIJ012345");
    for (size, bytes, times) in RESULTS {
        let items = ITEM.repeat(bytes / ITEM.len());
        let wrapped = |more: &str| format!(r#"{{"content":[{items}{{"text":"{more}"}}]}}"#);
        for (name, result, found) in [("no secret", wrapped("end"), 0), ("one secret", wrapped(&token), 1)] {
            let mut redactor = Redactor::new([1; 32]);
            assert_eq!(redactor.redact_json("com.bench.echo", &result).count, found);
            let samples: Vec<f64> = (0..times)
                .map(|_| {
                    let began = Instant::now();
                    let redacted = redactor.redact_json("com.bench.echo", &result);
                    assert_eq!(redacted.count, found);
                    began.elapsed().as_secs_f64() * 1e6
                })
                .collect();
            let name = format!("{size}, {name}");
            println!("{name:<26} {:>12.1} {:>12.1}", percentile(&samples, 0.5), percentile(&samples, 0.95));
        }
    }
    println!();
}
