//! Messages from devices.

use serde::{Deserialize, Deserializer, Serialize, de::Error};
use serde_json::value::RawValue;

use super::device_event::DeviceEvent;
use crate::{
    device::Capabilities,
    name::PackageName,
    session::{
        audio::AudioPlayResponse,
        message::{MalformedMessage, MessageFields, RawMessage, to_text},
        speech::LocalTranscription,
    },
    stream::{StreamEvent, StreamKind},
};

/// A message from a device.
#[derive(Debug, Clone, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum FromDevice {
    /// Optional first message; acknowledged again.
    ConnectionInit(MessageFields),
    /// Keep-alive.
    Ping,
    /// Starts an app.
    StartApp(AppOrder),
    /// Stops an app.
    StopApp(AppOrder),
    /// Glasses connected or disconnected.
    GlassesConnectionState(GlassesConnection),
    /// The capabilities of the glasses, if the device knows them better than our table. Our extension.
    DeviceProfile(Box<DeviceProfile>),
    /// Speech that the device itself recognized.
    LocalTranscription(LocalTranscription),
    /// The response to a request to play audio.
    AudioPlayResponse(AudioPlayResponse),
    /// The response to a photo request.
    PhotoResponse(MessageFields),
    /// The response to a light control request.
    RgbLedControlResponse(MessageFields),
    /// Status of the live video stream.
    RtmpStreamStatus(MessageFields),
    /// The live video stream continues.
    KeepAliveAck(MessageFields),
    /// Registers the source of audio over UDP.
    UdpRegister(MessageFields),
    /// Subscriptions of the phone itself.
    PhoneSubscriptionUpdate(MessageFields),
    /// An event that goes to subscribed apps.
    #[serde(untagged)]
    Event(DeviceEvent),
    /// An unknown message.
    #[serde(untagged)]
    Unknown {
        /// Its type, truncated.
        #[serde(rename = "type")]
        kind: String,
    },
}

impl FromDevice {
    /// Parses a message.
    pub fn parse(text: &str) -> Result<Self, MalformedMessage> {
        let message = RawMessage::parse(text)?;
        Ok(match message.kind() {
            "connection_init" => Self::ConnectionInit(message.parse_body()?),
            "ping" => Self::Ping,
            "start_app" => Self::StartApp(message.parse_body()?),
            "stop_app" => Self::StopApp(message.parse_body()?),
            "glasses_connection_state" => Self::GlassesConnectionState(message.parse_body()?),
            "device_profile" => Self::DeviceProfile(message.parse_body()?),
            "local_transcription" => Self::LocalTranscription(message.parse_body()?),
            "audio_play_response" => Self::AudioPlayResponse(message.parse_body()?),
            "photo_response" => Self::PhotoResponse(message.parse_body()?),
            "rgb_led_control_response" => Self::RgbLedControlResponse(message.parse_body()?),
            // SDK 3 leaves out `rtmp_`.
            "rtmp_stream_status" | "stream_status" => Self::RtmpStreamStatus(message.parse_body()?),
            "keep_alive_ack" => Self::KeepAliveAck(message.parse_body()?),
            "udp_register" => Self::UdpRegister(message.parse_body()?),
            "phone_subscription_update" => Self::PhoneSubscriptionUpdate(message.parse_body()?),
            _ => match DeviceEvent::from_message(&message)? {
                Some(event) => Self::Event(event),
                None => Self::Unknown { kind: message.unknown_kind() },
            },
        })
    }

    /// The event that subscriptions match, if apps can subscribe to such a message. Its data is the message itself.
    pub fn stream_event(&self) -> Option<StreamEvent> {
        match self {
            Self::Event(event) => Some(event.event.clone()),
            Self::GlassesConnectionState(_) => Some(StreamEvent::Plain(StreamKind::GlassesConnectionState)),
            Self::LocalTranscription(transcription) => Some(transcription.stream_event()),
            Self::RtmpStreamStatus(_) => Some(StreamEvent::Plain(StreamKind::RtmpStreamStatus)),
            Self::ConnectionInit(_)
            | Self::Ping
            | Self::StartApp(_)
            | Self::StopApp(_)
            | Self::DeviceProfile(_)
            | Self::AudioPlayResponse(_)
            | Self::PhotoResponse(_)
            | Self::RgbLedControlResponse(_)
            | Self::KeepAliveAck(_)
            | Self::UdpRegister(_)
            | Self::PhoneSubscriptionUpdate(_)
            | Self::Unknown { .. } => None,
        }
    }

    /// The message as it goes over the socket.
    pub fn to_text(&self) -> String {
        to_text(self)
    }
}

impl<'de> Deserialize<'de> for FromDevice {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        Self::parse(Box::<RawValue>::deserialize(from)?.get()).map_err(D::Error::custom)
    }
}

/// Starts or stops an app.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AppOrder {
    /// The app's package name.
    pub package_name: PackageName,
}

/// Connection state of the glasses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum GlassesStatus {
    /// Connected.
    Connected,
    /// Connected again.
    Reconnected,
    /// Disconnected. An unknown status counts as this one.
    #[serde(other)]
    Disconnected,
}

