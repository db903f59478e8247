//! Web push: notifications in a user's browsers, also while no page of the console is open.

use serde::{Deserialize, Serialize};

use crate::id::PushSubscriptionId;

/// Browsers of one user that are notified. A further one replaces the oldest.
pub const MAX_PUSH_SUBSCRIPTIONS: u32 = 20;
/// Longest label of a browser, in characters.
pub const MAX_PUSH_LABEL: usize = 100;

/// Response to `GET /api/push`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PushInfo {
    /// The key that a browser subscribes with: a P-256 point in base64url. Null if the operator switched web push off.
    pub public_key: Option<String>,
    /// The user's browsers, newest first.
    pub subscriptions: Vec<PushSubscriptionInfo>,
}

/// A browser that is notified.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PushSubscriptionInfo {
    /// Its id. It follows from the URL at the push service.
    pub id: PushSubscriptionId,
    /// What the user calls it.
    pub label: String,
    /// The host of its push service.
    pub host: String,
    /// When it was added, ISO 8601.
    pub created_at: String,
    /// When the push service last accepted a message, ISO 8601.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_sent_at: Option<String>,
    /// Why the last message was not accepted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
}

/// Body of `POST /api/push/subscriptions`: what `PushSubscription.toJSON()` returns in a browser, and a label.
#[derive(Debug, Clone, Serialize, Deserialize, schemars::JsonSchema)]
pub struct NewPushSubscription {
    /// The URL at the push service.
    pub endpoint: String,
    /// The browser's keys.
    pub keys: PushKeys,
    /// What the user calls this browser. Default: the host of the push service.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
}

/// The keys of a browser, for which messages are encrypted.
#[derive(Debug, Clone, Serialize, Deserialize, schemars::JsonSchema)]
pub struct PushKeys {
    /// Its public key: a P-256 point of 65 bytes, in base64url.
    pub p256dh: String,
    /// Its authentication secret: 16 bytes, in base64url.
    pub auth: String,
}

/// Response to `POST /api/push/test`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct PushTestReport {
    /// Browsers whose push service accepted the message.
    pub sent: usize,
    /// Browsers whose push service did not; `GET /api/push` says why.
    pub failed: usize,
}

/// What a message is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum PushKind {
    /// A call waits for the user.
    #[serde(rename = "approval.requested")]
    ApprovalRequested,
    /// It no longer waits.
    #[serde(rename = "approval.answered")]
    ApprovalAnswered,
    /// The user wanted to see whether it works.
    #[serde(rename = "test")]
    Test,
}

/// The decrypted message, as the service worker of the console reads it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PushMessage {
    /// What it is about.
    #[serde(rename = "type")]
    pub kind: PushKind,
    /// The approval.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// The first line of the notification.
    pub title: String,
    /// The text below it.
    pub body: String,
    /// The page to open.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
}
