//! What a client stores about the curators: their root key, and the numbers of the latest lists.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::{
    key::PublicKey,
    keys::{KeyList, RootHandover},
    list::{self, ListError},
    revocations::RevocationList,
};

/// The trusted root, and the list numbers below which lists are outdated. Stored by the client; changes only through
/// lists that the root signed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RootPin {
    /// The root key.
    pub root: PublicKey,
    /// Number of the newest key list so far.
    #[serde(default)]
    pub keys_seen: u64,
    /// Number of the newest revocation list so far.
    #[serde(default)]
    pub revocations_seen: u64,
}

impl RootPin {
    /// A root from a trusted channel, with no lists yet.
    pub fn new(root: PublicKey) -> Self {
        Self { root, keys_seen: 0, revocations_seen: 0 }
    }

    /// Accepts a key list and returns the new pin. Follows handovers from root to root, as far as needed to verify
    /// the list; a root that has handed over is not trusted again.
    pub fn accept_keys(&self, text: &str, now: Timestamp) -> Result<(KeyList, Self), ListError> {
        let value = list::parse_document::<KeyList>(text)?;
        let signer = list::signer_id::<KeyList>(&value)?;
        let mut root = self.root.clone();
        for handover in value["handovers"].as_array().into_iter().flatten().take(crate::keys::MAX_HANDOVERS) {
            if signer == root.id().as_str() {
                break;
            }
            if let Ok(next) = list::verify_document::<RootHandover>(handover, &root) {
                root = next.root;
            }
        }
        let keys: KeyList = list::verify_document(&value, &root)?;
        check_not_replayed(keys.number, self.keys_seen)?;
        check_not_expired(keys.expires_at, now)?;
        let pin = Self { root, keys_seen: keys.number, revocations_seen: self.revocations_seen };
        Ok((keys, pin))
    }

    /// Accepts a revocation list and returns the new pin.
    pub fn accept_revocations(
        &self,
        text: &str,
        now: Timestamp,
    ) -> Result<(RevocationList, Self), ListError> {
        let value = list::parse_document::<RevocationList>(text)?;
        let revocations: RevocationList = list::verify_document(&value, &self.root)?;
        check_not_replayed(revocations.number, self.revocations_seen)?;
        check_not_expired(revocations.expires_at, now)?;
        let pin = Self { revocations_seen: revocations.number, ..self.clone() };
        Ok((revocations, pin))
    }
}

/// An equal number is fine: it is the same list again.
fn check_not_replayed(number: u64, seen: u64) -> Result<(), ListError> {
    if number < seen { Err(ListError::Replayed { number, seen }) } else { Ok(()) }
}

fn check_not_expired(expires_at: Option<Timestamp>, now: Timestamp) -> Result<(), ListError> {
    match expires_at {
        Some(at) if at <= now => Err(ListError::Expired(at)),
        _ => Ok(()),
    }
}
