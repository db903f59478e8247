//! The two ports of OAuth: where tokens are stored, and where a flow waits for the browser to return.

use async_trait::async_trait;
use jiff::Timestamp;
use toolyard_protocol::{UserId, secret::SecretText};

/// Which user's tokens, and for which upstream.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct TokenKey {
    /// The caller's name for the upstream.
    pub upstream: String,
    /// The user who consented.
    pub user: UserId,
}

/// The store failed. The text is for the log.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the authorization store failed: {0}")]
pub struct OAuthStoreError(pub String);

/// Stores one text per user and upstream. It contains tokens: encrypt it.
#[async_trait]
pub trait TokenStore: Send + Sync {
    /// The last saved text.
    async fn load(&self, key: &TokenKey) -> Result<Option<SecretText>, OAuthStoreError>;
    /// Stores the text of a new authorization.
    async fn save(&self, key: &TokenKey, text: SecretText) -> Result<(), OAuthStoreError>;
    /// Replaces the text. False, and nothing is stored, if it was deleted meanwhile: a renewed token must not restore an
    /// authorization that the user withdrew.
    async fn replace(&self, key: &TokenKey, text: SecretText) -> Result<bool, OAuthStoreError>;
    /// Deletes the text, if there is one.
    async fn clear(&self, key: &TokenKey) -> Result<(), OAuthStoreError>;
}

/// A flow that waits for the browser.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PendingFlow {
    /// The user who started it. A store should limit the flows per user, so that one user cannot evict the flows of
    /// others.
    pub user: UserId,
    /// What is needed to continue; it contains secrets.
    pub text: SecretText,
    /// After this time it may be dropped.
    pub expires_at: Timestamp,
}

/// Stores flows until the browser returns.
#[async_trait]
pub trait PendingStore: Send + Sync {
    /// Stores a flow under its unguessable state.
    async fn put(&self, state: &str, flow: PendingFlow) -> Result<(), OAuthStoreError>;
    /// Removes and returns a flow. Of two concurrent calls with the same state, only one gets it.
    async fn take(&self, state: &str) -> Result<Option<PendingFlow>, OAuthStoreError>;
}
