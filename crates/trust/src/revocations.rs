//! Revoked plugins and keys.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use toolyard_protocol::{
    Problem,
    plugin::{ContentHash, KeyId, PluginId},
};

use crate::{
    key::SecretKey,
    list::{self, SignedDocument},
    sign::SignError,
};

/// Maximum number of entries of each kind.
pub const MAX_REVOCATIONS: usize = 10_000;
/// Longest reason.
const MAX_REASON_CHARS: usize = 500;

/// The revoked plugins and keys. Signed by the root that clients pin.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RevocationList {
    /// Increases with each list.
    pub number: u64,
    /// When it was issued.
    pub issued_at: Timestamp,
    /// When it expires.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<Timestamp>,
    /// Revoked plugins.
    #[serde(default)]
    pub plugins: Vec<RevokedPlugin>,
    /// Revoked keys. Everything that they ever signed is revoked too.
    #[serde(default)]
    pub keys: Vec<RevokedKey>,
}

/// A revoked plugin.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RevokedPlugin {
    /// The plugin; all versions if there is no hash.
    pub id: PluginId,
    /// Only this content, under any id: the older form does not bind the id to the code. The hash of the
    /// whole manifest, or of the tools.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub content_hash: Option<ContentHash>,
    /// Human-readable reason.
    #[serde(default)]
    pub reason: String,
}

/// A revoked key.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RevokedKey {
    /// The key.
    pub key_id: KeyId,
    /// Human-readable reason.
    #[serde(default)]
    pub reason: String,
}

impl Default for RevocationList {
    /// An empty, unsigned list.
    fn default() -> Self {
        Self {
            number: 0,
            issued_at: Timestamp::UNIX_EPOCH,
            expires_at: None,
            plugins: Vec::new(),
            keys: Vec::new(),
        }
    }
}

impl RevocationList {
    /// The list as JSON, signed by the root.
    pub fn sign(&self, root: &SecretKey) -> Result<String, SignError> {
        list::sign_document(self, root)
    }

    pub(crate) fn find_plugin(&self, id: &PluginId, hashes: &[&ContentHash]) -> Option<&RevokedPlugin> {
        self.plugins.iter().find(|revoked| match &revoked.content_hash {
            Some(hash) => hashes.contains(&hash),
            None => revoked.id == *id,
        })
    }

    pub(crate) fn find_key(&self, id: &KeyId) -> Option<&RevokedKey> {
        self.keys.iter().find(|revoked| revoked.key_id == *id)
    }
}

impl SignedDocument for RevocationList {
    const TYPE: &'static str = "toolyard/revocations";
    const LABEL: &'static str = "revocation list";

    fn validate(&self) -> Result<(), Problem> {
        for (path, count) in [("plugins", self.plugins.len()), ("keys", self.keys.len())] {
            if count > MAX_REVOCATIONS {
                return Err(Problem::new(path, format!("{count} entries; at most {MAX_REVOCATIONS}")));
            }
        }
        let reasons =
            self.plugins.iter().map(|one| &one.reason).chain(self.keys.iter().map(|one| &one.reason));
        if reasons.into_iter().any(|reason| reason.chars().count() > MAX_REASON_CHARS) {
            return Err(Problem::new("reason", format!("longer than {MAX_REASON_CHARS} characters")));
        }
        Ok(())
    }
}
