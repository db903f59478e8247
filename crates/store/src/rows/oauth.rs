//! Clients that connect by OAuth, and what users granted them.

use sqlx::FromRow;
use toolyard_core::ports::{ClientGrant, StoreError};
use toolyard_protocol::UserId;

use super::{damaged_value, parse_column, to_timestamp};

/// How long a revoked grant is kept, in milliseconds: longer than any access token of it is valid.
pub(crate) const REVOKED_KEPT_MS: i64 = 8 * 24 * 60 * 60 * 1_000;
/// Most grants in one list. A user has fewer.
pub(crate) const MAX_LISTED: i64 = 10_000;

#[derive(FromRow)]
pub(crate) struct ClientGrantRow {
    pub(crate) id: String,
    pub(crate) user_id: String,
    pub(crate) client_id: String,
    pub(crate) client_name: String,
    pub(crate) client_host: String,
    pub(crate) scopes: String,
    pub(crate) made_with: Option<String>,
    pub(crate) created_at: i64,
    pub(crate) last_used_at: i64,
    pub(crate) expires_at: i64,
    pub(crate) generation: i64,
    pub(crate) rotated_at: Option<i64>,
    pub(crate) revoked_at: Option<i64>,
}

impl ClientGrantRow {
    pub(crate) fn into_grant(self) -> Result<ClientGrant, StoreError> {
        Ok(ClientGrant {
            id: parse_column("grant id", &self.id)?,
            user: UserId::from_stored(&self.user_id),
            client_id: self.client_id,
            client_name: self.client_name,
            client_host: self.client_host,
            scopes: self.scopes,
            made_with: self.made_with.map(|id| parse_column("token id", &id)).transpose()?,
            created_at: to_timestamp(self.created_at),
            last_used_at: to_timestamp(self.last_used_at),
            expires_at: to_timestamp(self.expires_at),
            generation: u32::try_from(self.generation)
                .map_err(|_| damaged_value("generation", self.generation))?,
            rotated_at: self.rotated_at.map(to_timestamp),
            revoked_at: self.revoked_at.map(to_timestamp),
        })
    }
}
