//! The browsers that users want to be notified in.

use sqlx::FromRow;
use toolyard_core::ports::{StoreError, StoredPushSubscription};
use toolyard_protocol::UserId;

use super::{parse_column, to_timestamp};

#[derive(FromRow)]
pub(crate) struct PushSubscriptionRow {
    pub(crate) id: String,
    pub(crate) user_id: String,
    pub(crate) endpoint: String,
    pub(crate) receiver_key: Vec<u8>,
    pub(crate) auth_secret: Vec<u8>,
    pub(crate) server_key: String,
    pub(crate) label: String,
    pub(crate) created_at: i64,
    pub(crate) last_sent_at: Option<i64>,
    pub(crate) problem: Option<String>,
}

impl PushSubscriptionRow {
    pub(crate) fn into_subscription(self) -> Result<StoredPushSubscription, StoreError> {
        Ok(StoredPushSubscription {
            id: parse_column("push subscription", &self.id)?,
            user: UserId::from_stored(&self.user_id),
            endpoint: self.endpoint,
            receiver_key: self.receiver_key,
            auth_secret: self.auth_secret,
            server_key: self.server_key,
            label: self.label,
            created_at: to_timestamp(self.created_at),
            last_sent_at: self.last_sent_at.map(to_timestamp),
            problem: self.problem,
        })
    }
}
