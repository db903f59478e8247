//! What conversations have read: kept so that a restart does not forget it.

use async_trait::async_trait;
use jiff::Timestamp;
use toolyard_protocol::UserId;

use super::StoreError;

/// What a conversation has read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredLabels {
    /// What brought private data, the first few names.
    pub private: Vec<String>,
    /// What brought content from outside, the first few names.
    pub untrusted: Vec<String>,
    /// Until when this is kept.
    pub until: Timestamp,
}

/// Stores what conversations have read.
#[async_trait]
pub trait LabelStore: Send + Sync {
    /// What a conversation has read, expired or not.
    async fn conversation_labels(
        &self,
        user: &UserId,
        conversation: &str,
    ) -> Result<Option<StoredLabels>, StoreError>;
    /// Stores what a conversation has read. Of a user's conversations, the `max` that expire last are kept.
    async fn set_conversation_labels(
        &self,
        user: &UserId,
        conversation: &str,
        labels: &StoredLabels,
        max: u32,
    ) -> Result<(), StoreError>;
}
