//! Measures the scanner: recall on attacks, false positives on real tools.
//!
//! Usage: `cargo run -p toolyard-definitions --example scan-corpus -- [--show] [--notes] <file.jsonl>…`
//!
//! Each line is `{"label": "attack" | "benign", "set": "…", "app": "…", "tool": {…}, "peers": [{"app": "…", "tool": {…}}]}`;
//! `set`, `app` and `peers` are optional. With `--show`, attacks that were missed and benign tools that were flagged are
//! printed. With `--notes`, the counts by rule include findings below the threshold.

use std::{collections::BTreeMap, error::Error, io::Write as _};

use serde::Deserialize;
use serde_json::Value;
use toolyard_definitions::scan::{AppTool, ScanFinding, needs_review, scan_list};

#[derive(Deserialize)]
struct CorpusEntry {
    label: String,
    #[serde(default)]
    set: String,
    #[serde(default)]
    app: String,
    tool: Value,
    #[serde(default)]
    peers: Vec<PeerEntry>,
}

#[derive(Deserialize)]
struct PeerEntry {
    app: String,
    tool: Value,
}

#[derive(Default)]
struct SetFigures {
    attacks: usize,
    found: usize,
    benign: usize,
    flagged: usize,
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut out = std::io::stdout().lock();
    let (options, files): (Vec<String>, Vec<String>) =
        std::env::args().skip(1).partition(|argument| argument.starts_with("--"));
    let show = options.iter().any(|option| option == "--show");
    let show_notes = options.iter().any(|option| option == "--notes");
    let mut sets: BTreeMap<String, SetFigures> = BTreeMap::new();
    let mut rules: BTreeMap<String, (usize, usize)> = BTreeMap::new();
    for file in files {
        for line in std::fs::read_to_string(&file)?.lines() {
            let entry: CorpusEntry = serde_json::from_str(line)?;
            let findings = scan_entry(&entry);
            let is_flagged = needs_review(&findings);
            let is_attack = entry.label == "attack";
            let figures = sets.entry(entry.set.clone()).or_default();
            let (total, hits) = if is_attack {
                (&mut figures.attacks, &mut figures.found)
            } else {
                (&mut figures.benign, &mut figures.flagged)
            };
            *total += 1;
            *hits += usize::from(is_flagged);
            for finding in findings.iter().filter(|finding| show_notes || finding.is_flag()) {
                let counts = rules.entry(format!("{:?}", finding.rule)).or_default();
                *if is_attack { &mut counts.0 } else { &mut counts.1 } += 1;
            }
            if show && is_attack != is_flagged {
                show_entry(&mut out, &entry, &findings)?;
            }
        }
    }
    let mut all = SetFigures::default();
    for (set, figures) in &sets {
        write_figures(&mut out, set, figures)?;
        all.attacks += figures.attacks;
        all.found += figures.found;
        all.benign += figures.benign;
        all.flagged += figures.flagged;
    }
    write_figures(&mut out, "all", &all)?;
    for (rule, (attacks, benign)) in rules {
        writeln!(out, "  {rule}: {attacks} attacks, {benign} benign")?;
    }
    Ok(())
}

fn scan_entry(entry: &CorpusEntry) -> Vec<ScanFinding> {
    let peers: Vec<_> =
        entry.peers.iter().map(|peer| AppTool { app: &peer.app, definition: &peer.tool }).collect();
    let tool = AppTool { app: &entry.app, definition: &entry.tool };
    scan_list(&[tool], &peers).into_iter().next().unwrap_or_default()
}

fn show_entry(
    out: &mut impl std::io::Write,
    entry: &CorpusEntry,
    findings: &[ScanFinding],
) -> std::io::Result<()> {
    writeln!(out, "{} {} {} {}", entry.label, entry.set, entry.app, entry.tool["name"])?;
    for finding in findings.iter().filter(|finding| finding.is_flag()) {
        writeln!(out, "    {:?} {} {}: {}", finding.rule, finding.pointer, finding.reason, finding.excerpt)?;
    }
    if findings.iter().all(|finding| !finding.is_flag()) {
        let text: String = entry.tool["description"].to_string().chars().take(400).collect();
        writeln!(out, "    {text}")?;
    }
    Ok(())
}

fn write_figures(out: &mut impl std::io::Write, set: &str, figures: &SetFigures) -> std::io::Result<()> {
    let percent = |part: usize, whole: usize| 100.0 * part as f64 / whole.max(1) as f64;
    writeln!(
        out,
        "{set}: recall {:.1} % ({} of {}), false positives {:.2} % ({} of {})",
        percent(figures.found, figures.attacks),
        figures.found,
        figures.attacks,
        percent(figures.flagged, figures.benign),
        figures.flagged,
        figures.benign,
    )
}
