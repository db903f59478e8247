//! The schema of manifests matches the committed one, and agrees with the parser.

use std::path::PathBuf;

use serde_json::{Value, json};
use toolyard_protocol::plugin::{self, Manifest};

use crate::fixture::{OLDER, key, plugin as sample, signed};

/// Compares with the committed file; with `UPDATE_CONTRACT=1` it writes the file instead.
#[test]
fn the_schema_of_manifests_is_the_committed_one() {
    let file = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../contract/plugin-manifest.schema.json");
    let made = serde_json::to_string_pretty(&plugin::manifest_schema()).unwrap() + "\n";
    #[expect(clippy::disallowed_methods, reason = "how a test is told to write and not to compare")]
    if std::env::var("UPDATE_CONTRACT").is_ok_and(|update| update == "1") {
        std::fs::write(&file, made).unwrap();
        return;
    }
    let committed = std::fs::read_to_string(&file).unwrap_or_default();
    let first = committed.lines().zip(made.lines()).find(|(was, is)| was != is);
    assert!(
        committed == made,
        "contract/plugin-manifest.schema.json is out of date: run `make contract` and look at what changed; first difference: {first:?}"
    );
}

#[test]
fn the_schema_and_the_reader_agree() {
    let schema = jsonschema::validator_for(&plugin::manifest_schema()).unwrap();
    let agree = |value: &Value, good: bool| {
        assert_eq!(schema.is_valid(value), good, "{value}: {:?}", schema.iter_errors(value).next());
        assert_eq!(Manifest::parse(value.to_string().as_bytes()).is_ok(), good, "{value}");
    };
    agree(&sample(), true);
    agree(&serde_json::from_str(OLDER).unwrap(), true);
    agree(&serde_json::from_str(signed(&sample(), &key(1)).raw()).unwrap(), true);
    let edits: [(&str, Value); 24] = [
        ("/type", json!("toolyard/keys")),
        ("/schemaVersion", json!(2)),
        ("/id", json!("No id")),
        ("/name", json!("")),
        ("/name", json!(5)),
        ("/version", json!("")),
        ("/publisher", json!("x".repeat(101))),
        ("/homepage", json!("http://a.b")),
        ("/tools", json!([])),
        ("/tools", json!({})),
        ("/tools/0/name", json!("1a")),
        ("/tools/0/executorCode", json!("")),
        ("/tools/0/parameters", json!([])),
        ("/tools/0/annotations", json!("x")),
        ("/permissions/network/0", json!("https://a.b")),
        ("/permissions/network/0", json!("*.com")),
        ("/permissions/network", json!(vec!["a.b"; 65])),
        ("/permissions/storage", json!("yes")),
        ("/permissions/storage", json!({ "bytes": -1 })),
        ("/permissions/clock", json!(1)),
        ("/permissions/files", json!(true)),
        ("/alg", json!("Ed25519")),
        ("/keyId", json!("0123456789abcdef")),
        ("/contentHash", json!("x")),
    ];
    for (place, wrong) in edits {
        let mut value = sample();
        let (parent, member) = place.rsplit_once('/').unwrap();
        match value.pointer_mut(parent).unwrap() {
            Value::Array(list) => list[0] = wrong,
            other => other[member] = wrong,
        }
        agree(&value, false);
    }
    let mut without = sample();
    without.as_object_mut().unwrap().remove("publisher");
    agree(&without, false);
    without.as_object_mut().unwrap().remove("schemaVersion");
    agree(&without, true);
}

#[test]
fn every_member_is_described() {
    fn silent(value: &Value, path: &str, found: &mut Vec<String>) {
        if let Some(members) = value["properties"].as_object() {
            for (name, member) in members {
                if member["description"].as_str().is_none_or(|text| text.trim().is_empty()) {
                    found.push(format!("{path}.{name}"));
                }
            }
        }
        for (name, inside) in value["$defs"].as_object().into_iter().flatten() {
            silent(inside, name, found);
        }
    }
    let mut found = Vec::new();
    silent(&plugin::manifest_schema(), "", &mut found);
    assert!(found.is_empty(), "without a description: {found:?}");
}
