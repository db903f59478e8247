//! Entries of the audit log.

use sqlx::FromRow;
use toolyard_core::{
    audit::{AuditAnchor, AuditDigest, AuditHead},
    ports::AuditRecord,
};

use super::to_u64;

/// Most entries of one page.
pub(crate) const MAX_PAGE: u32 = 1_000;

#[derive(FromRow)]
pub(crate) struct AuditRow {
    pub(crate) number: i64,
    pub(crate) at: i64,
    pub(crate) actor_kind: String,
    pub(crate) actor: String,
    pub(crate) credential: String,
    pub(crate) action: String,
    pub(crate) target: String,
    pub(crate) user_id: String,
    pub(crate) detail: String,
    pub(crate) previous: Vec<u8>,
    pub(crate) hash: Vec<u8>,
    pub(crate) mac: Vec<u8>,
}

impl AuditRow {
    pub(crate) fn into_record(self) -> AuditRecord {
        AuditRecord {
            number: to_u64(self.number),
            at: self.at,
            actor_kind: self.actor_kind,
            actor: self.actor,
            credential: self.credential,
            action: self.action,
            target: self.target,
            user: self.user_id,
            detail: self.detail,
            previous: read_digest(&self.previous),
            hash: read_digest(&self.hash),
            mac: read_digest(&self.mac),
        }
    }
}

/// The number and the hash of an entry.
#[derive(FromRow)]
pub(crate) struct AuditHeadRow {
    pub(crate) number: i64,
    pub(crate) hash: Vec<u8>,
}

impl AuditHeadRow {
    pub(crate) fn into_head(self) -> AuditHead {
        AuditHead { number: to_u64(self.number), hash: read_digest(&self.hash) }
    }
}

#[derive(FromRow)]
pub(crate) struct AuditAnchorRow {
    pub(crate) number: i64,
    pub(crate) hash: Vec<u8>,
    pub(crate) mac: Vec<u8>,
}

impl AuditAnchorRow {
    pub(crate) fn into_anchor(self) -> AuditAnchor {
        let mac = read_digest(&self.mac);
        AuditAnchor { head: AuditHeadRow { number: self.number, hash: self.hash }.into_head(), mac }
    }
}

/// A digest of another length is one that fits nothing: the verification reports it.
fn read_digest(bytes: &[u8]) -> AuditDigest {
    bytes.try_into().unwrap_or_default()
}
