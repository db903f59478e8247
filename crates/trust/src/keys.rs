//! The trusted keys, as the curators list them.

use std::collections::HashSet;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use toolyard_protocol::{Problem, plugin::KeyId};

use crate::{
    key::{PublicKey, SecretKey},
    list::{self, SignedDocument},
    sign::SignError,
};

/// Maximum number of keys in a list.
pub const MAX_KEYS: usize = 1_000;
/// Maximum number of root handovers in a list.
pub const MAX_HANDOVERS: usize = 32;
/// Longest owner name.
const MAX_OWNER_CHARS: usize = 100;

/// The trusted keys. Signed by the root that clients pin.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct KeyList {
    /// Increases with each list, so that an old one cannot replace a newer one.
    pub number: u64,
    /// When it was issued.
    pub issued_at: Timestamp,
    /// When it expires; afterwards no key in it is trusted. Limits how long an attacker can withhold new lists.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<Timestamp>,
    /// The keys.
    pub keys: Vec<KeyEntry>,
    /// Every handover from one root to the next, oldest first, each signed by the older root: [`hand_over`].
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub handovers: Vec<Value>,
}

/// One key and its validity period.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct KeyEntry {
    /// Its id, derived from the key.
    pub key_id: KeyId,
    /// The key, SPKI in base64.
    pub key: PublicKey,
    /// Its owner, for display.
    pub owner: String,
    /// Its name in plugins of the older form.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub curator_id: Option<String>,
    /// Not trusted before this time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub not_before: Option<Timestamp>,
    /// Not trusted from this time on; plugins must be signed again before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<Timestamp>,
    /// From this time on nothing that it ever signed is trusted: a thief can write any date into a manifest.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub revoked_at: Option<Timestamp>,
}

/// The validity of a key at a given time, apart from revocation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum KeyValidity {
    Good,
    NotYet(Timestamp),
    Expired(Timestamp),
}

impl KeyEntry {
    /// A key without time limits.
    pub fn new(key: PublicKey, owner: impl Into<String>) -> Self {
        Self {
            key_id: key.id(),
            key,
            owner: owner.into(),
            curator_id: None,
            not_before: None,
            expires_at: None,
            revoked_at: None,
        }
    }

    pub(crate) fn validity_at(&self, now: Timestamp) -> KeyValidity {
        match (self.not_before, self.expires_at) {
            (Some(at), _) if now < at => KeyValidity::NotYet(at),
            (_, Some(at)) if at <= now => KeyValidity::Expired(at),
            _ => KeyValidity::Good,
        }
    }
}

impl KeyList {
    /// Locally configured keys, without a root.
    pub fn from_local_keys(keys: impl IntoIterator<Item = KeyEntry>) -> Self {
        Self {
            number: 0,
            issued_at: Timestamp::UNIX_EPOCH,
            expires_at: None,
            keys: keys.into_iter().collect(),
            handovers: Vec::new(),
        }
    }

    /// The list as JSON, signed by the root.
    pub fn sign(&self, root: &SecretKey) -> Result<String, SignError> {
        list::sign_document(self, root)
    }

    /// The Ed25519 key with that id.
    pub(crate) fn find_key(&self, id: &KeyId) -> Option<&KeyEntry> {
        self.keys.iter().find(|entry| entry.key_id == *id && entry.key.is_ed25519())
    }

    /// The RSA keys with that name in plugins of the older form. A curator may have several.
    pub(crate) fn find_legacy_keys<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a KeyEntry> {
        let fits = move |entry: &&KeyEntry| {
            entry.curator_id.as_deref() == Some(name) || entry.key_id.as_str() == name
        };
        self.keys.iter().filter(|entry| !entry.key.is_ed25519()).filter(fits)
    }
}

impl SignedDocument for KeyList {
    const TYPE: &'static str = "toolyard/keys";
    const LABEL: &'static str = "key list";

    fn validate(&self) -> Result<(), Problem> {
        if self.keys.len() > MAX_KEYS {
            return Err(Problem::new("keys", format!("{} keys; at most {MAX_KEYS}", self.keys.len())));
        }
        if self.handovers.len() > MAX_HANDOVERS {
            let why = format!("{} handovers; at most {MAX_HANDOVERS}", self.handovers.len());
            return Err(Problem::new("handovers", why));
        }
        let mut ids = HashSet::new();
        for (index, entry) in self.keys.iter().enumerate() {
            let wrong = |member: &str, why: &str| Err(Problem::new(format!("keys[{index}].{member}"), why));
            if entry.key_id != entry.key.id() {
                return wrong("keyId", "is not the id of that key");
            }
            if !ids.insert(&entry.key_id) {
                return wrong("keyId", "the key is listed twice");
            }
            let length = entry.owner.chars().count();
            if length == 0 || length > MAX_OWNER_CHARS || entry.owner.contains(char::is_control) {
                return wrong("owner", "expected one line: the owner of the key");
            }
        }
        Ok(())
    }
}

/// A handover from one root to the next.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct RootHandover {
    /// The next root.
    pub(crate) root: PublicKey,
    issued_at: Timestamp,
}

impl SignedDocument for RootHandover {
    const TYPE: &'static str = "toolyard/root";
    const LABEL: &'static str = "handover to another root key";

    fn validate(&self) -> Result<(), Problem> {
        if self.root.is_ed25519() { Ok(()) } else { Err(Problem::new("root", "expected an Ed25519 key")) }
    }
}

/// The old root's signed statement that another root follows. Every later key list contains it, so that clients that were
/// offline for long can follow from root to root.
pub fn hand_over(old: &SecretKey, next: &PublicKey, now: Timestamp) -> Result<Value, SignError> {
    let text = list::sign_document(&RootHandover { root: next.clone(), issued_at: now }, old)?;
    serde_json::from_str(&text).map_err(|error| SignError::Document(Problem::new("", error.to_string())))
}
