//! How users sign in: passkeys, and programs that wait for a person to agree.

use sqlx::FromRow;
use toolyard_core::ports::{
    DeviceLogin, DeviceLoginConsent, RedeemedDeviceLogin, RemoveMethodOutcome, StoreError, StoredPasskey,
};
use toolyard_protocol::UserId;

use super::{accounts::column_role, damaged_value, to_timestamp};

#[derive(FromRow)]
pub(crate) struct PasskeyRow {
    pub(crate) id: String,
    pub(crate) user_id: String,
    pub(crate) name: String,
    pub(crate) record: String,
    pub(crate) created_at: i64,
    pub(crate) last_used_at: Option<i64>,
}

impl From<PasskeyRow> for StoredPasskey {
    fn from(row: PasskeyRow) -> Self {
        Self {
            id: row.id,
            user: UserId::from_stored(&row.user_id),
            name: row.name,
            record: row.record,
            created_at: to_timestamp(row.created_at),
            last_used_at: row.last_used_at.map(to_timestamp),
        }
    }
}

/// The outcome of a removal that found `removed` rows, for a user with `methods` ways to sign in before it.
pub(crate) fn removal_outcome(removed: u64, methods: i64) -> RemoveMethodOutcome {
    match (removed, methods) {
        (0, _) => RemoveMethodOutcome::Unknown,
        (_, ..=1) => RemoveMethodOutcome::OnlyOne,
        _ => RemoveMethodOutcome::Removed,
    }
}

#[derive(FromRow)]
pub(crate) struct DeviceLoginRow {
    pub(crate) user_code: String,
    pub(crate) name: String,
    pub(crate) created_at: i64,
    pub(crate) until: i64,
    pub(crate) is_answered: bool,
}

impl From<DeviceLoginRow> for DeviceLogin {
    fn from(row: DeviceLoginRow) -> Self {
        Self {
            user_code: row.user_code,
            name: row.name,
            created_at: to_timestamp(row.created_at),
            until: to_timestamp(row.until),
            is_answered: row.is_answered,
        }
    }
}

/// A device login that a person agreed to.
#[derive(FromRow)]
pub(crate) struct AgreedLoginRow {
    pub(crate) name: String,
    pub(crate) user_id: String,
    pub(crate) role: String,
    pub(crate) days: i64,
}

impl AgreedLoginRow {
    pub(crate) fn into_redeemed(self) -> Result<RedeemedDeviceLogin, StoreError> {
        let consent = DeviceLoginConsent {
            user: UserId::from_stored(&self.user_id),
            role: column_role(&self.role)?,
            days: u32::try_from(self.days).map_err(|_| damaged_value("days", self.days))?,
        };
        Ok(RedeemedDeviceLogin::Agreed { name: self.name, consent })
    }
}
