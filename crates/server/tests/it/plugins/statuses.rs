//! Every status of a plugin: what runs, what is refused, and what is hidden at the next load.

use serde_json::{Value, json};
use toolyard_protocol::UserId;
use toolyard_server::config::AllowUnsigned;
use toolyard_trust::{KeyEntry, PublicKey, RevocationList, RevokedPlugin, manifest_hash};

use super::{Rooted, entry, hidden, install, plugin, read, shown, signed, with, yard};
use crate::platform::Platform;

const TOOL: &str = "plugin.com.example.x:do_it";
const OLDER: &str = include_str!("../../../../trust/tests/data/rs256-plugin.json");
const OLDER_KEY: &str = include_str!("../../../../trust/tests/data/rsa2048.pub.pem");

fn simple() -> Value {
    plugin("com.example.x", "do_it", "return 1;")
}

#[tokio::test]
async fn plugins_do_not_run_unless_the_operator_allows_it() {
    let p = Platform::start().await;
    let ada = p.user("ada");
    for answer in [install(&ada, &simple()).await, ada.get("/api/plugins/installed").await] {
        assert!(answer.expect(403).text.contains("plugins.enabled"));
    }
    p.nobody().get("/api/plugins/keys").await.expect(404);
    p.nobody().get("/api/plugins/revocations").await.expect(404);
}

#[tokio::test]
async fn installed_plugins_stop_when_the_operator_disables_plugins() {
    let (p, _device) = yard(|_| {}).await;
    install(&p.user("ada"), &signed(&simple(), 1)).await.expect(201);
    let p = p.restart_with(|config| config.plugins.enabled = false).await;
    let _device = p.device("ada").await;
    assert!(p.user("ada").tools().await.is_empty());
    p.user("ada").call(TOOL, json!({})).await.expect(404);
    p.user("ada").delete("/api/plugins/installed/com.example.x").await.expect(204);
}

#[tokio::test]
async fn an_unsigned_plugin_is_refused_unless_its_hash_is_allowed() {
    let asks = with(simple(), "permissions", json!({ "clock": true }));
    let allowed =
        AllowUnsigned { id: "com.example.x".parse().unwrap(), hash: manifest_hash(&read(&asks)).unwrap() };
    let (p, _device) = yard(|config| config.plugins.allow_unsigned = vec![allowed]).await;
    let ada = p.user("ada");
    let refused = install(&ada, &simple()).await.expect(403);
    assert!(refused.text.contains("unsigned"), "{}", refused.text);
    install(&ada, &with(asks.clone(), "id", json!("com.example.y"))).await.expect(403);
    let installed = install(&ada, &asks).await.expect(201).json();
    assert_eq!(
        (&installed["status"], &installed["permissions"]["clock"]),
        (&json!("unsigned"), &json!(true))
    );
    ada.call(TOOL, json!({})).await.expect(200);
    let p = p.restart_with(|config| config.plugins.allow_unsigned.clear()).await;
    let _device = p.device("ada").await;
    p.user("ada").call(TOOL, json!({})).await.expect(404);
    assert!(hidden(&p.user("ada")).await[0].contains("unsigned"));
}

#[tokio::test]
async fn modified_plugins_and_unknown_keys_are_refused() {
    let (p, _device) = yard(|_| {}).await;
    let ada = p.user("ada");
    let changed = with(signed(&simple(), 1), "name", json!("Another"));
    assert!(install(&ada, &changed).await.expect(403).text.contains("modified"));
    assert!(install(&ada, &signed(&simple(), 2)).await.expect(403).text.contains("unknown-key"));
    assert!(ada.tools().await.is_empty());
}

