//! Checks the dependencies between crates against ARCHITECTURE.md. Reads `cargo metadata` and reports violations.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

/// Each crate, and the crates of the workspace that it may use.
const ARROWS: &[(&str, &[&str])] = &[
    ("toolyard-protocol", &[]),
    ("toolyard-authorization", &["toolyard-protocol"]),
    ("toolyard-definitions", &["toolyard-protocol"]),
    ("toolyard-net", &[]),
    ("toolyard-mcp-client", &["toolyard-net", "toolyard-protocol"]),
    (
        "toolyard-core",
        &["toolyard-definitions", "toolyard-protocol", "toolyard-redaction", "toolyard-typed-tool"],
    ),
    ("toolyard-toolbox", &["toolyard-net", "toolyard-typed-tool"]),
    ("toolyard-redaction", &[]),
    ("toolyard-sandbox", &["toolyard-net"]),
    ("toolyard-spoken-answer", &[]),
    // Of net only the line reader: requests to models go through their own client.
    ("toolyard-agent", &["toolyard-core", "toolyard-net", "toolyard-protocol"]),
    (
        "toolyard-sources",
        &[
            "toolyard-core",
            "toolyard-mcp-client",
            "toolyard-net",
            "toolyard-protocol",
            "toolyard-sandbox",
            "toolyard-toolbox",
            "toolyard-trust",
        ],
    ),
    ("toolyard-sessions", &["toolyard-core", "toolyard-net", "toolyard-protocol"]),
    ("toolyard-store", &["toolyard-core", "toolyard-protocol"]),
    ("toolyard-cluster", &["toolyard-core", "toolyard-protocol"]),
    (
        "toolyard-platform",
        &[
            "toolyard-authorization",
            "toolyard-core",
            "toolyard-definitions",
            "toolyard-net",
            "toolyard-protocol",
            "toolyard-trust",
        ],
    ),
    (
        "toolyard-server",
        &[
            "toolyard-agent",
            "toolyard-authorization",
            "toolyard-cluster",
            "toolyard-core",
            "toolyard-definitions",
            "toolyard-net",
            "toolyard-platform",
            "toolyard-protocol",
            "toolyard-sessions",
            "toolyard-sources",
            "toolyard-store",
            "toolyard-toolbox",
            "toolyard-trust",
        ],
    ),
    ("toolyard-app-sdk", &["toolyard-net", "toolyard-protocol", "toolyard-typed-tool"]),
    (
        "toolyard-client-sdk",
        &[
            "toolyard-mcp-client",
            "toolyard-net",
            "toolyard-protocol",
            "toolyard-sandbox",
            "toolyard-toolbox",
            "toolyard-trust",
            "toolyard-typed-tool",
        ],
    ),
    ("toolyard-trust", &["toolyard-protocol"]),
    ("toolyard-typed-tool", &[]),
    (
        "toolyard-cli",
        &[
            "toolyard-client-sdk",
            "toolyard-evals",
            "toolyard-net",
            "toolyard-protocol",
            "toolyard-server",
            "toolyard-trust",
        ],
    ),
    ("toolyard-testkit", &["toolyard-core", "toolyard-protocol"]),
    ("toolyard-todo", &["toolyard-app-sdk"]),
    // No private API: any app could do the same.
    (
        "toolyard-assistant",
        &[
            "toolyard-agent",
            "toolyard-app-sdk",
            "toolyard-core",
            "toolyard-net",
            "toolyard-protocol",
            "toolyard-spoken-answer",
        ],
    ),
    ("toolyard-evals", &["toolyard-agent", "toolyard-core", "toolyard-protocol"]),
    (
        "toolyard-bench",
        &[
            "toolyard-agent",
            "toolyard-core",
            "toolyard-evals",
            "toolyard-net",
            "toolyard-protocol",
            "toolyard-redaction",
            "toolyard-sandbox",
            "toolyard-store",
        ],
    ),
];

