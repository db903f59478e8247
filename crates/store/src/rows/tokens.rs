//! Issued tokens.

use sqlx::FromRow;
use toolyard_core::ports::{IssuedToken, StoreError};

use super::{accounts::column_role, parse_column, to_timestamp};

#[derive(FromRow)]
pub(crate) struct TokenRow {
    pub(crate) id: String,
    pub(crate) name: String,
    pub(crate) subject: String,
    pub(crate) role: String,
    pub(crate) created_at: i64,
    pub(crate) expires_at: i64,
    pub(crate) created_by: String,
    pub(crate) made_with: Option<String>,
    pub(crate) revoked_at: Option<i64>,
}

impl TokenRow {
    pub(crate) fn into_token(self) -> Result<IssuedToken, StoreError> {
        Ok(IssuedToken {
            id: parse_column("token id", &self.id)?,
            name: self.name,
            subject: self.subject,
            role: column_role(&self.role)?,
            created_at: to_timestamp(self.created_at),
            expires_at: to_timestamp(self.expires_at),
            created_by: self.created_by,
            made_with: self.made_with.map(|id| parse_column("token id", &id)).transpose()?,
            revoked_at: self.revoked_at.map(to_timestamp),
        })
    }
}
