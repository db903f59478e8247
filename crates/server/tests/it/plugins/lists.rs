//! Key rotation: a new list signed by the root key, a new root key, and refused lists.

use serde_json::{Value, json};
use toolyard_server::{Server, ServerDependencies, config::Config};
use toolyard_trust::{KeyEntry, hand_over};

use super::{Rooted, curating, entry, hidden, install, key, plugin, signed};

const TOOL: &str = "plugin.com.example.x:do_it";

fn simple(id: &str, tool: &str) -> Value {
    plugin(id, tool, "return 1;")
}

#[tokio::test]
async fn a_new_key_is_valid_beside_the_old_one_until_that_expires() {
    let rooted = Rooted::new();
    rooted.keys(1, 9, vec![entry(1)], vec![]);
    let (p, _device) = rooted.start(|_| {}).await;
    let (ada, operator) = (p.user("ada"), p.nobody());
    install(&ada, &signed(&simple("com.example.x", "do_it"), 1)).await.expect(201);
    let new = signed(&simple("com.example.y", "other"), 2);
    install(&ada, &new).await.expect(403);
    let old = KeyEntry { expires_at: Some("2026-02-01T00:00:00Z".parse().unwrap()), ..entry(1) };
    rooted.keys(2, 9, vec![old, entry(2)], vec![]);
    operator.post("/api/plugins/reload", &json!({})).await.expect(200);
    install(&ada, &new).await.expect(201);
    ada.call(TOOL, json!({})).await.expect(200);
    p.clock.advance(40 * 24 * 3_600);
    ada.call(TOOL, json!({})).await.expect(503);
    ada.call("plugin.com.example.y:other", json!({})).await.expect(200);
    let served = operator.get("/api/plugins/keys").await.expect(200);
    assert_eq!(served.text, std::fs::read_to_string(rooted.file("keys.json")).unwrap());
    // The previous list cannot be restored.
    rooted.keys(1, 9, vec![entry(1)], vec![]);
    let replayed = operator.post("/api/plugins/reload", &json!({})).await.expect(409);
    assert!(replayed.text.contains("older than number 2"), "{}", replayed.text);
}

#[tokio::test]
async fn a_new_root_key_is_introduced_by_the_old_one() {
    let rooted = Rooted::new();
    rooted.keys(1, 9, vec![entry(1)], vec![]);
    let (p, _device) = rooted.start(|_| {}).await;
    install(&p.user("ada"), &signed(&simple("com.example.x", "do_it"), 1)).await.expect(201);
    rooted.keys(2, 8, vec![entry(1)], vec![]);
    p.nobody().post("/api/plugins/reload", &json!({})).await.expect(409);
    let handover = hand_over(&key(9), &key(8).public_key(), "2026-01-01T00:00:00Z".parse().unwrap()).unwrap();
    rooted.keys(2, 8, vec![entry(1), entry(2)], vec![handover]);
    p.nobody().post("/api/plugins/reload", &json!({})).await.expect(200);
    p.user("ada").call(TOOL, json!({})).await.expect(200);
    // The configuration still names the old root key. The rotation is stored, so the old key is not trusted again.
    let p = p.restart().await;
    let _device = p.device("ada").await;
    p.user("ada").call(TOOL, json!({})).await.expect(200);
    rooted.keys(3, 9, vec![entry(3)], vec![]);
    p.nobody().post("/api/plugins/reload", &json!({})).await.expect(409);
}

#[tokio::test]
async fn with_an_expired_list_no_signed_plugin_runs() {
    let rooted = Rooted::new();
    rooted.keys(1, 9, vec![entry(1)], vec![]);
    let (p, _device) = rooted.start(|_| {}).await;
    install(&p.user("ada"), &signed(&simple("com.example.x", "do_it"), 1)).await.expect(201);
    let expired = toolyard_trust::KeyList {
        number: 2,
        issued_at: jiff::Timestamp::UNIX_EPOCH,
        expires_at: Some("2026-01-01T00:00:00Z".parse().unwrap()),
        keys: vec![entry(1)],
        handovers: vec![],
    };
    std::fs::write(rooted.file("keys.json"), expired.sign(&key(9)).unwrap()).unwrap();
    let p = p.restart().await;
    let _device = p.device("ada").await;
    p.user("ada").call(TOOL, json!({})).await.expect(404);
    assert!(hidden(&p.user("ada")).await[0].contains("unknown key"));
}

#[tokio::test]
async fn a_curators_key_changes_under_the_same_root() {
    let rooted = Rooted::new();
    std::fs::write(rooted.file("root.key"), key(9).to_pem().unwrap().expose()).unwrap();
    let (p, _device) =
        super::yard(|config| config.plugins.root_secret_file = Some(rooted.file("root.key"))).await;
    install(&p.user("ada"), &signed(&simple("com.example.x", "do_it"), 1)).await.expect(201);
    let file = rooted.file("new.key");
    std::fs::write(&file, key(2).to_pem().unwrap().expose()).unwrap();
    let p = p.restart_with(|config| config.plugins.curator_key_file = Some(file)).await;
    let _device = p.device("ada").await;
    p.user("ada").call(TOOL, json!({})).await.expect(200);
    install(&p.user("ada"), &signed(&simple("com.example.y", "other"), 2)).await.expect(201);
    assert_eq!(p.user("ada").tools().await.len(), 2);
    p.clock.advance(91 * 24 * 3_600);
    p.user("ada").call(TOOL, json!({})).await.expect(503);
    p.user("ada").call("plugin.com.example.y:other", json!({})).await.expect(200);
}

/// An invalid setting, and a part of its error text.
type Case<'a> = (&'a dyn Fn(&mut Config), &'a str);

#[tokio::test]
async fn invalid_plugin_settings_are_reported_at_the_start() {
    let rooted = Rooted::new();
    rooted.keys(1, 9, vec![entry(1)], vec![]);
    let refused = async |change: &dyn Fn(&mut Config)| {
        let folder = tempfile::tempdir().unwrap();
        let mut config = Config::default();
        config.server.listen = ([127, 0, 0, 1], 0).into();
        config.store.path = folder.path().join("t.db");
        change(&mut config);
        Server::start(config, ServerDependencies::default())
            .await
            .err()
            .expect("it does not start")
            .to_string()
    };
    let cases: [Case<'_>; 10] = [
        (&|c| c.plugins.keys_file = Some("keys.json".into()), "root_key"),
        (&|c| c.plugins.root_key = Some("nonsense".to_owned()), "plugins.root_key"),
        (&|c| c.plugins.root_key = Some(key(9).public_key().to_pem()), "alone"),
        (&|c| c.plugins.curator_key_env = Some("NOT_SET".to_owned()), "NOT_SET is not set"),
        (&|c| c.plugins.curator_key_file = Some("/nowhere/key".into()), "/nowhere/key"),
        (&|c| c.plugins.revocations_file = Some("r.json".into()), "keys_file"),
        (
            &|c| {
                rooted.configure(c);
                c.plugins.root_key = Some(key(8).public_key().to_pem());
            },
            "not the pinned root",
        ),
        (
            &|c| {
                rooted.configure(c);
                c.plugins.keys_file = Some(rooted.file("none.json"));
            },
            "none.json",
        ),
        (
            &|c| {
                curating(c);
                c.plugins.root_key = Some(key(9).public_key().to_pem());
            },
            "not the key with which",
        ),
        (
            &|c| {
                curating(c);
                c.plugins.curator_key_env = Some("X".to_owned());
            },
            "either",
        ),
    ];
    for (change, why) in cases {
        let said = refused(change).await;
        assert!(said.contains(why), "{why}: {said}");
    }
}
