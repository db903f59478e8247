//! Clients that connect by OAuth, and what users granted them.

use async_trait::async_trait;
use jiff::Timestamp;
use toolyard_protocol::{TokenId, UserId};

use super::StoreError;

/// A client that registered itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredOAuthClient {
    /// Its id.
    pub id: String,
    /// The registered client, as JSON.
    pub record: String,
    /// When it registered.
    pub created_at: Timestamp,
}

/// What a user granted a client. Its id is that of all access tokens that follow from it, so revoking the grant revokes them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClientGrant {
    /// Its id.
    pub id: TokenId,
    /// The user.
    pub user: UserId,
    /// The client.
    pub client_id: String,
    /// The name of the client when it was granted.
    pub client_name: String,
    /// The host that the user was shown, where the browser returned to.
    pub client_host: String,
    /// What was granted, separated by spaces.
    pub scopes: String,
    /// The token with which the user agreed, if it is listed. The grant is revoked with it.
    pub made_with: Option<TokenId>,
    /// When it was granted.
    pub created_at: Timestamp,
    /// When a token was last issued for it.
    pub last_used_at: Timestamp,
    /// When it ends.
    pub expires_at: Timestamp,
    /// How often the refresh token was replaced.
    pub generation: u32,
    /// When it was last replaced.
    pub rotated_at: Option<Timestamp>,
    /// When it was revoked.
    pub revoked_at: Option<Timestamp>,
}

/// What redeeming a code found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RedeemedCode {
    /// It was not used before: the grant, and what the code is bound to, as JSON.
    Fresh {
        /// The grant.
        grant: TokenId,
        /// What it is bound to.
        binding: String,
    },
    /// It was used before: someone has a copy of it.
    Used {
        /// The grant.
        grant: TokenId,
    },
    /// There is no such code, or it expired long ago.
    Unknown,
}

/// Stores clients and grants.
#[async_trait]
pub trait OAuthStore: Send + Sync {
    /// Adds a client. Beyond `max`, the oldest ones that no current grant needs make room; false if there are none.
    async fn add_oauth_client(&self, client: &StoredOAuthClient, max: u32) -> Result<bool, StoreError>;
    /// A client that registered itself.
    async fn find_oauth_client(&self, id: &str) -> Result<Option<StoredOAuthClient>, StoreError>;
    /// Adds a grant. False if the user has `max` grants that are neither revoked nor expired, or ten times as many with those
    /// that were revoked lately, or if the token it was made with is revoked.
    async fn add_client_grant(&self, grant: &ClientGrant, max: u32) -> Result<bool, StoreError>;
    /// A grant, also a revoked one.
    async fn find_client_grant(&self, id: &TokenId) -> Result<Option<ClientGrant>, StoreError>;
    /// A user's grants that are neither revoked nor expired, newest first.
    async fn list_client_grants(&self, user: &UserId, now: Timestamp)
    -> Result<Vec<ClientGrant>, StoreError>;
    /// Replaces the refresh token of a generation. False if another request did so before, or the grant was revoked.
    async fn rotate_client_grant(
        &self,
        id: &TokenId,
        generation: u32,
        now: Timestamp,
    ) -> Result<bool, StoreError>;
    /// Revokes a grant, of this user if one is given. Returns it, unless there is none or it was revoked before.
    async fn revoke_client_grant(
        &self,
        id: &TokenId,
        user: Option<&UserId>,
        now: Timestamp,
    ) -> Result<Option<ClientGrant>, StoreError>;
    /// Revokes all grants of a user. Returns those that were not revoked before.
    async fn revoke_client_grants_of(
        &self,
        user: &UserId,
        now: Timestamp,
    ) -> Result<Vec<ClientGrant>, StoreError>;
    /// The revoked grants that have not expired, with their ends.
    async fn revoked_client_grants(&self, now: Timestamp) -> Result<Vec<(TokenId, Timestamp)>, StoreError>;
    /// Adds an authorization code of a grant under its hash.
    async fn add_code(
        &self,
        hash: &[u8; 32],
        grant: &TokenId,
        binding: &str,
        until: Timestamp,
    ) -> Result<(), StoreError>;
    /// Marks a code as used. Of several requests with the same code, one finds it fresh.
    async fn redeem_code(&self, hash: &[u8; 32], now: Timestamp) -> Result<RedeemedCode, StoreError>;
    /// Records that an id was used, until a time. False if it was used before.
    async fn use_id_once(&self, id: &str, until: Timestamp) -> Result<bool, StoreError>;
    /// Removes what has expired.
    async fn prune_oauth(&self, now: Timestamp) -> Result<(), StoreError>;
}
