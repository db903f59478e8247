//! What an operator and the process itself do with a store as a whole.

use std::path::Path;

use async_trait::async_trait;
use jiff::Timestamp;
use tokio_util::sync::CancellationToken;

use super::StoreError;

/// What is older than these times is removed.
#[derive(Debug, Clone, Copy)]
pub struct PruneBefore {
    /// Records of calls.
    pub calls: Timestamp,
    /// Error messages in records that stay.
    pub messages: Timestamp,
    /// Idempotency keys.
    pub keys: Timestamp,
}

/// How the ledger keeps up.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct LedgerBacklog {
    /// Records of calls that are not written yet.
    pub unwritten: usize,
    /// Records that could not be written, since the start.
    pub lost: u64,
    /// So many are unwritten, and writing fails, that no call should begin.
    pub is_full: bool,
}

/// What a store knows of the root key it was made with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum KnownKey {
    /// Nothing was sealed or signed yet.
    None,
    /// The value by which the key is recognised.
    Check(Vec<u8>),
    /// A store of an older version: something that only the right key opens.
    Sealed(Vec<u8>),
}

/// Health, upkeep and the end of a store.
#[async_trait]
pub trait StoreMaintenance: Send + Sync {
    /// Whether the store can be read and written.
    async fn ping(&self) -> Result<(), StoreError>;
    /// How the ledger keeps up.
    fn backlog(&self) -> LedgerBacklog;
    /// Removes what is too old, or as much of it as there is time for until `stopping` fires.
    async fn prune(&self, before: PruneBefore, stopping: &CancellationToken) -> Result<(), StoreError>;
    /// Copies the whole store, as it is at one moment, to a file that does not exist yet.
    async fn backup(&self, to: &Path) -> Result<(), StoreError>;
    /// The root key that this store was made with.
    async fn known_key(&self) -> Result<KnownKey, StoreError>;
    /// Remembers by which value the root key is recognised.
    async fn set_key_check(&self, check: &[u8]) -> Result<(), StoreError>;
    /// Writes what is queued and closes the store. Records that come later are lost, so calls must have ended.
    async fn close(&self);
}
