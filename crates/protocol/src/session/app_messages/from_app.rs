//! Messages from apps.

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
    /// The first message: identifies the app.
    #[serde(rename = "tpa_connection_init")]
    ConnectionInit(ConnectionInit),
    /// The first message after a lost connection, in SDK 3. Equivalent to an init for a known session.
    Reconnect(ReconnectRequest),
    /// All subscriptions of the app.
    SubscriptionUpdate(SubscriptionUpdate),
    /// Shows content.
    DisplayEvent(DisplayEvent),
    /// Plays audio.
    AudioPlayRequest(AudioPlayRequest),
    /// Stops audio.
    AudioStopRequest(AudioStopRequest),
    /// Takes a photo.
    PhotoRequest(PhotoRequest),
    /// Requests the location once.
    LocationPollRequest(LocationPollRequest),
    /// Controls a light.
    RgbLedControl(RgbLedControl),
    /// Starts a live video stream to a URL.
    RtmpStreamRequest(MessageFields),
    /// Stops it.
    RtmpStreamStop(MessageFields),
    /// Starts a live video stream through the platform.
    ManagedStreamRequest(MessageFields),
    /// Stops it.
    ManagedStreamStop(MessageFields),
    /// Asks whether a live video stream is active.
    StreamStatusCheck(MessageFields),
    /// Content for the dashboard.
    DashboardContentUpdate(MessageFields),
    /// Changes the mode of the dashboard.
    DashboardModeChange(MessageFields),
    /// System content for the dashboard.
    DashboardSystemUpdate(MessageFields),
    /// Asks the user to set up Wi-Fi.
    RequestWifiSetup(WifiSetupRequest),
    /// Do not restart the app when this socket closes.
    OwnershipRelease(OwnershipRelease),
    /// Keep-alive. SDK 3 only.
    Ping,
    /// An unknown message.
    #[serde(untagged)]
    Unknown {
        /// Its type, truncated.
        #[serde(rename = "type")]
        kind: String,
    },
}

impl FromApp {
    /// Parses a message.
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

    /// The message as an app sends it. The first message identifies the app by itself; all others take that from `sender`.
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

/// How an app identifies itself in every message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AppSender {
    /// The app's package name.
    pub package_name: PackageName,
    /// The session id.
    pub session_id: AppSessionId,
}

/// The first message.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ConnectionInit {
    /// The session id from the webhook. SDK 3 leaves it out and names the user in a header.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session_id: Option<AppSessionId>,
    /// The app's package name.
    pub package_name: PackageName,
    /// Its key.
    pub api_key: SecretText,
    /// The version of its SDK, from 3 on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sdk_version: Option<String>,
    /// When it was sent.
    #[serde(default, deserialize_with = "read_timestamp", skip_serializing_if = "Option::is_none")]
    pub timestamp: Option<String>,
}

/// The first message after a lost connection, in SDK 3. Package and key are in headers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ReconnectRequest {
    /// The lost session.
    pub session_id: AppSessionId,
    /// The version of the SDK.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sdk_version: Option<String>,
}

/// All subscriptions of the app; replaces the earlier ones.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SubscriptionUpdate {
    /// Strings, or `{stream, rate}`; see [`SubscriptionSet::parse`](crate::stream::SubscriptionSet::parse). One more than
    /// the limit is kept, so that the set can report it; the rest of a longer list is dropped.
    #[serde(deserialize_with = "read_bounded")]
    pub subscriptions: Vec<Value>,
}

/// Takes a photo.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PhotoRequest {
    /// Returned with the photo.
    pub request_id: String,
    /// Size, compression and destination, as received.
    #[serde(flatten)]
    pub rest: MessageFields,
}

/// Requests the location once.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct LocationPollRequest {
    /// Returned with the location.
    pub correlation_id: String,
    /// `realtime`, `hundredMeters`
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub accuracy: Option<String>,
}

/// Controls a light.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RgbLedControl {
    /// Returned in the response.
    pub request_id: String,
    /// Action, color and times, as received.
    #[serde(flatten)]
    pub rest: MessageFields,
}

/// Asks the user to set up Wi-Fi.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct WifiSetupRequest {
    /// Why it is needed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// Do not restart the app when this socket closes.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct OwnershipRelease {
    /// `switching_clouds`, `clean_shutdown` or `user_logout`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// Parses a list without letting its length decide how much memory it takes.
fn read_bounded<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<Value>, D::Error> {
    struct BoundedListVisitor;
    impl<'de> Visitor<'de> for BoundedListVisitor {
        type Value = Vec<Value>;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("a list")
        }

        fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Vec<Value>, A::Error> {
            let mut entries = Vec::new();
            while entries.len() <= MAX_SUBSCRIPTIONS {
                match list.next_element()? {
                    Some(entry) => entries.push(entry),
                    None => return Ok(entries),
                }
            }
            while list.next_element::<IgnoredAny>()?.is_some() {}
            Ok(entries)
        }
    }
    from.deserialize_seq(BoundedListVisitor)
}

#[cfg(test)]
mod tests;