/// Glasses connected or disconnected.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct GlassesConnection {
    /// The model name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model_name: Option<String>,
    /// The connection state.
    pub status: GlassesStatus,
    /// Network and other fields, as received.
    #[serde(flatten)]
    pub rest: MessageFields,
}

/// The capabilities of the glasses.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct DeviceProfile {
    /// The model name.
    pub model_name: String,
    /// Its capabilities.
    pub capabilities: Capabilities,
}

impl DeviceProfile {
    /// The capabilities under the model name that the device sent.
    pub fn into_capabilities(self) -> Capabilities {
        Capabilities { model_name: self.model_name, ..self.capabilities }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::device::find_profile;

    #[test]
    fn every_type_is_written_as_it_is_read() {
        for message in [
            json!({ "type": "connection_init", "coreToken": "t" }),
            json!({ "type": "ping" }),
            json!({ "type": "start_app", "packageName": "com.example.todo" }),
            json!({ "type": "stop_app", "packageName": "com.example.todo" }),
            json!({ "type": "glasses_connection_state", "modelName": "Even Realities G1", "status": "CONNECTED", "wifi": { "connected": true, "ssid": "home" } }),
            json!({ "type": "device_profile", "modelName": "Mine", "capabilities": *find_profile("Mentra Live").unwrap() }),
            json!({ "type": "local_transcription", "text": "hello", "isFinal": true, "transcribeLanguage": "de-DE", "startTime": 0, "endTime": 900, "speakerId": "1", "provider": "sherpa" }),
            json!({ "type": "audio_play_response", "requestId": "a", "success": false, "error": "no speaker" }),
            json!({ "type": "photo_response", "requestId": "p" }),
            json!({ "type": "rgb_led_control_response", "requestId": "l", "success": true }),
            json!({ "type": "rtmp_stream_status", "status": "active" }),
            json!({ "type": "keep_alive_ack", "ackId": "k" }),
            json!({ "type": "udp_register", "userIdHash": 3_735_928_559_u32 }),
            json!({ "type": "phone_subscription_update", "subscriptions": [] }),
            json!({ "type": "touch_event", "device_model": "G2", "gesture_name": "single_tap" }),
            json!({ "type": "phone_notification", "notificationId": "n", "app": "Mail", "title": "t", "content": "c", "priority": "high" }),
            json!({ "type": "calendar_event", "eventId": "e", "title": "t", "dtStart": "a", "dtEnd": "b", "timezone": "UTC", "timeStamp": "c" }),
            json!({ "type": "vad" }),
        ] {
            let read = FromDevice::parse(&message.to_string()).unwrap();
            assert_eq!(serde_json::to_value(&read).unwrap(), message);
            assert_eq!(matches!(read, FromDevice::Unknown { .. }), message["type"] == "vad", "{message}");
            assert_eq!(serde_json::from_value::<FromDevice>(message).unwrap().to_text(), read.to_text());
        }
    }

    #[test]
    fn what_apps_listen_to_is_an_event() {
        let event = |text: &str| FromDevice::parse(text).unwrap().stream_event();
        assert_eq!(
            event(r#"{"type":"local_transcription","text":"x"}"#),
            Some(StreamEvent::Transcription { language: "en-US".to_owned() })
        );
        assert_eq!(
            event(r#"{"type":"glasses_connection_state","status":"CONNECTED"}"#),
            Some(StreamEvent::Plain(StreamKind::GlassesConnectionState))
        );
        assert_eq!(event(r#"{"type":"VAD","status":"true"}"#), Some(StreamEvent::Plain(StreamKind::Vad)));
        assert_eq!(event(r#"{"type":"ping"}"#), None);
    }

    #[test]
    fn odd_states_count_as_gone() {
        let FromDevice::GlassesConnectionState(state) =
            FromDevice::parse(r#"{"type":"glasses_connection_state","modelName":null,"status":"SEARCHING"}"#)
                .unwrap()
        else {
            panic!()
        };
        assert_eq!((state.status, state.model_name), (GlassesStatus::Disconnected, None));
    }

    #[test]
    fn a_profile_carries_the_name_that_the_device_gave() {
        let text = r#"{"type":"device_profile","modelName":"Mine","capabilities":{"hasSpeaker":true}}"#;
        let FromDevice::DeviceProfile(profile) = FromDevice::parse(text).unwrap() else { panic!() };
        let capabilities = profile.into_capabilities();
        assert_eq!((capabilities.model_name.as_str(), capabilities.has_speaker), ("Mine", true));
    }

    #[test]
    fn what_is_wrong_is_named() {
        let error_text = |text: &str| FromDevice::parse(text).unwrap_err().to_string();
        assert!(error_text(r#"{"type":"touch_event"}"#).contains("missing field `gesture_name`"));
        assert!(
            error_text(r#"{"type":"start_app","packageName":"A B"}"#)
                .starts_with("`start_app`, packageName: ")
        );
        assert!(
            error_text(
                r#"{"type":"device_profile","modelName":"x","capabilities":{"display":{"count":"two"}}}"#
            )
            .starts_with("`device_profile`, capabilities.display.count: ")
        );
    }
}
