//! The audit log, as it is stored: numbered entries, each linked to the one before.

use async_trait::async_trait;
use jiff::Timestamp;
use toolyard_protocol::{
    UserId,
    audit::{AuditAction, AuditActorKind},
};

use super::StoreError;
use crate::audit::{AuditAnchor, AuditDigest, AuditHead, AuditKeys};

/// Who acted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuditActor {
    /// What kind of actor it is.
    pub kind: AuditActorKind,
    /// A user id or a package; empty if unknown.
    pub name: String,
    /// Which credential it had, without anything secret.
    pub credential: String,
}

/// Something that happened, before it is in the log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuditEvent {
    /// When.
    pub at: Timestamp,
    /// Who did it.
    pub actor: AuditActor,
    /// What was done.
    pub action: AuditAction,
    /// What it was done to.
    pub target: String,
    /// The user whom it is about.
    pub user: Option<UserId>,
    /// More about it, as a JSON object.
    pub detail: String,
}

/// An entry as it is stored. Texts that should have one of a few values are read as they are: whether someone changed them is
/// for the verification to say.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuditRecord {
    /// Its number, from 1.
    pub number: u64,
    /// When it was written, in milliseconds since 1970.
    pub at: i64,
    /// What kind of actor it was.
    pub actor_kind: String,
    /// The name of the actor.
    pub actor: String,
    /// The credential.
    pub credential: String,
    /// What was done.
    pub action: String,
    /// What it was done to.
    pub target: String,
    /// The user whom it is about; empty if there is none.
    pub user: String,
    /// More about it, as a JSON object.
    pub detail: String,
    /// The hash of the previous entry.
    pub previous: AuditDigest,
    /// The hash of this entry.
    pub hash: AuditDigest,
    /// Proves that a server with the root key wrote the hash.
    pub mac: AuditDigest,
}

impl AuditRecord {
    /// The number and the hash.
    pub fn head(&self) -> AuditHead {
        AuditHead { number: self.number, hash: self.hash }
    }
}

/// From where a page is read, and in which direction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AuditCursor {
    /// Newest first, from the end or from before this number.
    NewestBefore(Option<u64>),
    /// Oldest first, after this number.
    OldestAfter(u64),
}

/// Which entries are listed.
#[derive(Debug, Clone)]
pub struct AuditFilter {
    /// From where.
    pub cursor: AuditCursor,
    /// Only this action.
    pub action: Option<AuditAction>,
    /// Only this actor.
    pub actor: Option<String>,
    /// Only what is about this user.
    pub user: Option<UserId>,
    /// Only entries at this time or later.
    pub since: Option<Timestamp>,
    /// Only entries before this time.
    pub until: Option<Timestamp>,
    /// At most this many. A store may return fewer.
    pub limit: u32,
}

impl From<AuditCursor> for AuditFilter {
    /// Every entry from there, one page.
    fn from(cursor: AuditCursor) -> Self {
        Self { cursor, action: None, actor: None, user: None, since: None, until: None, limit: u32::MAX }
    }
}

/// Stores the audit log.
#[async_trait]
pub trait AuditStore: Send + Sync {
    /// Appends an entry: numbers it without a gap, and links it to the last one. One at a time on all nodes.
    async fn append_audit(&self, event: &AuditEvent, keys: &AuditKeys) -> Result<AuditRecord, StoreError>;
    /// Lists entries.
    async fn list_audit(&self, filter: &AuditFilter) -> Result<Vec<AuditRecord>, StoreError>;
    /// Removes at most `max` of the oldest entries, as long as they are from before this time, and anchors the rest. Returns how
    /// many.
    async fn prune_audit(&self, before: Timestamp, keys: &AuditKeys, max: u32) -> Result<u64, StoreError>;
    /// The end of what was pruned.
    async fn audit_anchor(&self) -> Result<Option<AuditAnchor>, StoreError>;
    /// Replaces the proofs of these entries: the root key was rotated.
    async fn replace_audit_macs(&self, macs: &[(u64, AuditDigest)]) -> Result<(), StoreError>;
    /// Replaces the proof of the anchor, if it is still this one.
    async fn replace_audit_anchor(&self, anchor: &AuditAnchor) -> Result<(), StoreError>;
}
