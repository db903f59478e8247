//! Keys, manifests and times for the tests.

use jiff::Timestamp;
use serde_json::{Value, json};
use toolyard_protocol::plugin::Manifest;
use toolyard_trust::{
    AllowList, KeyEntry, KeyList, PluginVerdict, PublicKey, RevocationList, SecretKey, TrustContext,
    judge_manifest, sign_manifest,
};

pub(crate) const OLDER: &str = include_str!("../data/rs256-plugin.json");

/// A deterministic key for a number.
pub(crate) fn key(number: u8) -> SecretKey {
    SecretKey::from_seed(&[number; 32]).unwrap()
}

pub(crate) fn rsa() -> PublicKey {
    PublicKey::from_pem(include_str!("../data/rsa2048.pub.pem")).unwrap()
}

pub(crate) fn at(text: &str) -> Timestamp {
    format!("{text}T00:00:00Z").parse().unwrap()
}

pub(crate) fn now() -> Timestamp {
    at("2026-06-01")
}

pub(crate) fn read(value: &Value) -> Manifest {
    Manifest::parse(value.to_string().as_bytes()).unwrap()
}

pub(crate) fn plugin() -> Value {
    json!({
        "schemaVersion": 1, "id": "com.example.time", "name": "Time", "version": "1.2.0", "publisher": "Example",
        "description": "Tells the time", "permissions": { "network": ["api.example.com"], "clock": true },
        "tools": [{ "name": "now", "description": "The time", "parameters": { "type": "object" },
                    "executorCode": "return Date.now();" }],
        "unknown": { "member": [1.5, "é"] },
    })
}

pub(crate) fn signed(value: &Value, key: &SecretKey) -> Manifest {
    Manifest::parse(sign_manifest(&read(value), key).unwrap().as_bytes()).unwrap()
}

/// The knowledge of a client: key 1 is trusted, nothing is revoked, nothing is allowed.
pub(crate) struct World {
    pub(crate) keys: KeyList,
    pub(crate) revocations: RevocationList,
    pub(crate) allowed: AllowList,
    pub(crate) now: Timestamp,
}

impl World {
    pub(crate) fn new() -> Self {
        let mut older = KeyEntry::new(rsa(), "The curators");
        older.curator_id = Some("curator-1".to_owned());
        Self {
            keys: KeyList::from_local_keys([KeyEntry::new(key(1).public_key(), "Ada"), older]),
            revocations: RevocationList::default(),
            allowed: AllowList::default(),
            now: now(),
        }
    }

    pub(crate) fn context(&self) -> TrustContext<'_> {
        TrustContext {
            keys: &self.keys,
            revocations: &self.revocations,
            allowed: &self.allowed,
            pinned: None,
            now: self.now,
        }
    }

    pub(crate) fn judge(&self, manifest: &Manifest) -> PluginVerdict {
        judge_manifest(manifest, &self.context()).unwrap()
    }
}
