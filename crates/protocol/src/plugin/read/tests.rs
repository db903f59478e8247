use serde_json::{Value, json};

use super::*;
use crate::plugin::{ContentHash, PluginPermissions};

/// A plugin as the older format stores it, with every optional member.
const STORED: &str = r#"{
  "id": "dev-time-plugin", "name": "Time Plugin", "version": "1.0.0", "installedAt": "2025-12-01T10:00:00.000Z",
  "tools": [{
    "name": "get_current_time",
    "description": "Get the current date and time in a specified timezone",
    "parameters": {"type": "object",  "properties": {"timezone": {"type": "string"}}},
    "executorCode": "const tz = args.timezone || 'UTC';\nreturn { time: new Date().toISOString(), timezone: tz };"
  }],
  "contentHash": "e9a3277eb624bd2be8dff56add006df6e142ad8e8b68a16dbaba808c19465651",
  "signature": "AAAA", "sourceUrl": "https://cdn.example.com/time.json", "curatorId": "curator-1"
}"#;

fn tool() -> Value {
    json!({ "name": "now", "description": "d", "parameters": { "type": "object" }, "executorCode": "return 1;" })
}

fn manifest() -> Value {
    json!({
        "schemaVersion": 1, "id": "com.example.time", "name": "Time", "version": "1.2.0-rc.1", "publisher": "Example",
        "description": "d", "homepage": "https://example.com/time", "minHostVersion": "0.1.0",
        "permissions": { "network": ["api.example.com"], "storage": true, "clock": true },
        "issuedAt": "2026-01-01T00:00:00Z", "expiresAt": "2027-01-01T00:00:00Z",
        "tools": [tool()], "whatever": { "comes": 1.50 },
    })
}

fn read(value: &Value) -> Result<Manifest, Vec<String>> {
    Manifest::parse(value.to_string().as_bytes())
        .map_err(|error| error.problems.iter().map(ToString::to_string).collect())
}

/// The problems of the manifest after a change.
#[track_caller]
fn problems_after(change: impl FnOnce(&mut Value)) -> Vec<String> {
    let mut manifest = manifest();
    change(&mut manifest);
    read(&manifest).unwrap_err()
}

#[test]
fn the_stored_form_loads_unchanged() {
    let manifest = Manifest::parse(STORED.as_bytes()).unwrap();
    assert!(manifest.is_older_form() && manifest.permissions.is_empty() && manifest.publisher.is_none());
    assert_eq!(manifest.raw(), STORED);
    assert_eq!(
        manifest.tools[0].parameters.get(),
        r#"{"type": "object",  "properties": {"timezone": {"type": "string"}}}"#
    );
    let hash: ContentHash =
        "e9a3277eb624bd2be8dff56add006df6e142ad8e8b68a16dbaba808c19465651".parse().unwrap();
    let signature = PluginSignature::Rs256 {
        key: Some("curator-1".to_owned()),
        content_hash: Some(hash),
        bytes: vec![0, 0, 0],
    };
    assert_eq!(manifest.signature(), Some(&signature));
    let least = json!({ "id": "a", "name": "A", "version": "one", "tools": [tool()] });
    assert!(read(&least).unwrap().signature().is_none());
}

#[test]
fn a_whole_manifest_is_read() {
    let manifest = read(&manifest()).unwrap();
    let asked: PluginPermissions =
        serde_json::from_value(json!({ "network": ["api.example.com"], "storage": true, "clock": true }))
            .unwrap();
    assert_eq!(manifest.permissions, asked);
    assert!(!manifest.is_older_form());
    let host = |text| semver::Version::parse(text).unwrap();
    assert!(manifest.needs_newer_host(&host("0.0.9")) && !manifest.needs_newer_host(&host("0.1.0")));
    assert_eq!(manifest.tools[0].to_client_tool().parameters, json!({ "type": "object" }));
}

#[test]
fn both_signatures_are_read_and_half_ones_refused() {
    let signed = |more: Value| {
        let mut value = manifest();
        value.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        read(&value).map(|manifest| manifest.signature().cloned())
    };
    let (text, key) = (format!("{}==", "A".repeat(86)), "0123456789abcdef");
    let good = signed(json!({ "alg": "Ed25519", "keyId": key, "signature": text })).unwrap().unwrap();
    assert_eq!(good, PluginSignature::Ed25519 { key: key.parse().unwrap(), bytes: vec![0; 64] });
    let older =
        signed(json!({ "alg": "RS256", "keyId": "k", "curatorId": "c", "signature": "AAAA" })).unwrap();
    assert_eq!(
        older,
        Some(PluginSignature::Rs256 { key: Some("k".to_owned()), content_hash: None, bytes: vec![0; 3] })
    );
    for (more, why) in [
        (json!({ "alg": "Ed25519" }), "signature: missing although"),
        (json!({ "keyId": key }), "signature: missing although"),
        (json!({ "alg": "Ed25519", "signature": text }), "keyId: `` is not a key id"),
        (json!({ "alg": "Ed25519", "keyId": "K", "signature": text }), "keyId: `K` is not a key id"),
        (json!({ "alg": "Ed25519", "keyId": key, "signature": "AAAA" }), "signature: 3 bytes"),
        (json!({ "alg": "none", "keyId": key, "signature": text }), "alg: `none`: expected"),
        (json!({ "alg": "Ed25519", "keyId": key, "signature": "-_" }), "signature: expected base64"),
        (json!({ "signature": "A".repeat(1368 + 4) }), "signature: expected base64"),
    ] {
        let reported = signed(more).unwrap_err();
        assert!(reported[0].starts_with(why), "{why}: {reported:?}");
    }
}

