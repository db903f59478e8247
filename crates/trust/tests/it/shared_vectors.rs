//! `contract/trust-vectors.json`: inputs and verdicts that this crate and the console's TypeScript must agree on. The console judges
//! plugins in the browser; its tests read the same file.

use std::path::PathBuf;

use serde_json::{Value, json};
use toolyard_protocol::plugin::Manifest;
use toolyard_trust::{AllowList, AllowListEntry, canonical_json, content_hash, manifest_hash};

use crate::fixture::{OLDER, World, at, key, plugin, read, signed};

/// Numbers, strings and orders that serializers disagree on.
const DOCUMENTS: [&str; 12] = [
    r#"{"b":1,"a":2}"#,
    r#"{ "é": 1, "z": 2, "\u0000": 3, "😀": 4, "\ufb33": 5 }"#,
    "[1.0,1e21,1e-7,0.1,-0.0,123456789012345680000]",
    "[9007199254740991,-9007199254740991]",
    r#""\u0041\n\t\u001f\u007f\u2028<>&""#,
    r#"{"a":{"d":[],"c":{}},"b":null}"#,
    "[5e-324,1.7976931348623157e308]",
    r#"{"1":1,"10":2,"2":3}"#,
    r#"{"a":1,"a":2}"#,
    r#"["\ud800"]"#,
    "[1e400]",
    "{",
];

struct Case {
    name: &'static str,
    manifest: String,
    world: World,
}

fn case(name: &'static str, manifest: &Manifest, change: impl FnOnce(&mut World)) -> Case {
    let mut world = World::new();
    change(&mut world);
    Case { name, manifest: manifest.raw().to_owned(), world }
}

fn cases() -> Vec<Case> {
    let ours = signed(&plugin(), &key(1));
    let unsigned = read(&plugin());
    let edited = |pointer: &str, value: Value| {
        let mut manifest: Value = serde_json::from_str(ours.raw()).unwrap();
        *manifest.pointer_mut(pointer).unwrap() = value;
        read(&manifest)
    };
    let allow = |hash| AllowListEntry {
        id: unsigned.id.clone(),
        content_hash: hash,
        permissions: unsigned.permissions.clone(),
    };
    let older = Manifest::parse(OLDER.as_bytes()).unwrap();
    let other_hash = manifest_hash(&edited("/name", json!("Other"))).unwrap();
    vec![
        case("signed", &ours, |_| {}),
        case("signed by an unknown key", &signed(&plugin(), &key(2)), |_| {}),
        case("edited name", &edited("/name", json!("Other")), |_| {}),
        case("edited code", &edited("/tools/0/executorCode", json!("return 1;")), |_| {}),
        case("edited permissions", &edited("/permissions/network", json!(["evil.com"])), |_| {}),
        case("edited unknown member", &edited("/unknown/member/0", json!(1.25)), |_| {}),
        case("unsigned", &unsigned, |_| {}),
        case("unsigned, allowed", &unsigned, |world| world.allowed = AllowList(vec![allow(None)])),
        case("unsigned, allowed with its hash", &unsigned, |world| {
            world.allowed = AllowList(vec![allow(Some(manifest_hash(&unsigned).unwrap()))]);
        }),
        case("unsigned, another hash allowed", &unsigned, |world| {
            world.allowed = AllowList(vec![allow(Some(other_hash.clone()))]);
        }),
        case("key not valid yet", &ours, |world| world.keys.keys[0].not_before = Some(at("2026-06-02"))),
        case("key expired", &ours, |world| world.keys.keys[0].expires_at = Some(at("2026-05-31"))),
        case("key revoked", &ours, |world| world.keys.keys[0].revoked_at = Some(at("2026-05-31"))),
        case("key list expired", &ours, |world| world.keys.expires_at = Some(at("2026-05-31"))),
        case("older form, RS256", &older, |_| {}),
    ]
}

/// A case as both sides read it. Reasons are for people and may differ.
fn to_vector(case: &Case) -> Value {
    let world = &case.world;
    let verdict = world.judge(&Manifest::parse(case.manifest.as_bytes()).unwrap());
    let mut verdict = serde_json::to_value(&verdict).unwrap();
    verdict.as_object_mut().unwrap().remove("reason");
    json!({
        "name": case.name,
        "manifest": case.manifest,
        "context": {
            "keys": world.keys.keys,
            "keysExpireAt": world.keys.expires_at,
            "allowed": world.allowed,
            "now": world.now,
        },
        "verdict": verdict,
    })
}

#[test]
fn the_shared_vectors_are_the_committed_ones() {
    let canonical = DOCUMENTS.map(|text| match canonical_json(text) {
        Ok(bytes) => json!({
            "text": text,
            "canonical": String::from_utf8(bytes.clone()).unwrap(),
            "hash": content_hash(&bytes),
        }),
        Err(_) => json!({ "text": text, "canonical": null }),
    });
    let verdicts: Vec<_> = cases().iter().map(to_vector).collect();
    let made = json!({ "canonical": canonical, "verdicts": verdicts });
    let made = serde_json::to_string_pretty(&made).unwrap() + "\n";
    let file = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../contract/trust-vectors.json");
    #[expect(clippy::disallowed_methods, reason = "how a test is told to write and not to compare")]
    if std::env::var("UPDATE_CONTRACT").is_ok_and(|update| update == "1") {
        std::fs::write(&file, made).unwrap();
        return;
    }
    let committed = std::fs::read_to_string(&file).unwrap_or_default();
    assert!(
        committed == made,
        "contract/trust-vectors.json is out of date: run `make contract` and look at what changed"
    );
}
