//! Updates that need consent.

use serde_json::{Value, json};
use toolyard_trust::{ManifestChange, compare_manifests};

use crate::fixture::{key, plugin, read, signed};

fn change(edit: impl FnOnce(&mut Value)) -> ManifestChange {
    let mut new = plugin();
    edit(&mut new);
    compare_manifests(&signed(&plugin(), &key(1)), &signed(&new, &key(1)))
}

#[test]
fn a_plain_update_asks_nothing() {
    let update = change(|m| {
        m["version"] = json!("1.10.0");
        m["permissions"] = json!({ "clock": true });
        m["tools"][0]["name"] = json!("later");
    });
    assert!(!update.needs_consent(), "{update:?}");
    assert_eq!(
        (update.tools_added, update.tools_removed),
        (vec!["later".to_owned()], vec!["now".to_owned()])
    );
}

#[test]
fn more_permissions_ask_again_and_are_named() {
    let update =
        change(|m| m["permissions"] = json!({ "network": ["api.example.com", "b.com"], "storage": true }));
    assert_eq!(
        serde_json::to_value(&update.asks_for_more).unwrap(),
        json!({ "network": ["b.com"], "storage": true })
    );
    assert!(update.needs_consent());
}

#[test]
fn everything_else_that_changes_hands_asks_again() {
    let lower = change(|m| m["version"] = json!("1.2.0-rc.1"));
    assert!(lower.downgrade && lower.needs_consent());
    let build = change(|m| m["version"] = json!("1.2.0+other"));
    assert!(!build.downgrade);
    let publisher = change(|m| m["publisher"] = json!("Other"));
    assert!(publisher.publisher_changed && publisher.needs_consent());
    let other = change(|m| m["id"] = json!("other"));
    assert!(other.other_plugin && other.needs_consent());
    for new in [signed(&plugin(), &key(2)), read(&plugin())] {
        let change = compare_manifests(&signed(&plugin(), &key(1)), &new);
        assert!(change.signer_changed && change.needs_consent());
    }
    let mut older = plugin();
    older.as_object_mut().unwrap().remove("schemaVersion");
    older["version"] = json!("two");
    assert!(compare_manifests(&read(&plugin()), &read(&older)).downgrade, "nobody can say that it is higher");
    assert!(!compare_manifests(&read(&older), &read(&older)).needs_consent());
}