/// Each external crate, and the only crates of the workspace that may use it.
const HOMES: &[(&str, &[&str])] = &[
    ("sqlx", &["toolyard-store"]),
    ("async-nats", &["toolyard-cluster"]),
    ("axum", &["toolyard-server", "toolyard-app-sdk"]),
    ("jsonschema", &["toolyard-core"]),
    ("governor", &["toolyard-core"]),
    ("moka", &["toolyard-core"]),
    ("hyper-rustls", &["toolyard-net"]),
    // A peer in tests.
    ("rmcp", &[]),
    ("genai", &["toolyard-agent"]),
    ("reqwest", &["toolyard-agent"]),
    ("fend-core", &["toolyard-toolbox"]),
    ("cap-std", &["toolyard-toolbox"]),
    ("rusqlite", &["toolyard-client-sdk", "toolyard-assistant"]),
    ("rquickjs", &["toolyard-sandbox"]),
];

/// Longest file of ours, tests and data tables aside.
const MAX_LINES: usize = 600;

fn metadata() -> Value {
    let cargo = option_env!("CARGO").unwrap_or("cargo");
    let output =
        std::process::Command::new(cargo).args(["metadata", "--format-version", "1", "--no-deps"]).output();
    serde_json::from_slice(&output.expect("cargo metadata runs").stdout).expect("cargo metadata is JSON")
}

fn uses() -> BTreeMap<String, BTreeSet<String>> {
    let metadata = metadata();
    let packages = metadata["packages"].as_array().unwrap().iter();
    packages
        .map(|package| {
            let dependencies = package["dependencies"].as_array().unwrap().iter();
            let normal =
                dependencies.filter(|d| d["kind"].is_null()).map(|d| d["name"].as_str().unwrap().to_owned());
            (package["name"].as_str().unwrap().to_owned(), normal.collect())
        })
        .collect()
}

#[test]
fn crates_use_each_other_only_as_drawn() {
    let uses = uses();
    let known: BTreeSet<_> = ARROWS.iter().map(|(name, _)| (*name).to_owned()).collect();
    assert_eq!(
        uses.keys().cloned().collect::<BTreeSet<_>>(),
        known,
        "a crate is missing from the table of arrows"
    );
    for (name, allowed) in ARROWS {
        let wrong: Vec<_> = uses[*name]
            .iter()
            .filter(|used| used.starts_with("toolyard-") && !allowed.contains(&used.as_str()))
            .collect();
        assert!(wrong.is_empty(), "{name} must not use {wrong:?}");
    }
}

#[test]
fn foreign_crates_stay_at_home() {
    for (foreign, homes) in HOMES {
        for (name, used) in uses() {
            assert!(
                !used.contains(*foreign) || homes.contains(&name.as_str()),
                "{foreign} leaks into {name}"
            );
        }
    }
}

#[test]
fn files_stay_small() {
    fn walk(folder: &std::path::Path, long: &mut Vec<String>) {
        for entry in std::fs::read_dir(folder).unwrap().map(Result::unwrap) {
            let path = entry.path();
            if path.is_dir() && path.file_name().is_some_and(|name| name != "target") {
                walk(&path, long);
            } else if path.extension().is_some_and(|kind| kind == "rs") {
                let lines = std::fs::read_to_string(&path).unwrap().lines().count();
                if lines > MAX_LINES {
                    long.push(format!("{} has {lines} lines", path.display()));
                }
            }
        }
    }
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut long = Vec::new();
    for folder in ["crates", "apps", "evals"] {
        walk(&root.join(folder), &mut long);
    }
    assert!(long.is_empty(), "split these: {long:#?}");
}

/// npm installs what was locked and nothing else: each package has a checksum. One that comes inside another one's archive is
/// covered by that one's.
#[test]
fn every_npm_package_has_a_checksum() {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut locks = 0;
    for folder in ["tests", "web"] {
        for project in std::fs::read_dir(root.join(folder)).unwrap() {
            let lock = project.unwrap().path().join("package-lock.json");
            let Ok(text) = std::fs::read_to_string(&lock) else { continue };
            locks += 1;
            let document: Value = serde_json::from_str(&text).unwrap();
            for (path, entry) in document["packages"].as_object().unwrap() {
                let is_covered = path.is_empty() || entry["link"] == true || entry["inBundle"] == true;
                let checksum = entry["integrity"].as_str().unwrap_or_default();
                assert!(
                    is_covered || checksum.starts_with("sha512-"),
                    "{}: {path} has no integrity",
                    lock.display()
                );
            }
        }
    }
    assert!(locks >= 8, "only {locks} lock files were found");
}
