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
    /// With which token, where that one is listed.
    pub made_with: Option<TokenId>,
    /// When it was called back.
    pub revoked_at: Option<Timestamp>,
}

/// Which tokens somebody may see and call back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TokenScope<'a> {
    /// Only those of this person.
    pub subject: Option<&'a str>,
    /// Only those that allow this much or less.
    pub role: Role,
}

/// A place in the list of tokens, the newest first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TokenCursor {
    /// When the token was made.
    pub created_at: Timestamp,
    /// Which of those that were made then.
    pub id: TokenId,
}

/// What became of a token that was to be added.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AddTokenOutcome {
    /// It is listed.
    Listed,
    /// There is no room.
    QuotaReached,
    /// The token with which it was made is called back.
    Revoked,
}

/// How many tokens that have not ended there may be; those that were called back count until their end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TokenQuota {
    /// Of one person.
    pub of_subject: u32,
    /// Of all.
    pub of_all: u32,
}

/// Tokens that were made.
#[async_trait]
pub trait IssuedTokenStore: Send + Sync {
    /// At most so many of these, the newest first, from behind that place on.
    async fn list_tokens(
        &self,
        scope: TokenScope<'_>,
        after: Option<&TokenCursor>,
        limit: u32,
    ) -> Result<Vec<IssuedToken>, StoreError>;
    /// Adds one, if there is room.
    async fn add_token(&self, token: &IssuedToken, room: TokenQuota) -> Result<AddTokenOutcome, StoreError>;
    /// Calls one of these back, with all that were made with it and with those, and gives them as they are then; again changes
    /// nothing. None where there is none. Whoever may call back all also reaches what a token made that is not listed itself.
    async fn revoke_token(
        &self,
        id: &TokenId,
        scope: TokenScope<'_>,
        at: Timestamp,
    ) -> Result<Vec<IssuedToken>, StoreError>;
    /// Those that were called back and would not have ended by then, with their ends.
    async fn revoked_tokens(&self, now: Timestamp) -> Result<Vec<(TokenId, Timestamp)>, StoreError>;
    /// Forgets those that have ended by then, unless one that they made is left.
    async fn remove_expired_tokens(&self, ended: Timestamp) -> Result<(), StoreError>;
}
