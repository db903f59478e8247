//! Messages to devices.

use serde::{Deserialize, Deserializer, Serialize, de::Error};
use serde_json::value::RawValue;

use crate::{
    name::PackageName,
    session::{
        app_messages::DataStream,
        audio::{DeviceAudioPlayRequest, DeviceAudioStopRequest},
        display::{DisplayView, Layout},
        message::{MalformedMessage, MessageFields, RawMessage, to_text},
        time::{read_millis, read_timestamp},
    },
};

/// A message to a device.
#[derive(Debug, Clone, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum ToDevice {
    /// The connection is accepted.
    ConnectionAck(DeviceConnectionAck),
    /// The connection is rejected.
    ConnectionError(DeviceConnectionError),
    /// The token is invalid.
    AuthError(DeviceConnectionError),
    /// Response to `ping`.
    Pong,
    /// Shows content.
    DisplayEvent(DeviceDisplay),
    /// The mode of the dashboard changed.
    DashboardModeChange(MessageFields),
    /// The list of apps changed; read it again.
    AppStateChange(AppStateChange),
    /// An app has started.
    AppStarted(AppNotice),
    /// An app has stopped.
    AppStopped(AppNotice),
    /// Turns the microphone on or off.
    MicrophoneStateChange(MicrophoneStateChange),
    /// Plays audio.
    AudioPlayRequest(DeviceAudioPlayRequest),
    /// Stops audio.
    AudioStopRequest(DeviceAudioStopRequest),
    /// Takes a photo.
    PhotoRequest(MessageFields),
    /// Controls a light.
    RgbLedControl(MessageFields),
    /// Starts a live video stream.
    StartStream(MessageFields),
    /// Stops it.
    StopStream(MessageFields),
    /// Asks the user to set up Wi-Fi.
    ShowWifiSetup(WifiSetup),
    /// How often and how precisely to report the location.
    SetLocationTier(LocationTier),
    /// Requests the location once.
    RequestSingleLocation(LocationRequest),
    /// Audio over UDP arrives.
    UdpPingAck,
    /// An event for apps on the phone itself.
    DataStream(DataStream),
    /// An unknown message.
    #[serde(untagged)]
    Unknown {
        /// Its type, truncated.
        #[serde(rename = "type")]
        kind: String,
    },
}

impl ToDevice {
    /// Parses a message, on the side of the device.
    pub fn parse(text: &str) -> Result<Self, MalformedMessage> {
        let message = RawMessage::parse(text)?;
        Ok(match message.kind() {
            "connection_ack" => Self::ConnectionAck(message.parse_body()?),
            "connection_error" => Self::ConnectionError(message.parse_body()?),
            "auth_error" => Self::AuthError(message.parse_body()?),
            "pong" => Self::Pong,
            "display_event" => Self::DisplayEvent(message.parse_body()?),
            "dashboard_mode_change" => Self::DashboardModeChange(message.parse_body()?),
            "app_state_change" => Self::AppStateChange(message.parse_body()?),
            "app_started" => Self::AppStarted(message.parse_body()?),
            "app_stopped" => Self::AppStopped(message.parse_body()?),
            "microphone_state_change" => Self::MicrophoneStateChange(message.parse_body()?),
            "audio_play_request" => Self::AudioPlayRequest(message.parse_body()?),
            "audio_stop_request" => Self::AudioStopRequest(message.parse_body()?),
            "photo_request" => Self::PhotoRequest(message.parse_body()?),
            "rgb_led_control" => Self::RgbLedControl(message.parse_body()?),
            "start_stream" => Self::StartStream(message.parse_body()?),
            "stop_stream" => Self::StopStream(message.parse_body()?),
            "show_wifi_setup" => Self::ShowWifiSetup(message.parse_body()?),
            "set_location_tier" => Self::SetLocationTier(message.parse_body()?),
            "request_single_location" => Self::RequestSingleLocation(message.parse_body()?),
            "udp_ping_ack" => Self::UdpPingAck,
            "data_stream" => Self::DataStream(message.parse_body()?),
            _ => Self::Unknown { kind: message.unknown_kind() },
        })
    }

    /// The message as it goes over the socket.
    pub fn to_text(&self) -> String {
        to_text(self)
    }
}

impl<'de> Deserialize<'de> for ToDevice {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        Self::parse(Box::<RawValue>::deserialize(from)?.get()).map_err(D::Error::custom)
    }
}

/// The connection is accepted.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct DeviceConnectionAck {
    /// The session id; for phones, the user id.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session_id: Option<String>,
    /// The name of this installation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub env: Option<String>,
    /// When it was sent.
    #[serde(default, deserialize_with = "read_timestamp", skip_serializing_if = "Option::is_none")]
    pub timestamp: Option<String>,
}

/// The connection is rejected.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeviceConnectionError {
    /// A short code.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code: Option<String>,
    /// Human-readable message.
    #[serde(default)]
    pub message: String,
}

/// Shows content. Phones ignore it without a `view`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct DeviceDisplay {
    /// The app's package name.
    pub package_name: PackageName,
    /// The view.
    #[serde(default)]
    pub view: DisplayView,
    /// The layout.
    pub layout: Layout,
    /// How long, in milliseconds.
    #[serde(default, deserialize_with = "read_millis", skip_serializing_if = "Option::is_none")]
    pub duration_ms: Option<u64>,
    /// When it was sent.
    #[serde(default, deserialize_with = "read_timestamp", skip_serializing_if = "Option::is_none")]
    pub timestamp: Option<String>,
}

