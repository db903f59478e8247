//! The two ports of OAuth: where tokens are kept, and where a flow waits for the browser to come back.

use async_trait::async_trait;
use jiff::Timestamp;
use toolyard_protocol::{UserId, secret::SecretText};

/// Whose tokens, and for what.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct TokenKey {
    /// The caller's name for the upstream.
    pub upstream: String,
    /// The user who said yes.
    pub user: UserId,
}

/// Something could not be read or written. The text is for the log.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the store of authorizations failed: {0}")]
pub struct OAuthStoreError(pub String);

/// Keeps one text for each user and upstream. It holds tokens: encrypt it.
#[async_trait]
pub trait TokenStore: Send + Sync {
    /// The text that was saved last.
    async fn load(&self, key: &TokenKey) -> Result<Option<SecretText>, OAuthStoreError>;
    /// Puts a text in the place of the one before.
    async fn save(&self, key: &TokenKey, text: SecretText) -> Result<(), OAuthStoreError>;
    /// Forgets it; nothing there is fine.
    async fn clear(&self, key: &TokenKey) -> Result<(), OAuthStoreError>;
}

/// A flow that waits for the browser.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PendingFlow {
    /// Who began it. A store should bound the flows of one user, so that nobody can push out those of others.
    pub user: UserId,
    /// What is needed to go on; it holds secrets.
    pub text: SecretText,
    /// After this time it may be dropped.
    pub expires_at: Timestamp,
}

/// Keeps flows until their browser comes back.
#[async_trait]
pub trait PendingStore: Send + Sync {
    /// Keeps a flow under its state, which nobody can guess.
    async fn put(&self, state: &str, flow: PendingFlow) -> Result<(), OAuthStoreError>;
    /// Takes a flow out. Of two who ask for the same state at the same time, one gets it.
    async fn take(&self, state: &str) -> Result<Option<PendingFlow>, OAuthStoreError>;
}
