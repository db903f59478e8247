//! Messages to apps.

use std::sync::Arc;

use serde::{Deserialize, Deserializer, Serialize, de::Error};
use serde_json::{Map, Value, value::RawValue};

use crate::{
    device::Capabilities,
    id::{AppSessionId, UserId},
    name::PackageName,
    session::{
        audio::AudioPlayResponse,
        device_state::DeviceState,
        message::{MalformedMessage, MessageFields, RawMessage, to_text},
        time::{read_millis, read_timestamp},
        webhook::StopReason,
    },
    stream::{Permission, StreamSubscription, required_permission},
};

/// A message to an app.
#[derive(Debug, Clone, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum ToApp {
    /// The response to the first message. Its content is optional, but the message is required.
    #[serde(rename = "tpa_connection_ack")]
    ConnectionAck(Box<ConnectionAck>),
    /// The connection is rejected.
    #[serde(rename = "tpa_connection_error")]
    ConnectionError(ConnectionError),
    /// The response to `reconnect`, in SDK 3.
    ReconnectAck(Box<ConnectionAck>),
    /// The session has ended, in SDK 3.
    ReconnectRejected(ReconnectRejected),
    /// Retry later, in SDK 3.
    ReconnectDeferred(ReconnectDeferred),
    /// An event of a subscribed stream.
    DataStream(DataStream),
    /// The app is stopped; the socket closes next.
    AppStopped(AppStopped),
    /// The user changed settings of the app.
    SettingsUpdate(SettingsUpdate),
    /// The user changed settings of the platform.
    #[serde(rename = "augmentos_settings_update")]
    SystemSettingsUpdate(SystemSettingsUpdate),
    /// The glasses changed or disconnected.
    CapabilitiesUpdate(CapabilitiesUpdate),
    /// The state of the glasses.
    DeviceStateUpdate(DeviceStateUpdate),
    /// Subscriptions were dropped.
    PermissionError(PermissionError),
    /// The response to a request to play audio.
    AudioPlayResponse(AudioPlayResponse),
    /// The response to a photo request.
    PhotoResponse(MessageFields),
    /// The response to a light control request.
    RgbLedControlResponse(MessageFields),
    /// Status of the live video stream.
    RtmpStreamStatus(MessageFields),
    /// Status of the live video stream.
    ManagedStreamStatus(MessageFields),
    /// Whether a live video stream is active.
    StreamStatusCheckResponse(MessageFields),
    /// The mode of the dashboard changed.
    DashboardModeChanged(MessageFields),
    /// Whether the dashboard is always on.
    DashboardAlwaysOnChanged(MessageFields),
    /// A custom message between platform and app.
    CustomMessage(CustomMessage),
    /// Response to `ping`. SDK 3 only.
    Pong,
    /// An unknown message.
    #[serde(untagged)]
    Unknown {
        /// Its type, truncated.
        #[serde(rename = "type")]
        kind: String,
    },
}

impl ToApp {
    /// Parses a message, on the side of the app.
    pub fn parse(text: &str) -> Result<Self, MalformedMessage> {
        let message = RawMessage::parse(text)?;
        Ok(match message.kind() {
            "tpa_connection_ack" => Self::ConnectionAck(message.parse_body()?),
            "tpa_connection_error" | "connection_error" => Self::ConnectionError(message.parse_body()?),
            "reconnect_ack" => Self::ReconnectAck(message.parse_body()?),
            "reconnect_rejected" => Self::ReconnectRejected(message.parse_body()?),
            "reconnect_deferred" => Self::ReconnectDeferred(message.parse_body()?),
            "data_stream" => Self::DataStream(message.parse_body()?),
            "app_stopped" => Self::AppStopped(message.parse_body()?),
            "settings_update" => Self::SettingsUpdate(message.parse_body()?),
            "augmentos_settings_update" => Self::SystemSettingsUpdate(message.parse_body()?),
            "capabilities_update" => Self::CapabilitiesUpdate(message.parse_body()?),
            "device_state_update" => Self::DeviceStateUpdate(message.parse_body()?),
            "permission_error" => Self::PermissionError(message.parse_body()?),
            "audio_play_response" => Self::AudioPlayResponse(message.parse_body()?),
            "photo_response" => Self::PhotoResponse(message.parse_body()?),
            "rgb_led_control_response" => Self::RgbLedControlResponse(message.parse_body()?),
            "rtmp_stream_status" => Self::RtmpStreamStatus(message.parse_body()?),
            "managed_stream_status" => Self::ManagedStreamStatus(message.parse_body()?),
            "stream_status_check_response" => Self::StreamStatusCheckResponse(message.parse_body()?),
            "dashboard_mode_changed" => Self::DashboardModeChanged(message.parse_body()?),
            "dashboard_always_on_changed" => Self::DashboardAlwaysOnChanged(message.parse_body()?),
            "custom_message" => Self::CustomMessage(message.parse_body()?),
            "pong" => Self::Pong,
            _ => Self::Unknown { kind: message.unknown_kind() },
        })
    }

