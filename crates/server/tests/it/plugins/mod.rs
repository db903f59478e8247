//! Plugins of users on the server, through the public API.

mod agree;
mod curator;
mod doors;
mod fetch;
mod keeps;
mod lists;
mod policy;
mod runs;
mod statuses;

use std::path::PathBuf;

use jiff::Timestamp;
use serde_json::{Value, json};
use toolyard_protocol::plugin::Manifest;
use toolyard_server::config::Config;
use toolyard_trust::{KeyEntry, KeyList, RevocationList, SecretKey, sign_manifest};

use crate::platform::{Answer, Device, Person, Platform};

/// A deterministic key by its number.
pub(crate) fn key(number: u8) -> SecretKey {
    SecretKey::from_seed(&[number; 32]).unwrap()
}

/// A server that runs plugins and is its own curator, with key 1.
pub(crate) fn curating(config: &mut Config) {
    let file = config.store.path.with_file_name("curator.key");
    std::fs::write(&file, key(1).to_pem().unwrap().expose()).unwrap();
    (config.plugins.enabled, config.plugins.curator_key_file) = (true, Some(file));
}

/// The same, with a session of ada.
async fn yard(change: impl FnOnce(&mut Config)) -> (Platform, Device) {
    let p = Platform::with(|config| {
        curating(config);
        change(config);
    })
    .await;
    let device = p.device("ada").await;
    (p, device)
}

/// A plugin with one tool.
pub(crate) fn plugin(id: &str, tool: &str, code: &str) -> Value {
    json!({
        "schemaVersion": 1, "id": id, "name": "A plugin", "version": "1.0.0", "publisher": "Example",
        "description": "For tests", "tools": [{ "name": tool, "description": "Does it",
            "parameters": { "type": "object" }, "executorCode": code }],
    })
}

fn with(mut manifest: Value, member: &str, value: Value) -> Value {
    manifest[member] = value;
    manifest
}

fn read(manifest: &Value) -> Manifest {
    Manifest::parse(manifest.to_string().as_bytes()).unwrap()
}

/// Signed with the key of that number.
pub(crate) fn signed(manifest: &Value, number: u8) -> Value {
    serde_json::from_str(&sign_manifest(&read(manifest), &key(number)).unwrap()).unwrap()
}

/// Ada installs it and agrees to all of its permissions.
pub(crate) async fn install(person: &Person<'_>, manifest: &Value) -> Answer {
    let body = json!({ "manifest": manifest, "permissions": manifest["permissions"] });
    let body = if manifest.get("permissions").is_some() { body } else { json!({ "manifest": manifest }) };
    person.post("/api/plugins/installed", &body).await
}

/// The first of the user's plugins, with its current verdict.
async fn shown(person: &Person<'_>) -> Value {
    person.get("/api/plugins/installed").await.expect(200).json()["plugins"][0].clone()
}

/// Why the user's tools are hidden.
async fn hidden(person: &Person<'_>) -> Vec<String> {
    let list = person.get("/api/tools?hidden=true").await.expect(200).json();
    let reason =
        |one: &Value| format!("{} {}", one["name"].as_str().unwrap(), one["reason"].as_str().unwrap());
    list["hidden"].as_array().into_iter().flatten().map(reason).collect()
}

/// A server that trusts the lists of root key 9, in files.
struct Rooted {
    folder: tempfile::TempDir,
}

impl Rooted {
    fn new() -> Self {
        Self { folder: tempfile::tempdir().unwrap() }
    }

    fn file(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn keys(&self, number: u64, root: u8, keys: Vec<KeyEntry>, handovers: Vec<Value>) {
        let list = KeyList { number, issued_at: Timestamp::UNIX_EPOCH, expires_at: None, keys, handovers };
        std::fs::write(self.file("keys.json"), list.sign(&key(root)).unwrap()).unwrap();
    }

    fn revocations(&self, root: u8, list: &RevocationList) {
        std::fs::write(self.file("revocations.json"), list.sign(&key(root)).unwrap()).unwrap();
    }

    fn configure(&self, config: &mut Config) {
        config.plugins.enabled = true;
        config.plugins.root_key = Some(key(9).public_key().to_pem());
        config.plugins.keys_file = Some(self.file("keys.json"));
    }

    async fn start(&self, change: impl FnOnce(&mut Config)) -> (Platform, Device) {
        let p = Platform::with(|config| {
            self.configure(config);
            change(config);
        })
        .await;
        let device = p.device("ada").await;
        (p, device)
    }
}

fn entry(number: u8) -> KeyEntry {
    KeyEntry::new(key(number).public_key(), format!("key {number}"))
}
