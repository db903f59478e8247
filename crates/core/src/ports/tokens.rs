//! The list of tokens that were made, by which they are called back. The tokens themselves are kept nowhere.

use async_trait::async_trait;
use jiff::Timestamp;
use toolyard_protocol::{TokenId, api::Role};

use super::StoreError;

/// A token that was made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IssuedToken {
    /// Which.
    pub id: TokenId,
    /// What for, in the words of whoever made it.
    pub name: String,
    /// Whose.
    pub subject: String,
    /// What it allows.
    pub role: Role,
    /// When it was made.
    pub created_at: Timestamp,
    /// When it ends.
    pub expires_at: Timestamp,
    /// By whom it was made.
    pub created_by: String,
    /// When it was called back.
    pub revoked_at: Option<Timestamp>,
}

/// How many tokens that have not ended there may be; those that were called back count until their end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TokenRoom {
    /// Of one person.
    pub of_subject: u32,
    /// Of all.
    pub of_all: u32,
}

/// Tokens that were made.
#[async_trait]
pub trait IssuedTokens: Send + Sync {
    /// Those of a person, or of everybody, the newest first.
    async fn issued(&self, subject: Option<&str>) -> Result<Vec<IssuedToken>, StoreError>;
    /// Adds one. False where there is no room.
    async fn add_token(&self, token: &IssuedToken, room: TokenRoom) -> Result<bool, StoreError>;
    /// Calls one back, of that person's or of anybody's, and gives it as it is then; again changes nothing. None where there is
    /// none.
    async fn revoke_token(
        &self,
        id: &TokenId,
        subject: Option<&str>,
        at: Timestamp,
    ) -> Result<Option<IssuedToken>, StoreError>;
    /// Those that were called back and would not have ended by then, with their ends.
    async fn revoked_tokens(&self, now: Timestamp) -> Result<Vec<(TokenId, Timestamp)>, StoreError>;
    /// Forgets those that have ended by then.
    async fn forget_tokens(&self, ended: Timestamp) -> Result<(), StoreError>;
}
