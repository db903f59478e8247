//! The browsers that users want to be notified in.

use async_trait::async_trait;
use jiff::Timestamp;
use toolyard_protocol::{PushSubscriptionId, UserId};

use super::StoreError;

/// A browser of a user, as its push service knows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredPushSubscription {
    /// Its id. Derived from the endpoint: all users of a browser share its subscription.
    pub id: PushSubscriptionId,
    /// The user.
    pub user: UserId,
    /// The URL at the push service.
    pub endpoint: String,
    /// The browser's public key.
    pub receiver_key: Vec<u8>,
    /// The browser's authentication secret.
    pub auth_secret: Vec<u8>,
    /// Our public key that the browser subscribed with, in base64url. Messages must be signed with it.
    pub server_key: String,
    /// What the user calls it.
    pub label: String,
    /// When it was added.
    pub created_at: Timestamp,
    /// When its push service last accepted a message.
    pub last_sent_at: Option<Timestamp>,
    /// Why the last message was not accepted.
    pub problem: Option<String>,
}

/// Stores the browsers of users.
#[async_trait]
pub trait PushSubscriptionStore: Send + Sync {
    /// Adds a browser, or replaces what is known about it: then it belongs to this user alone. The user's oldest beyond `max`
    /// are removed.
    async fn put_push_subscription(
        &self,
        subscription: &StoredPushSubscription,
        max: u32,
    ) -> Result<(), StoreError>;
    /// The user's browsers, newest first.
    async fn list_push_subscriptions(&self, user: &UserId)
    -> Result<Vec<StoredPushSubscription>, StoreError>;
    /// Removes a browser of the user. False if there is none.
    async fn remove_push_subscription(
        &self,
        user: &UserId,
        id: &PushSubscriptionId,
    ) -> Result<bool, StoreError>;
    /// Records that a message was accepted, or why not.
    async fn record_push(
        &self,
        user: &UserId,
        id: &PushSubscriptionId,
        outcome: Result<Timestamp, &str>,
    ) -> Result<(), StoreError>;
}