#[test]
fn every_violated_rule_is_reported_with_its_path() {
    type Change = fn(&mut Value);
    let cases: &[(Change, &str)] = &[
        (|m| m["type"] = json!("toolyard/keys"), "type: this is a different kind"),
        (|m| m["schemaVersion"] = json!(2), "schemaVersion: expected 1"),
        (|m| m["publisher"] = Value::Null, "publisher: missing"),
        (|m| m["version"] = json!("1.2"), "version: expected a semantic version"),
        (|m| m["id"] = json!("A b"), "id: `A b` is not a plugin id"),
        (|m| m["name"] = json!(" "), "name: expected one line"),
        (|m| m["name"] = json!("x".repeat(101)), "name: expected one line"),
        (|m| m["name"] = json!("a\nb"), "name: expected one line"),
        (|m| m["publisher"] = json!("a\u{202e}b"), "publisher: expected one line"),
        (|m| m["curatorId"] = json!(""), "curatorId: expected one line"),
        (|m| m["description"] = json!("x".repeat(8193)), "description: longer"),
        (|m| m["homepage"] = json!("javascript:alert(1)"), "homepage: expected a URL"),
        (|m| m["homepage"] = json!(format!("https://{}", "x".repeat(2048))), "homepage: expected a URL"),
        (|m| m["sourceUrl"] = json!("a b"), "sourceUrl: expected a URL"),
        (|m| m["minHostVersion"] = json!("new"), "minHostVersion: expected a semantic"),
        (|m| m["expiresAt"] = json!("2026-01-01T00:00:00Z"), "expiresAt: not after issuedAt"),
        (|m| m["issuedAt"] = json!("yesterday"), "issuedAt: "),
        (|m| m["permissions"]["files"] = json!(true), "permissions.files: unknown field"),
        (|m| m["permissions"]["network"][0] = json!("http://x"), "permissions.network[0]: `http://x`: write"),
        (|m| m["permissions"]["storage"] = json!("yes"), "permissions.storage: expected true, false or"),
        (
            |m| m["permissions"]["network"] = json!(vec!["a.b"; 65]),
            "permissions.network: 65 hosts; at most 64",
        ),
        (|m| m["tools"] = json!([]), "tools: 0 tools"),
        (|m| m["tools"] = json!(vec![tool(); 65]), "tools: 65 tools"),
        (|m| m["tools"] = json!([tool(), tool()]), "tools[1].name: an earlier tool has that name"),
        (|m| m["tools"][0]["name"] = json!("1a"), "tools[0]: the name must begin with a letter"),
        (|m| m["tools"][0]["name"] = json!("a".repeat(65)), "tools[0]: the name must begin"),
        (
            |m| m["tools"][0]["parameters"] = json!({ "type": "string" }),
            "tools[0]: parameters.type: expected",
        ),
        (|m| m["tools"][0]["parameters"]["$ref"] = json!("#"), "tools[0]: parameters.$ref: references"),
        (|m| m["tools"][0]["description"] = json!("x".repeat(8193)), "tools[0].description: longer"),
        (|m| m["tools"][0]["executorCode"] = json!("\n "), "tools[0].executorCode: empty"),
        (
            |m| m["tools"][0]["executorCode"] = json!("x".repeat(256 * 1024 + 1)),
            "tools[0].executorCode: longer",
        ),
        (|m| m["tools"][0]["executorCode"] = json!(5), "tools[0].executorCode: invalid type"),
        (|m| m["tools"][0]["annotations"] = json!([1]), "tools[0].annotations: expected an object"),
        (|m| m["contentHash"] = json!("E9"), "contentHash: `E9` is not a content hash"),
    ];
    for (change, why) in cases {
        let reported = problems_after(change);
        assert!(reported.len() == 1 && reported[0].starts_with(why), "{why}: {reported:?}");
    }
    let missing = read(&json!({ "id": "a" })).unwrap_err();
    assert!(missing[0].contains("missing field `name`"), "{missing:?}");
    assert_eq!(read(&json!([])).unwrap_err().len(), 1);
}

#[test]
fn all_problems_are_reported_at_once_up_to_a_limit() {
    let reported = problems_after(|manifest| {
        manifest["name"] = json!("");
        manifest["version"] = json!("x");
        manifest["tools"] = json!(vec![json!({ "name": "", "parameters": {}, "executorCode": "" }); 64]);
    });
    assert_eq!(reported.len(), MAX_PROBLEMS);
    assert!(
        reported[0].starts_with("version: ")
            && reported[1].starts_with("name: ")
            && reported[2].starts_with("tools[0]")
    );
}

#[test]
fn what_could_be_read_in_two_ways_is_refused() {
    let twice = STORED.replacen(r#""id":"#, r#""id": "other", "id":"#, 1);
    let deep =
        STORED.replacen(r#""type": "object","#, r#""type": "object", "maximum": 9007199254740993,"#, 1);
    let half = STORED.replacen("Time Plugin", r"\ud800", 1);
    for (text, why) in [
        (twice.as_bytes(), "id: duplicate name"),
        (deep.as_bytes(), "tools[0].parameters.maximum: integers beyond"),
        (half.as_bytes(), ": not JSON: "),
        (&[b'{', 0xff], ": not UTF-8 from byte 1"),
        (&vec![b' '; MAX_MANIFEST_BYTES + 1], ": 1048577 bytes; a manifest has at most 1048576"),
    ] {
        let reported = Manifest::parse(text).unwrap_err();
        assert!(reported.problems[0].to_string().starts_with(why), "{reported}");
    }
    let mut just = STORED.as_bytes().to_vec();
    just.resize(MAX_MANIFEST_BYTES, b' ');
    assert!(Manifest::parse(&just).is_ok());
}
