//! What apps say.

use std::fmt;

use serde::{
    Deserialize, Deserializer, Serialize,
    de::{Error, IgnoredAny, SeqAccess, Visitor},
};
use serde_json::{Value, value::RawValue};

use super::AppMessageKind;
use crate::{
    id::AppSessionId,
    name::PackageName,
    secret::SecretText,
    session::{
        audio::{AudioPlayRequest, AudioStopRequest},
        display::DisplayEvent,
        message::{MalformedMessage, MessageFields, RawMessage, to_text},
        time::read_timestamp,
    },
    stream::MAX_SUBSCRIPTIONS,
};

/// A message from an app.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum FromApp {
    /// The first message: who is there.
    #[serde(rename = "tpa_connection_init")]
    ConnectionInit(ConnectionInit),
    /// The first message after a loss, in SDK 3; as good as an init for a session that is known.
    Reconnect(ReconnectRequest),
    /// Everything that the app wants to hear.
    SubscriptionUpdate(SubscriptionUpdate),
    /// Show something.
    DisplayEvent(DisplayEvent),
    /// Play something.
    AudioPlayRequest(AudioPlayRequest),
    /// Be quiet.
    AudioStopRequest(AudioStopRequest),
    /// Take a picture.
    PhotoRequest(PhotoRequest),
    /// Say once where the user is.
    LocationPollRequest(LocationPollRequest),
    /// Switch a lamp.
    RgbLedControl(RgbLedControl),
    /// Send live video somewhere.
    RtmpStreamRequest(MessageFields),
    /// Stop it.
    RtmpStreamStop(MessageFields),
    /// Send live video by way of the platform.
    ManagedStreamRequest(MessageFields),
    /// Stop it.
    ManagedStreamStop(MessageFields),
    /// Say whether there is live video.
    StreamStatusCheck(MessageFields),
    /// Text for the dashboard.
    DashboardContentUpdate(MessageFields),
    /// Another mode of the dashboard.
    DashboardModeChange(MessageFields),
    /// Text of the system for the dashboard.
    DashboardSystemUpdate(MessageFields),
    /// Ask the user to set up a network.
    RequestWifiSetup(WifiSetupRequest),
    /// Do not start me again when this socket closes.
    OwnershipRelease(OwnershipRelease),
    /// Are you there? SDK 3 only.
    Ping,
    /// A message that we do not know.
    #[serde(untagged)]
    Unknown {
        /// Its type, cut to a readable length.
        #[serde(rename = "type")]
        kind: String,
    },
}

impl FromApp {
    /// Reads a message.
    pub fn parse(text: &str) -> Result<Self, MalformedMessage> {
        let message = RawMessage::parse(text)?;
        Ok(match AppMessageKind::from_name(message.kind()) {
            AppMessageKind::ConnectionInit => Self::ConnectionInit(message.parse_body()?),
            AppMessageKind::Reconnect => Self::Reconnect(message.parse_body()?),
            AppMessageKind::SubscriptionUpdate => Self::SubscriptionUpdate(message.parse_body()?),
            AppMessageKind::DisplayEvent => Self::DisplayEvent(message.parse_body()?),
            AppMessageKind::AudioPlayRequest => Self::AudioPlayRequest(message.parse_body()?),
            AppMessageKind::AudioStopRequest => Self::AudioStopRequest(message.parse_body()?),
            AppMessageKind::PhotoRequest => Self::PhotoRequest(message.parse_body()?),
            AppMessageKind::LocationPollRequest => Self::LocationPollRequest(message.parse_body()?),
            AppMessageKind::RgbLedControl => Self::RgbLedControl(message.parse_body()?),
            AppMessageKind::RtmpStreamRequest => Self::RtmpStreamRequest(message.parse_body()?),
            AppMessageKind::RtmpStreamStop => Self::RtmpStreamStop(message.parse_body()?),
            AppMessageKind::ManagedStreamRequest => Self::ManagedStreamRequest(message.parse_body()?),
            AppMessageKind::ManagedStreamStop => Self::ManagedStreamStop(message.parse_body()?),
            AppMessageKind::StreamStatusCheck => Self::StreamStatusCheck(message.parse_body()?),
            AppMessageKind::DashboardContentUpdate => Self::DashboardContentUpdate(message.parse_body()?),
            AppMessageKind::DashboardModeChange => Self::DashboardModeChange(message.parse_body()?),
            AppMessageKind::DashboardSystemUpdate => Self::DashboardSystemUpdate(message.parse_body()?),
            AppMessageKind::RequestWifiSetup => Self::RequestWifiSetup(message.parse_body()?),
            AppMessageKind::OwnershipRelease => Self::OwnershipRelease(message.parse_body()?),
            AppMessageKind::Ping => Self::Ping,
            AppMessageKind::Unknown => Self::Unknown { kind: message.unknown_kind() },
        })
    }

