//! Every trust status and its consequences.

use serde_json::{Value, json};
use toolyard_protocol::plugin::{ContentHash, Manifest, PluginPermissions};
use toolyard_trust::{
    AllowList, AllowListEntry, KeyEntry, PluginVerdict, PublicKey, RevokedKey, RevokedPlugin,
    SignatureCoverage, TrustStatus, content_hash, judge_manifest, manifest_hash, sign_manifest, tools_hash,
};

use crate::fixture::{OLDER, World, at, key, plugin, read, rsa, signed};

fn refused(verdict: &PluginVerdict, status: &TrustStatus, why: &str) {
    assert_eq!(&verdict.status, status, "{}", verdict.reason);
    assert!(
        !verdict.runs && verdict.permissions.is_empty() && verdict.covers == SignatureCoverage::Nothing,
        "{verdict:?}"
    );
    assert!(verdict.reason.contains(why), "{}", verdict.reason);
}

/// A manifest with one member changed after it was signed.
fn changed(manifest: &Manifest, change: impl FnOnce(&mut Value)) -> Manifest {
    let mut value: Value = serde_json::from_str(manifest.raw()).unwrap();
    change(&mut value);
    read(&value)
}

#[test]
fn a_signed_plugin_runs_with_what_it_asks_for() {
    let manifest = signed(&plugin(), &key(1));
    let verdict = World::new().judge(&manifest);
    assert_eq!(verdict.status, TrustStatus::Signed { by: key(1).public_key().id(), owner: "Ada".to_owned() });
    assert!(verdict.runs && verdict.covers == SignatureCoverage::Everything);
    assert_eq!(verdict.permissions, manifest.permissions);
    assert_eq!(
        verdict.content_hash,
        manifest_hash(&read(&plugin())).unwrap(),
        "signing does not change the content"
    );
    let told = serde_json::to_value(&verdict).unwrap();
    assert_eq!(
        (&told["status"], &told["by"], &told["runs"]),
        (&json!("signed"), &json!(key(1).public_key().id()), &json!(true))
    );
}

#[test]
fn the_order_of_members_and_white_space_do_not_matter() {
    let manifest = signed(&plugin(), &key(1));
    let value: Value = serde_json::from_str(manifest.raw()).unwrap();
    let again = Manifest::parse(serde_json::to_string_pretty(&value).unwrap().as_bytes()).unwrap();
    assert_ne!(again.raw(), manifest.raw());
    assert!(World::new().judge(&again).runs);
}

#[test]
fn a_change_anywhere_is_seen() {
    let manifest = signed(&plugin(), &key(1));
    let changes: [fn(&mut Value); 9] = [
        |m| m["id"] = json!("com.example.other"),
        |m| m["name"] = json!("Other"),
        |m| m["version"] = json!("1.2.1"),
        |m| m["permissions"]["network"] = json!(["evil.com"]),
        |m| m["permissions"]["storage"] = json!(true),
        |m| m["tools"][0]["executorCode"] = json!("return 1;"),
        |m| m["tools"][0]["parameters"]["x"] = json!(1),
        |m| m["unknown"]["member"][0] = json!(1.25),
        |m| m["added"] = json!(null),
    ];
    for change in changes {
        let changed = changed(&manifest, change);
        refused(&World::new().judge(&changed), &TrustStatus::Modified, "was modified after it was signed");
    }
    let swapped = changed(&manifest, |m| {
        m["signature"] =
            serde_json::from_str::<Value>(signed(&plugin(), &key(2)).raw()).unwrap()["signature"].clone();
    });
    refused(&World::new().judge(&swapped), &TrustStatus::Modified, "the signature is invalid");
}

#[test]
fn an_unsigned_plugin_runs_only_if_it_is_allowed() {
    let manifest = read(&plugin());
    let mut world = World::new();
    refused(&world.judge(&manifest), &TrustStatus::Unsigned, "it is not signed");
    let allow = |id: &str, content_hash: Option<ContentHash>, permissions: Value| {
        let permissions: PluginPermissions = serde_json::from_value(permissions).unwrap();
        AllowList(vec![AllowListEntry { id: id.parse().unwrap(), content_hash, permissions }])
    };
    let all = || serde_json::to_value(&manifest.permissions).unwrap();
    world.allowed = allow("com.example.other", None, all());
    refused(&world.judge(&manifest), &TrustStatus::Unsigned, "it is not signed");
    world.allowed = allow("com.example.time", Some(content_hash(b"other")), all());
    refused(&world.judge(&manifest), &TrustStatus::Unsigned, "it is not signed");
    world.allowed = allow("com.example.time", Some(manifest_hash(&manifest).unwrap()), all());
    let verdict = world.judge(&manifest);
    assert!(
        verdict.runs
            && verdict.status == TrustStatus::Unsigned
            && verdict.covers == SignatureCoverage::Nothing
    );
    assert_eq!(verdict.permissions, manifest.permissions);
    world.allowed = allow("com.example.time", None, json!({ "clock": true }));
    let verdict = world.judge(&manifest);
    assert_eq!(serde_json::to_value(&verdict.permissions).unwrap(), json!({ "clock": true }), "{verdict:?}");
    world.allowed.0.extend(allow("com.example.time", Some(manifest_hash(&manifest).unwrap()), all()).0);
    assert_eq!(world.judge(&manifest).permissions, manifest.permissions, "the exact entry comes first");
}