/// An attacker who can write to the store replaces the plugin.
async fn tampered(change: impl FnOnce(&mut String)) -> (Platform, String) {
    let (p, _device) = yard(|_| {}).await;
    install(&p.user("ada"), &signed(&simple(), 1)).await.expect(201);
    p.user("ada").call(TOOL, json!({})).await.expect(200);
    let (ada, id): (UserId, _) = ("ada".parse().unwrap(), "com.example.x".parse().unwrap());
    let mut row = p.state.stores.plugins.find_installed(&ada, &id).await.unwrap().unwrap();
    change(&mut row.manifest);
    p.state.stores.plugins.put_plugin(&ada, &row, 9).await.unwrap();
    // The view still has the tool; the check before the call notices it.
    let refused = p.user("ada").call(TOOL, json!({})).await.expect(503);
    assert_eq!(refused.code(), "APP_NOT_AVAILABLE");
    p.user("ada").call(TOOL, json!({})).await.expect(404);
    let status = shown(&p.user("ada")).await["status"].as_str().unwrap().to_owned();
    (p, format!("{status} {}", refused.text))
}

#[tokio::test]
async fn a_plugin_modified_in_the_store_is_hidden() {
    let other = |manifest: &mut String| *manifest = manifest.replace("return 1;", "return 2;");
    let (p, said) = tampered(other).await;
    assert!(said.starts_with("modified ") && said.contains("not what was installed"), "{said}");
    assert!(hidden(&p.user("ada")).await[0].starts_with("plugin.com.example.x:do_it modified"));
    // A correctly signed plugin, but not the one that she agreed to.
    let (_p, said) = tampered(|manifest| {
        let other = with(simple(), "version", json!("2.0.0"));
        *manifest = signed(&other, 1).to_string();
    })
    .await;
    assert!(said.contains("not what was installed"), "{said}");
    let (_p, said) = tampered(|manifest| manifest.truncate(20)).await;
    assert!(said.starts_with("modified ") && said.contains("is not run: modified"), "{said}");
}

#[tokio::test]
async fn expired_keys_and_expired_plugins_are_refused() {
    let rooted = Rooted::new();
    let until = |text: &str| Some(format!("{text}T00:00:00Z").parse().unwrap());
    let bounded = KeyEntry { expires_at: until("2026-02-01"), ..entry(1) };
    rooted.keys(
        1,
        9,
        vec![bounded, KeyEntry { not_before: until("2027-01-01"), ..entry(2) }, entry(3)],
        vec![],
    );
    let (p, _device) = rooted.start(|_| {}).await;
    let ada = p.user("ada");
    install(&ada, &signed(&simple(), 1)).await.expect(201);
    let ends =
        with(plugin("com.example.y", "other", "return 2;"), "expiresAt", json!("2026-03-01T00:00:00Z"));
    install(&ada, &signed(&ends, 3)).await.expect(201);
    let early = install(&ada, &signed(&plugin("com.example.z", "third", "return 3;"), 2)).await.expect(403);
    assert!(early.text.contains("not valid before"), "{}", early.text);
    assert_eq!(ada.tools().await.len(), 2);
    p.clock.advance(40 * 24 * 3_600);
    // No change was announced, so the view is old; the check before the call notices it.
    let refused = ada.call(TOOL, json!({})).await.expect(503);
    assert!(refused.text.contains("expired: the key"), "{}", refused.text);
    ada.call(TOOL, json!({})).await.expect(404);
    assert_eq!(ada.tools().await.len(), 1);
    ada.call("plugin.com.example.y:other", json!({})).await.expect(200);
    p.clock.advance(40 * 24 * 3_600);
    let refused = ada.call("plugin.com.example.y:other", json!({})).await.expect(503);
    assert!(refused.text.contains("expired: the plugin expired"), "{}", refused.text);
    assert_eq!(hidden(&ada).await.len(), 2);
}

