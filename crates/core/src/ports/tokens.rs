//! The list of issued tokens, by which they are revoked. The tokens themselves are not stored.

use async_trait::async_trait;
use jiff::Timestamp;
use toolyard_protocol::{TokenId, api::Role};

use super::StoreError;

/// An issued token.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IssuedToken {
    /// Its id.
    pub id: TokenId,
    /// Its purpose, in the words of the person who issued it.
    pub name: String,
    /// Its subject.
    pub subject: String,
    /// Its role.
    pub role: Role,
    /// When it was issued.
    pub created_at: Timestamp,
    /// When it expires.
    pub expires_at: Timestamp,
    /// Who issued it.
    pub created_by: String,
    /// The token it was issued with, if that one is listed.
    pub made_with: Option<TokenId>,
    /// When it was revoked.
    pub revoked_at: Option<Timestamp>,
}

/// Which tokens a person may see and revoke.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TokenScope<'a> {
    /// Only tokens of this subject.
    pub subject: Option<&'a str>,
    /// Only tokens with this role or a lower one.
    pub role: Role,
}

/// A position in the list of tokens, newest first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TokenCursor {
    /// When the token was issued.
    pub created_at: Timestamp,
    /// Its id, to order tokens with the same time.
    pub id: TokenId,
}

/// The outcome of adding a token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AddTokenOutcome {
    /// The token was added.
    Listed,
    /// A limit is reached.
    QuotaReached,
    /// The token it was issued with is revoked.
    Revoked,
}

/// How many unexpired tokens there may be; revoked tokens count until they expire.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TokenQuota {
    /// For one subject.
    pub of_subject: u32,
    /// In total.
    pub of_all: u32,
}

/// Which tokens of a person are revoked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RevokedTokens {
    /// Their own.
    Own,
    /// Also those that they issued to others: an operator must not keep a token under another name.
    OwnAndIssued,
}

/// Stores issued tokens.
#[async_trait]
pub trait IssuedTokenStore: Send + Sync {
    /// At most `limit` tokens in the scope, newest first, after the cursor.
    async fn list_tokens(
        &self,
        scope: TokenScope<'_>,
        after: Option<&TokenCursor>,
        limit: u32,
    ) -> Result<Vec<IssuedToken>, StoreError>;
    /// How many valid tokens a subject has.
    async fn count_valid_tokens(&self, subject: &str, now: Timestamp) -> Result<usize, StoreError>;
    /// Adds a token if the quota allows it.
    async fn add_token(&self, token: &IssuedToken, room: TokenQuota) -> Result<AddTokenOutcome, StoreError>;
    /// Revokes a token of the scope and all tokens issued with it, transitively, and returns them. Revoking again
    /// changes nothing. Empty if there is none. An unlimited scope also reaches tokens that were issued with an
    /// unlisted token.
    async fn revoke_token(
        &self,
        id: &TokenId,
        scope: TokenScope<'_>,
        at: Timestamp,
    ) -> Result<Vec<IssuedToken>, StoreError>;
    /// Revokes all tokens of a subject, and all tokens issued with them. Returns those that were not revoked before.
    async fn revoke_tokens_of(
        &self,
        subject: &str,
        which: RevokedTokens,
        at: Timestamp,
    ) -> Result<Vec<IssuedToken>, StoreError>;
    /// Revoked tokens that have not expired yet, with their expiry.
    async fn revoked_tokens(&self, now: Timestamp) -> Result<Vec<(TokenId, Timestamp)>, StoreError>;
    /// Removes tokens that expired by then, unless a token issued with them remains.
    async fn remove_expired_tokens(&self, ended: Timestamp) -> Result<(), StoreError>;
}