    /// The message as it goes over the socket.
    pub fn to_text(&self) -> String {
        to_text(self)
    }
}

impl<'de> Deserialize<'de> for ToApp {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        Self::parse(Box::<RawValue>::deserialize(from)?.get()).map_err(D::Error::custom)
    }
}

/// The response to the first message.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ConnectionAck {
    /// The session id.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session_id: Option<AppSessionId>,
    /// The user.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user_id: Option<UserId>,
    /// The settings of the app with the user's values.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub settings: Option<Vec<Value>>,
    /// The settings of the platform.
    #[serde(rename = "mentraosSettings", default, skip_serializing_if = "Option::is_none")]
    pub system_settings: Option<Map<String, Value>>,
    /// The capabilities of the glasses, if known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub capabilities: Option<Arc<Capabilities>>,
    /// The current subscriptions of the app.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub subscriptions: Option<Vec<Value>>,
    /// When it was sent.
    #[serde(default, deserialize_with = "read_timestamp", skip_serializing_if = "Option::is_none")]
    pub timestamp: Option<String>,
}

/// The connection is rejected.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ConnectionError {
    /// `INVALID_API_KEY`, `SESSION_NOT_FOUND`
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code: Option<String>,
    /// Human-readable message.
    #[serde(default)]
    pub message: String,
    /// When it was sent.
    #[serde(default, deserialize_with = "read_timestamp", skip_serializing_if = "Option::is_none")]
    pub timestamp: Option<String>,
}

/// The session has ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReconnectRejected {
    /// `SESSION_NOT_FOUND`, `SESSION_STOPPED`, `SESSION_EXPIRED`, `NOT_RUNNING` or `BOOT_TIMEOUT`.
    pub code: String,
    /// Human-readable message.
    #[serde(default)]
    pub message: String,
}

/// Retry later.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ReconnectDeferred {
    /// `BOOTING` or `AWAITING_APP_RESTORE`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code: Option<String>,
    /// Human-readable message.
    #[serde(default)]
    pub message: String,
    /// How long to wait at most.
    #[serde(default, deserialize_with = "read_millis", skip_serializing_if = "Option::is_none")]
    pub timeout_ms: Option<u64>,
}

/// An event of a subscribed stream.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct DataStream {
    /// The session id.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session_id: Option<String>,
    /// The app's own subscription, character for character.
    pub stream_type: String,
    /// The event.
    pub data: Box<RawValue>,
    /// When it was sent.
    #[serde(default, deserialize_with = "read_timestamp", skip_serializing_if = "Option::is_none")]
    pub timestamp: Option<String>,
}

/// The app is stopped.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct AppStopped {
    /// The reason.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<StopReason>,
    /// When it was sent.
    #[serde(default, deserialize_with = "read_timestamp", skip_serializing_if = "Option::is_none")]
    pub timestamp: Option<String>,
}

/// The user changed settings of the app.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SettingsUpdate {
    /// The app's package name.
    pub package_name: PackageName,
    /// All of its settings.
    pub settings: Vec<Value>,
}

/// The user changed settings of the platform.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct SystemSettingsUpdate {
    /// All settings of the platform.
    pub settings: Map<String, Value>,
}

/// The glasses changed or disconnected.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CapabilitiesUpdate {
    /// Their capabilities, if known.
    #[serde(default)]
    pub capabilities: Option<Arc<Capabilities>>,
    /// The model name.
    #[serde(default)]
    pub model_name: Option<String>,
}

/// The state of the glasses.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct DeviceStateUpdate {
    /// The changed fields, or the complete state.
    pub state: DeviceState,
    /// Whether it is the complete state.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub full_snapshot: Option<bool>,
    /// When it was sent.
    #[serde(default, deserialize_with = "read_timestamp", skip_serializing_if = "Option::is_none")]
    pub timestamp: Option<String>,
}

/// Subscriptions were dropped.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PermissionError {
    /// Human-readable message.
    pub message: String,
    /// Each of them.
    #[serde(default)]
    pub details: Vec<PermissionErrorDetail>,
}

/// One dropped subscription.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PermissionErrorDetail {
    /// The app's own subscription.
    pub stream: String,
    /// The permission it must declare.
    pub required_permission: String,
    /// Human-readable message.
    pub message: String,
}

impl PermissionErrorDetail {
    /// Why a subscription was dropped. `None` if it needs no permission.
    pub fn for_subscription(dropped: &StreamSubscription) -> Option<Self> {
        let permission = required_permission(dropped.kind()).map(Permission::as_str)?;
        Some(Self {
            stream: dropped.as_str().to_owned(),
            required_permission: permission.to_owned(),
            message: format!(
                "declare the permission {permission} in the app's registration to receive this stream"
            ),
        })
    }
}

/// A custom message between platform and app.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct CustomMessage {
    /// The action.
    pub action: String,
    /// Its data.
    pub payload: Box<RawValue>,
}

#[cfg(test)]
mod tests;
