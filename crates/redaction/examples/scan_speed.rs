//! Prints how fast secrets are searched, and how many were found: in the files named on the command line, or in a made-up text.
//!
//! `cargo run --release -p toolyard-redaction --example scan_speed -- package-lock.json`

#![expect(clippy::print_stdout, clippy::disallowed_methods, reason = "a measuring tool for people")]

use std::time::Instant;

use toolyard_redaction::{Redactor, find_secrets};

fn main() -> std::io::Result<()> {
    let mut texts = Vec::new();
    for path in std::env::args().skip(1) {
        // Binary files are read as far as they are text.
        texts.push((path.clone(), String::from_utf8_lossy(&std::fs::read(path)?).into_owned()));
    }
    if texts.is_empty() {
        let item = r#"{"id":"550e8400-e29b-41d4-a716-446655440000","url":"https://example.com/a?b=c","task":"ask about it"},"#;
        texts.push(("made up".to_owned(), item.repeat((1 << 20) / item.len())));
    }
    let (mut bytes, mut seconds, mut secrets) = (0, 0.0, 0);
    find_secrets("builds the automaton");
    for (name, text) in &texts {
        let start = Instant::now();
        let found = find_secrets(text);
        seconds += start.elapsed().as_secs_f64();
        bytes += text.len();
        secrets += found.len();
        for secret in found {
            println!("{name}: {} at {:?}", secret.kind, secret.range);
        }
    }
    let megabytes = bytes as f64 / 1e6;
    println!("{} texts, {megabytes:.1} MB: {secrets} secrets, {:.0} MB/s", texts.len(), megabytes / seconds);
    let mut redactor = Redactor::new([0; 32]);
    let start = Instant::now();
    let redacted: usize = texts.iter().map(|(_, text)| redactor.redact_json("example", text).count).sum();
    println!("redact_json: {redacted} secrets, {:.0} MB/s", megabytes / start.elapsed().as_secs_f64());
    Ok(())
}