    /// What kind of message it is.
    pub const fn kind(&self) -> AppMessageKind {
        match self {
            Self::ConnectionInit(_) => AppMessageKind::ConnectionInit,
            Self::Reconnect(_) => AppMessageKind::Reconnect,
            Self::SubscriptionUpdate(_) => AppMessageKind::SubscriptionUpdate,
            Self::DisplayEvent(_) => AppMessageKind::DisplayEvent,
            Self::AudioPlayRequest(_) => AppMessageKind::AudioPlayRequest,
            Self::AudioStopRequest(_) => AppMessageKind::AudioStopRequest,
            Self::PhotoRequest(_) => AppMessageKind::PhotoRequest,
            Self::LocationPollRequest(_) => AppMessageKind::LocationPollRequest,
            Self::RgbLedControl(_) => AppMessageKind::RgbLedControl,
            Self::RtmpStreamRequest(_) => AppMessageKind::RtmpStreamRequest,
            Self::RtmpStreamStop(_) => AppMessageKind::RtmpStreamStop,
            Self::ManagedStreamRequest(_) => AppMessageKind::ManagedStreamRequest,
            Self::ManagedStreamStop(_) => AppMessageKind::ManagedStreamStop,
            Self::StreamStatusCheck(_) => AppMessageKind::StreamStatusCheck,
            Self::DashboardContentUpdate(_) => AppMessageKind::DashboardContentUpdate,
            Self::DashboardModeChange(_) => AppMessageKind::DashboardModeChange,
            Self::DashboardSystemUpdate(_) => AppMessageKind::DashboardSystemUpdate,
            Self::RequestWifiSetup(_) => AppMessageKind::RequestWifiSetup,
            Self::OwnershipRelease(_) => AppMessageKind::OwnershipRelease,
            Self::Ping => AppMessageKind::Ping,
            Self::Unknown { .. } => AppMessageKind::Unknown,
        }
    }

    /// The message as an app sends it. The first message says by itself who is there; all others get it from `sender`.
    pub fn to_text(&self, sender: &AppSender, timestamp: &str) -> String {
        #[derive(Serialize)]
        #[serde(rename_all = "camelCase")]
        struct SentMessage<'a> {
            #[serde(flatten)]
            message: &'a FromApp,
            package_name: &'a PackageName,
            session_id: &'a AppSessionId,
            timestamp: &'a str,
        }
        match self {
            Self::ConnectionInit(_) | Self::Reconnect(_) | Self::Ping => to_text(self),
            _ => to_text(&SentMessage {
                message: self,
                package_name: &sender.package_name,
                session_id: &sender.session_id,
                timestamp,
            }),
        }
    }
}

impl<'de> Deserialize<'de> for FromApp {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        Self::parse(Box::<RawValue>::deserialize(from)?.get()).map_err(D::Error::custom)
    }
}

/// What an app says of itself in every message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AppSender {
    /// Which app.
    pub package_name: PackageName,
    /// Which session.
    pub session_id: AppSessionId,
}

/// The first message.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ConnectionInit {
    /// The session from the webhook. SDK 3 leaves it out and names the user in a header.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session_id: Option<AppSessionId>,
    /// Which app.
    pub package_name: PackageName,
    /// Its key.
    pub api_key: SecretText,
    /// The version of its SDK, from 3 on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sdk_version: Option<String>,
    /// When.
    #[serde(default, deserialize_with = "read_timestamp", skip_serializing_if = "Option::is_none")]
    pub timestamp: Option<String>,
}

/// The first message after a loss, in SDK 3. App and key stand in headers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ReconnectRequest {
    /// The session that was lost.
    pub session_id: AppSessionId,
    /// The version of the SDK.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sdk_version: Option<String>,
}

/// Everything that the app wants to hear; replaces what it wanted before.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SubscriptionUpdate {
    /// Texts, or `{stream, rate}`; for [`SubscriptionSet::parse`](crate::stream::SubscriptionSet::read). One more than may
    /// be taken is kept, so that the set can tell; the rest of a longer list is not.
    #[serde(deserialize_with = "read_bounded")]
    pub subscriptions: Vec<Value>,
}

/// Take a picture.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PhotoRequest {
    /// Comes back with the picture.
    pub request_id: String,
    /// Size, compression and where to, as it came.
    #[serde(flatten)]
    pub rest: MessageFields,
}

/// Say once where the user is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct LocationPollRequest {
    /// Comes back with the location.
    pub correlation_id: String,
    /// `realtime`, `hundredMeters`
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub accuracy: Option<String>,
}

/// Switch a lamp.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RgbLedControl {
    /// Comes back in the response.
    pub request_id: String,
    /// Action, colour and times, as it came.
    #[serde(flatten)]
    pub rest: MessageFields,
}

/// Ask the user to set up a network.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct WifiSetupRequest {
    /// What for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// Do not start me again when this socket closes.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct OwnershipRelease {
    /// `switching_clouds`, `clean_shutdown` or `user_logout`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// Reads a list without letting its length decide how much memory it takes.
fn read_bounded<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<Value>, D::Error> {
    struct BoundedListVisitor;
    impl<'de> Visitor<'de> for BoundedListVisitor {
        type Value = Vec<Value>;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("a list")
        }

        fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Vec<Value>, A::Error> {
            let mut kept = Vec::new();
            while kept.len() <= MAX_SUBSCRIPTIONS {
                match list.next_element()? {
                    Some(entry) => kept.push(entry),
                    None => return Ok(kept),
                }
            }
            while list.next_element::<IgnoredAny>()?.is_some() {}
            Ok(kept)
        }
    }
    from.deserialize_seq(BoundedListVisitor)
}

#[cfg(test)]
mod tests;
