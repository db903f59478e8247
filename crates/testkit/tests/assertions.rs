//! What tests may assert. A text scan over all Rust code, tests included.

use std::{
    fs,
    path::{Path, PathBuf},
};

const LEFT_OUT: &[&str] = &["target", "node_modules"];

fn source_files(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        if path.is_dir() && !LEFT_OUT.contains(&name.as_str()) {
            source_files(&path, found);
        } else if name.ends_with(".rs") {
            found.push(path);
        }
    }
}

/// The texts that a line says are absent: `!page.text.contains("this")`.
fn absent_texts(line: &str) -> impl Iterator<Item = &str> {
    line.match_indices(".contains(\"").filter_map(|(at, call)| {
        let subject = |c: char| c.is_alphanumeric() || "_.()[]?:".contains(c);
        let before = line[..at].trim_end_matches(subject);
        let text = line[at + call.len()..].split('"').next()?;
        // A name before it makes it a macro: `assert!(page.contains("this"))`.
        let negated = before.strip_suffix('!')?;
        (!negated.ends_with(|c: char| c.is_alphanumeric())).then_some(text)
    })
}

/// Ids, digests and signatures are hexadecimal: three of their digits spell "ada" in one of every hundred.
fn random_hex_can_spell(text: &str) -> bool {
    text.len() <= 5 && text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}

#[test]
fn no_absent_text_can_occur_by_chance() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut files = Vec::new();
    for top in ["crates", "apps", "benches", "evals"] {
        source_files(&root.join(top), &mut files);
    }
    let mut faults = Vec::new();
    for file in files {
        let text = fs::read_to_string(&file).unwrap();
        let place = file.strip_prefix(&root).unwrap_or(&file).display();
        for (number, line) in text.lines().enumerate() {
            for absent in absent_texts(line).filter(|text| random_hex_can_spell(text)) {
                faults.push(format!("{place}:{}: {absent:?}", number + 1));
            }
        }
    }
    assert!(faults.is_empty(), "look for a text that hex digits cannot spell:\n{}", faults.join("\n"));
}

#[test]
fn the_scan_finds_what_it_is_for() {
    let line = r#"assert!(!link.has("ada") && !heads[0].text().has("grace") && a.has("bad"), c.has("fed"));"#;
    let line = line.replace("has", "contains");
    let found: Vec<_> = absent_texts(&line).collect();
    assert_eq!(found, ["ada", "grace"]);
    assert!(random_hex_can_spell("ada") && !random_hex_can_spell("grace"));
}