/// The list of apps changed.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct AppStateChange {
    /// When it was sent.
    #[serde(default, deserialize_with = "read_timestamp", skip_serializing_if = "Option::is_none")]
    pub timestamp: Option<String>,
}

/// An app has started or stopped.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AppNotice {
    /// The app's package name.
    pub package_name: PackageName,
    /// When it was sent.
    #[serde(default, deserialize_with = "read_timestamp", skip_serializing_if = "Option::is_none")]
    pub timestamp: Option<String>,
}

/// Turns the microphone on or off.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct MicrophoneStateChange {
    /// Whether the microphone is on.
    pub is_microphone_enabled: bool,
    /// What to send: `pcm`, `transcription`, `pcm_or_transcription`.
    #[serde(default)]
    pub required_data: Vec<String>,
    /// Whether to send silence as well.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bypass_vad: Option<bool>,
}

/// Asks the user to set up Wi-Fi.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct WifiSetup {
    /// Why it is needed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The app that asks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub app_package_name: Option<PackageName>,
}

/// How often and how precisely to report the location.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LocationTier {
    /// `realtime`, `high`, `standard`, `tenMeters`, `hundredMeters`, `kilometer`, `threeKilometers` or `reduced`.
    pub tier: String,
}

/// Requests the location once.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct LocationRequest {
    /// Returned with the location.
    pub correlation_id: String,
    /// As in [`LocationTier`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub accuracy: Option<String>,
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn every_type_is_written_as_it_is_read() {
        for message in [
            json!({ "type": "connection_ack", "sessionId": "ada@example.com", "env": "dev", "timestamp": "2026-01-02T03:04:05.678Z" }),
            json!({ "type": "connection_error", "message": "no token" }),
            json!({ "type": "auth_error", "code": "EXPIRED", "message": "expired" }),
            json!({ "type": "pong" }),
            json!({ "type": "display_event", "packageName": "com.example.todo", "view": "main", "layout": { "layoutType": "text_wall", "text": "1. buy milk" }, "durationMs": 4000, "timestamp": "2026-01-02T03:04:05.678Z" }),
            json!({ "type": "dashboard_mode_change", "mode": "expanded" }),
            json!({ "type": "app_state_change" }),
            json!({ "type": "app_started", "packageName": "com.example.todo" }),
            json!({ "type": "app_stopped", "packageName": "com.example.todo" }),
            json!({ "type": "microphone_state_change", "isMicrophoneEnabled": true, "requiredData": ["pcm"], "bypassVad": false }),
            json!({ "type": "audio_play_request", "requestId": "a", "packageName": "com.example.todo", "audioUrl": "https://x/tts", "volume": 0.5, "stopOtherAudio": true, "text": "1. buy milk" }),
            json!({ "type": "audio_stop_request", "packageName": "com.example.todo", "trackId": 2 }),
            json!({ "type": "photo_request", "requestId": "p", "appId": "com.example.todo" }),
            json!({ "type": "rgb_led_control", "requestId": "l", "action": "on" }),
            json!({ "type": "start_stream", "streamUrl": "rtmp://x" }),
            json!({ "type": "stop_stream", "streamId": "s" }),
            json!({ "type": "show_wifi_setup", "reason": "to upload", "appPackageName": "com.example.todo" }),
            json!({ "type": "set_location_tier", "tier": "high" }),
            json!({ "type": "request_single_location", "correlationId": "c", "accuracy": "high" }),
            json!({ "type": "udp_ping_ack" }),
            json!({ "type": "data_stream", "streamType": "button_press", "data": { "x": 1 } }),
            json!({ "type": "livekit_info" }),
        ] {
            let read = ToDevice::parse(&message.to_string()).unwrap();
            assert_eq!(serde_json::to_value(&read).unwrap(), message);
            assert_eq!(
                matches!(read, ToDevice::Unknown { .. }),
                message["type"] == "livekit_info",
                "{message}"
            );
            assert_eq!(serde_json::from_value::<ToDevice>(message).unwrap().to_text(), read.to_text());
        }
    }

    #[test]
    fn a_picture_always_says_where() {
        let display = DeviceDisplay {
            package_name: "com.example.todo".parse().unwrap(),
            view: DisplayView::default(),
            layout: Layout::ClearView,
            duration_ms: None,
            timestamp: None,
        };
        assert_eq!(
            ToDevice::DisplayEvent(display).to_text(),
            r#"{"type":"display_event","packageName":"com.example.todo","view":"main","layout":{"layoutType":"clear_view"}}"#
        );
    }

    #[test]
    fn what_is_wrong_is_named() {
        let error_text = |text: &str| ToDevice::parse(text).unwrap_err().to_string();
        assert!(
            error_text(r#"{"type":"microphone_state_change","isMicrophoneEnabled":1}"#)
                .starts_with("`microphone_state_change`, isMicrophoneEnabled: ")
        );
        assert!(
            error_text(r#"{"type":"audio_play_request","packageName":"com.ex"}"#)
                .contains("missing field `requestId`")
        );
    }
}
