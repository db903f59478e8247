//! Accounts.

use sqlx::FromRow;
use toolyard_core::ports::{StoreError, UserAccount};
use toolyard_protocol::{UserId, api::Role};

use super::{damaged_value, from_json, to_timestamp};

/// The role of a column.
pub(crate) fn column_role(text: &str) -> Result<Role, StoreError> {
    let role = Role::ALL.into_iter().find(|role| role.as_str() == text);
    role.ok_or_else(|| damaged_value("role", text))
}

#[derive(FromRow)]
pub(crate) struct AccountRow {
    pub(crate) user_id: String,
    pub(crate) email: Option<String>,
    pub(crate) name: Option<String>,
    pub(crate) role: String,
    pub(crate) groups: String,
    pub(crate) managed_by: Option<String>,
    pub(crate) created_at: i64,
    pub(crate) links_from: i64,
    pub(crate) last_seen_at: Option<i64>,
    pub(crate) disabled_at: Option<i64>,
}

impl AccountRow {
    pub(crate) fn into_account(self) -> Result<UserAccount, StoreError> {
        Ok(UserAccount {
            id: UserId::from_stored(&self.user_id),
            email: self.email,
            name: self.name,
            role: column_role(&self.role)?,
            groups: from_json("groups", &self.groups)?,
            managed_by: self.managed_by,
            created_at: to_timestamp(self.created_at),
            links_from: to_timestamp(self.links_from),
            last_seen_at: self.last_seen_at.map(to_timestamp),
            disabled_at: self.disabled_at.map(to_timestamp),
        })
    }
}