#[test]
fn allowing_unsigned_plugins_does_not_help_a_changed_one() {
    let manifest = changed(&signed(&plugin(), &key(1)), |m| m["name"] = json!("Other"));
    let mut world = World::new();
    world.allowed = AllowList(vec![AllowListEntry {
        id: manifest.id.clone(),
        content_hash: None,
        permissions: manifest.permissions.clone(),
    }]);
    refused(&world.judge(&manifest), &TrustStatus::Modified, "modified");
}

#[test]
fn an_unlisted_key_is_unknown() {
    let manifest = signed(&plugin(), &key(2));
    let id = key(2).public_key().id();
    refused(&World::new().judge(&manifest), &TrustStatus::UnknownKey, &format!("has the key {id}"));
    let mut world = World::new();
    world.keys.keys[0].not_before = Some(at("2026-06-02"));
    refused(
        &world.judge(&signed(&plugin(), &key(1))),
        &TrustStatus::UnknownKey,
        "not valid before 2026-06-02",
    );
    let mut world = World::new();
    world.keys.expires_at = Some(world.now);
    refused(&world.judge(&signed(&plugin(), &key(1))), &TrustStatus::UnknownKey, "the key list expired");
}

#[test]
fn what_is_past_its_time() {
    let world = |change: fn(&mut World)| {
        let mut world = World::new();
        change(&mut world);
        world
    };
    let manifest = signed(&plugin(), &key(1));
    let expired = TrustStatus::Expired;
    let key_out = world(|world| world.keys.keys[0].expires_at = Some(world.now));
    refused(&key_out.judge(&manifest), &expired, "the key");
    let list_out = world(|world| world.revocations.expires_at = Some(world.now));
    refused(&list_out.judge(&manifest), &expired, "the revocation list expired");
    let mut value = plugin();
    value["expiresAt"] = json!("2026-06-01T00:00:00Z");
    refused(&World::new().judge(&signed(&value, &key(1))), &expired, "the plugin expired");
    let before = world(|world| {
        world.now = at("2026-05-31");
        world.keys.keys[0].expires_at = Some(at("2026-06-01"));
        world.keys.keys[0].not_before = Some(at("2026-05-31"));
        world.revocations.expires_at = Some(at("2026-06-01"));
        world.keys.expires_at = Some(at("2026-06-01"));
    });
    assert!(before.judge(&signed(&value, &key(1))).runs, "a day before, all of it is good");
}

#[test]
fn revoked_plugins_and_keys_do_not_run() {
    let manifest = signed(&plugin(), &key(1));
    let plugin_entry = |id: &str, content_hash| RevokedPlugin {
        id: id.parse().unwrap(),
        content_hash,
        reason: "steals".to_owned(),
    };
    let judged = |manifest: &Manifest, entry| {
        let mut world = World::new();
        world.revocations.plugins.push(entry);
        world.judge(manifest)
    };
    let hash_of = |manifest| Some(manifest_hash(manifest).unwrap());
    let revoked = TrustStatus::Revoked;
    refused(&judged(&manifest, plugin_entry("com.example.time", None)), &revoked, "revoked: steals");
    refused(&judged(&manifest, plugin_entry("x", hash_of(&manifest))), &revoked, "steals");
    assert!(
        judged(&manifest, plugin_entry("com.example.time", Some(content_hash(b"1.0.0")))).runs,
        "another version"
    );
    assert!(judged(&manifest, plugin_entry("x", None)).runs, "another plugin");
    let older = Manifest::parse(OLDER.as_bytes()).unwrap();
    let renamed = changed(&older, |m| m["id"] = json!("innocent"));
    let entry = plugin_entry("dev-time-plugin", Some(tools_hash(&older).unwrap()));
    refused(&judged(&renamed, entry), &revoked, "steals");
    let mut world = World::new();
    world.revocations.keys.push(RevokedKey { key_id: key(1).public_key().id(), reason: "stolen".to_owned() });
    refused(&world.judge(&manifest), &revoked, "was revoked: stolen");
    let mut world = World::new();
    world.keys.keys[0].revoked_at = Some(world.now);
    refused(&world.judge(&manifest), &revoked, "was revoked at 2026-06-01");
    world.now = at("2026-05-31");
    assert!(world.judge(&manifest).runs, "not yet");
    world.now = at("2026-06-01");
    let other = changed(&manifest, |m| m["name"] = json!("Other"));
    refused(&world.judge(&other), &revoked, "was revoked");
    let unsigned = read(&plugin());
    refused(&judged(&unsigned, plugin_entry("com.example.time", None)), &revoked, "steals");
}

