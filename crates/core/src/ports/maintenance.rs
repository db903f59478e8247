//! Operations on a store as a whole.

use async_trait::async_trait;
use jiff::Timestamp;
use tokio_util::sync::CancellationToken;

use super::StoreError;

/// Rows older than these times are removed.
#[derive(Debug, Clone, Copy)]
pub struct PruneBefore {
    /// Labels of conversations that expired before.
    pub labels: Timestamp,
    /// Records of calls.
    pub calls: Timestamp,
    /// Error messages of records that stay.
    pub messages: Timestamp,
    /// Idempotency keys.
    pub keys: Timestamp,
}

/// The state of the ledger's backlog.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct LedgerBacklog {
    /// Records of calls that are not written yet.
    pub unwritten: usize,
    /// Records that were lost since the start.
    pub lost: u64,
    /// The backlog is full or writing fails: no call should start.
    pub is_full: bool,
}

/// What a store knows about its root key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum KnownKey {
    /// Nothing was sealed or signed yet.
    None,
    /// The value that verifies the key.
    Check(Vec<u8>),
    /// A store of an older version: a sealed value that only the right key opens.
    Sealed(Vec<u8>),
}

impl KnownKey {
    /// The saved value that verifies the key.
    pub fn check(&self) -> Option<&[u8]> {
        match self {
            Self::Check(check) => Some(check),
            Self::None | Self::Sealed(_) => None,
        }
    }
}

/// Health checks, pruning and shutdown of a store.
#[async_trait]
pub trait StoreMaintenance: Send + Sync {
    /// Whether the store can be read and written.
    async fn ping(&self) -> Result<(), StoreError>;
    /// The state of the ledger's backlog.
    fn backlog(&self) -> LedgerBacklog;
    /// Removes expired rows until done or `stopping` fires.
    async fn prune(&self, before: PruneBefore, stopping: &CancellationToken) -> Result<(), StoreError>;
    /// What is known about the store's root key.
    async fn known_key(&self) -> Result<KnownKey, StoreError>;
    /// Saves the value that verifies the root key, if what is known about the key is still `before`. Otherwise another node
    /// saved one meanwhile.
    async fn set_key_check(&self, before: &KnownKey, check: &[u8]) -> Result<bool, StoreError>;
    /// Writes what is queued and closes the store. Later records are lost, so all calls must have ended.
    async fn close(&self);
}
