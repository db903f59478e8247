//! Hashes of entries, and proofs of hashes.

use std::{fmt, str::FromStr};

use hmac::{Hmac, KeyInit as _, Mac as _};
use sha2::{Digest as _, Sha256};

use crate::ports::{AuditEvent, AuditRecord, SecretSealer};

/// A hash or a proof.
pub type AuditDigest = [u8; 32];

/// Written before the fields, so that another encoding can follow one day.
const ENCODING: &[u8] = b"toolyard-audit-1";
/// For which purpose keys are derived from the root key.
const KEY_PURPOSE: &str = "audit";

/// The end of a chain, up to an entry: its number and its hash. Written as `NUMBER:HASH`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct AuditHead {
    /// The number of the last entry; 0 if there is none.
    pub number: u64,
    /// The hash of the last entry.
    pub hash: AuditDigest,
}

impl fmt::Display for AuditHead {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.number, hex::encode(self.hash))
    }
}

/// A text that is not a head.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("expected NUMBER:HASH, the number of an entry and its hash in 64 hex digits")]
pub struct InvalidHead;

impl FromStr for AuditHead {
    type Err = InvalidHead;

    fn from_str(text: &str) -> Result<Self, InvalidHead> {
        let (number, digits) = text.split_once(':').ok_or(InvalidHead)?;
        let mut hash = AuditDigest::default();
        hex::decode_to_slice(digits, &mut hash).map_err(|_| InvalidHead)?;
        let number = number.parse().ok().filter(|number| *number > 0).ok_or(InvalidHead)?;
        Ok(Self { number, hash })
    }
}

/// The end of what retention removed, with its proof: the entries that are left follow it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AuditAnchor {
    /// The last removed entry.
    pub head: AuditHead,
    /// Proves that a server with the root key removed it.
    pub mac: AuditDigest,
}

/// The keys of the proofs: the current one, and the one before while the root key is rotated.
pub struct AuditKeys(Vec<[u8; 32]>);

impl AuditKeys {
    /// Derives the keys from the root keys.
    pub fn derive(secrets: &dyn SecretSealer) -> Self {
        Self(secrets.derive_keys(KEY_PURPOSE))
    }

    /// The entry of an event that follows `last`.
    pub fn link(&self, last: AuditHead, event: &AuditEvent) -> AuditRecord {
        let mut record = AuditRecord {
            number: last.number + 1,
            at: event.at.as_millisecond(),
            actor_kind: event.actor.kind.as_str().to_owned(),
            actor: event.actor.name.clone(),
            credential: event.actor.credential.clone(),
            action: event.action.as_str().to_owned(),
            target: event.target.clone(),
            user: event.user.as_ref().map_or_else(String::new, |user| user.as_str().to_owned()),
            detail: event.detail.clone(),
            previous: last.hash,
            hash: AuditDigest::default(),
            mac: AuditDigest::default(),
        };
        record.hash = content_hash(&record, record.number);
        record.mac = self.current_proof(Proof::Entry, record.head());
        record
    }

    /// The anchor after this entry was removed with all before it.
    pub fn anchor(&self, head: AuditHead) -> AuditAnchor {
        AuditAnchor { head, mac: self.current_proof(Proof::Anchor, head) }
    }

    /// Whether a server with one of the root keys wrote the hash of the entry.
    pub fn is_proved(&self, record: &AuditRecord) -> bool {
        self.proving_key(Proof::Entry, record.head(), &record.mac).is_some()
    }

    /// Whether a server with one of the root keys wrote the anchor.
    pub fn is_proved_anchor(&self, anchor: &AuditAnchor) -> bool {
        self.proving_key(Proof::Anchor, anchor.head, &anchor.mac).is_some()
    }

    /// The proof with the current key, if an older one proves the entry. What no key proves stays as it is.
    pub fn renewed_mac(&self, record: &AuditRecord) -> Option<AuditDigest> {
        let place = self.proving_key(Proof::Entry, record.head(), &record.mac)?;
        (place > 0).then(|| self.current_proof(Proof::Entry, record.head()))
    }

    /// The same for an anchor.
    pub fn renewed_anchor(&self, anchor: &AuditAnchor) -> Option<AuditAnchor> {
        let place = self.proving_key(Proof::Anchor, anchor.head, &anchor.mac)?;
        (place > 0).then(|| self.anchor(anchor.head))
    }

    fn current_proof(&self, what: Proof, head: AuditHead) -> AuditDigest {
        // Without a root key nothing is secret, so neither is this.
        let key = self.0.first().copied().unwrap_or_default();
        keyed_hash(&key, what, head).finalize().into_bytes().into()
    }

    fn proving_key(&self, what: Proof, head: AuditHead, mac: &AuditDigest) -> Option<usize> {
        let keys = if self.0.is_empty() { &[[0; 32]][..] } else { &self.0 };
        keys.iter().position(|key| keyed_hash(key, what, head).verify_slice(mac).is_ok())
    }
}

/// What is proved. An anchor and an entry with the same hash have different proofs.
#[derive(Debug, Clone, Copy)]
enum Proof {
    Entry,
    Anchor,
}

fn keyed_hash(key: &[u8; 32], what: Proof, head: AuditHead) -> Hmac<Sha256> {
    #[expect(clippy::expect_used, reason = "HMAC is defined for keys of every length")]
    let mut mac = Hmac::<Sha256>::new_from_slice(key).expect("HMAC takes any key");
    mac.update(match what {
        Proof::Entry => b"entry ",
        Proof::Anchor => b"anchor",
    });
    mac.update(&head.number.to_be_bytes());
    mac.update(&head.hash);
    mac
}

/// The hash of an entry under a number. Each field is preceded by its length, so that no text can move from one to the next.
pub(super) fn content_hash(record: &AuditRecord, number: u64) -> AuditDigest {
    let (number, at) = (number.to_string(), record.at.to_string());
    let fields: [&[u8]; 11] = [
        ENCODING,
        &record.previous,
        number.as_bytes(),
        at.as_bytes(),
        record.actor_kind.as_bytes(),
        record.actor.as_bytes(),
        record.credential.as_bytes(),
        record.action.as_bytes(),
        record.target.as_bytes(),
        record.user.as_bytes(),
        record.detail.as_bytes(),
    ];
    let mut hash = Sha256::new();
    for field in fields {
        hash.update((field.len() as u64).to_be_bytes());
        hash.update(field);
    }
    hash.finalize().into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_head_is_read_as_it_is_written() {
        let head = AuditHead { number: 12, hash: [0xab; 32] };
        assert_eq!(head.to_string().parse(), Ok(head));
        for text in [
            "",
            "12",
            "12:",
            "12:ab",
            ":ab",
            &format!("0:{}", "ab".repeat(32)),
            &format!("x:{}", "ab".repeat(32)),
        ] {
            assert_eq!(text.parse::<AuditHead>(), Err(InvalidHead), "{text}");
        }
    }
}