#[test]
fn what_was_installed_is_pinned() {
    let (world, manifest) = (World::new(), signed(&plugin(), &key(1)));
    let pinned = manifest_hash(&manifest).unwrap();
    let judged = |manifest: &Manifest| {
        judge_manifest(manifest, &toolyard_trust::TrustContext { pinned: Some(&pinned), ..world.context() })
            .unwrap()
    };
    assert!(judged(&manifest).runs);
    let mut newer = plugin();
    newer["version"] = json!("1.3.0");
    refused(&judged(&signed(&newer, &key(1))), &TrustStatus::Modified, "not what was installed");
    let again = Manifest::parse(sign_manifest(&manifest, &key(1)).unwrap().as_bytes()).unwrap();
    assert!(judged(&again).runs, "signed again is the same content");
}

#[test]
fn a_plugin_of_the_older_form_runs_without_permissions() {
    let older = Manifest::parse(OLDER.as_bytes()).unwrap();
    let asking = changed(&older, |m| m["permissions"] = json!({ "network": ["evil.com"], "clock": true }));
    let verdict = World::new().judge(&asking);
    assert!(verdict.runs && verdict.permissions.is_empty() && verdict.covers == SignatureCoverage::Tools);
    assert!(verdict.reason.contains("not id, name, version and permissions"), "{}", verdict.reason);
    let renamed = changed(&older, |m| m["alg"] = json!("RS256"));
    assert!(World::new().judge(&renamed).runs, "the same with its name written out");
}

#[test]
fn tools_of_the_older_form_are_hashed_again() {
    let older = Manifest::parse(OLDER.as_bytes()).unwrap();
    let other = changed(&older, |m| m["tools"][0]["executorCode"] = json!("return 2;"));
    refused(&World::new().judge(&other), &TrustStatus::Modified, "do not match the signed hash");
    let rehashed = changed(&other, |m| m["contentHash"] = json!(tools_hash(&other).unwrap()));
    refused(&World::new().judge(&rehashed), &TrustStatus::Modified, "the signature is invalid");
    let without = changed(&other, |m| drop(m.as_object_mut().unwrap().remove("contentHash")));
    refused(&World::new().judge(&without), &TrustStatus::Modified, "the signature is invalid");
    let stranger = changed(&older, |m| m["curatorId"] = json!("curator-2"));
    refused(&World::new().judge(&stranger), &TrustStatus::UnknownKey, "curator-2");
    let nobody = changed(&older, |m| drop(m.as_object_mut().unwrap().remove("curatorId")));
    refused(&World::new().judge(&nobody), &TrustStatus::UnknownKey, "name the key that signed it");
}

#[test]
fn a_curator_may_have_several_keys_and_lose_one() {
    let older = Manifest::parse(OLDER.as_bytes()).unwrap();
    let mut world = World::new();
    let mut ed25519 = KeyEntry::new(key(3).public_key(), "The curators");
    ed25519.curator_id = Some("curator-1".to_owned());
    world.keys.keys.insert(0, ed25519);
    assert!(world.judge(&older).runs, "a key of another kind is ignored");
    let other = PublicKey::from_pem(include_str!("../data/rsa2048-other.pub.pem")).unwrap();
    let mut lost = KeyEntry::new(other, "The curators");
    lost.curator_id = Some("curator-1".to_owned());
    lost.revoked_at = Some(world.now);
    world.keys.keys.insert(0, lost);
    assert!(world.judge(&older).runs, "and a revoked one that did not sign it");
    world.revocations.keys.push(RevokedKey { key_id: rsa().id(), reason: String::new() });
    refused(&world.judge(&older), &TrustStatus::Revoked, "was revoked");
}

/// A key of one kind never verifies a signature of the other kind.
#[test]
fn kinds_of_signatures_are_not_mixed() {
    let manifest = signed(&plugin(), &key(1));
    let as_older = changed(&manifest, |m| m["alg"] = json!("RS256"));
    refused(&World::new().judge(&as_older), &TrustStatus::UnknownKey, "no trusted key list");
    let older = Manifest::parse(OLDER.as_bytes()).unwrap();
    let as_newer = changed(&manifest, |m| m["keyId"] = json!(rsa().id()));
    refused(&World::new().judge(&as_newer), &TrustStatus::UnknownKey, "no trusted key list");
    assert!(World::new().judge(&older).runs);
}