#[tokio::test]
async fn a_legacy_plugin_runs_without_permissions() {
    let rooted = Rooted::new();
    let mut older = KeyEntry::new(PublicKey::from_pem(OLDER_KEY).unwrap(), "The curators");
    let mut manifest: Value = serde_json::from_str(OLDER).unwrap();
    older.curator_id = manifest["curatorId"].as_str().map(str::to_owned);
    rooted.keys(1, 9, vec![older], vec![]);
    let (p, _device) = rooted.start(|_| {}).await;
    // Not covered by such a signature, so anyone may have added it.
    manifest["permissions"] = json!({ "clock": true, "network": ["evil.example"], "storage": true });
    let body = json!({ "manifest": manifest, "permissions": manifest["permissions"] });
    let installed = p.user("ada").post("/api/plugins/installed", &body).await.expect(201).json();
    assert_eq!(
        (&installed["status"], &installed["permissions"]),
        (&json!("signed"), &json!({})),
        "{installed}"
    );
    let answer = p.user("ada").call("plugin.dev-time-plugin:get_current_time", json!({})).await.expect(200);
    assert_eq!(answer.json()["content"], "1");
}

#[tokio::test]
async fn a_legacy_plugin_can_read_the_time() {
    let text = include_str!("../../../../../examples/plugins/time-older.json");
    let manifest: Value = serde_json::from_str(text).unwrap();
    let hash = manifest_hash(&read(&manifest)).unwrap();
    let (p, _device) = yard(|config| {
        let id = "dev-time-plugin".parse().unwrap();
        config.plugins.allow_unsigned = vec![AllowUnsigned { id, hash }];
    })
    .await;
    // It requests no permissions, so nothing needs agreement.
    let installed = install(&p.user("ada"), &manifest).await.expect(201).json();
    assert_eq!((&installed["status"], &installed["permissions"]), (&json!("unsigned"), &json!({})));
    let call = json!({ "timezone": "America/New_York" });
    let answer = p.user("ada").call("plugin.dev-time-plugin:get_current_time", call).await.expect(200);
    let told = answer.json()["content"].as_str().unwrap().to_owned();
    let told: Value = serde_json::from_str(&told).unwrap();
    assert!(told["time"].as_str().unwrap().starts_with("2026-01-02T03:04:0"), "{told}");
    assert!(told["formatted"].as_str().unwrap().starts_with("1/1/2026, 10:04:0"), "{told}");
}

#[tokio::test]
async fn a_plugin_revoked_by_the_revocations_file_is_hidden() {
    let rooted = Rooted::new();
    rooted.keys(1, 9, vec![entry(1)], vec![]);
    rooted.revocations(9, &RevocationList { number: 1, ..RevocationList::default() });
    let (p, _device) =
        rooted.start(|config| config.plugins.revocations_file = Some(rooted.file("revocations.json"))).await;
    let ada = p.user("ada");
    install(&ada, &signed(&simple(), 1)).await.expect(201);
    ada.call(TOOL, json!({})).await.expect(200);
    let revoked = RevokedPlugin {
        id: "com.example.x".parse().unwrap(),
        content_hash: None,
        reason: "a hole".to_owned(),
    };
    let list = RevocationList { number: 2, plugins: vec![revoked], ..RevocationList::default() };
    // A list signed with another key changes nothing and is reported.
    rooted.revocations(8, &list);
    p.nobody().post("/api/plugins/reload", &json!({})).await.expect(409);
    ada.call(TOOL, json!({})).await.expect(200);
    rooted.revocations(9, &list);
    assert_eq!(p.nobody().post("/api/plugins/reload", &json!({})).await.expect(200).json()["changed"], true);
    ada.call(TOOL, json!({})).await.expect(404);
    assert!(hidden(&ada).await[0].ends_with("revoked: the plugin was revoked: a hole"));
    // The previous list cannot be restored, not even after a restart.
    rooted.revocations(9, &RevocationList { number: 1, ..RevocationList::default() });
    p.nobody().post("/api/plugins/reload", &json!({})).await.expect(409);
    // This server does not have the root key, so it cannot sign the list.
    p.nobody().post("/api/plugins/com.example.x/revoke", &json!({})).await.expect(409);
}
