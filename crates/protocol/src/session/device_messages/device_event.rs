//! Events on a device that go to subscribed apps.

use serde::{Deserialize, Serialize, Serializer};
use serde_json::{Value, json, value::RawValue};

use crate::{
    raw::{RawFields, to_raw},
    session::message::{MalformedMessage, RawMessage},
    stream::{StreamEvent, StreamKind},
};

/// How a button was pressed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names say it")]
pub enum ButtonPressKind {
    Short,
    Long,
}

/// The direction of the wearer's head.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names say it")]
pub enum HeadDirection {
    Up,
    Down,
}

/// An event that goes to subscribed apps, as received.
#[derive(Debug, Clone)]
pub struct DeviceEvent {
    /// The event that subscriptions match.
    pub event: StreamEvent,
    /// The complete message with its `type`: the `data` that apps receive.
    pub message: Box<RawValue>,
}

impl DeviceEvent {
    /// Parses an event that devices produce, if the message is one.
    pub(super) fn from_message(message: &RawMessage<'_>) -> Result<Option<Self>, MalformedMessage> {
        let event = match StreamKind::from_name(message.kind()) {
            StreamKind::TouchEvent => {
                #[derive(Deserialize)]
                struct TouchBody {
                    gesture_name: String,
                }
                StreamEvent::Touch { gesture: message.parse_body::<TouchBody>()?.gesture_name }
            }
            kind @ (StreamKind::ButtonPress
            | StreamKind::HeadPosition
            | StreamKind::GlassesBatteryUpdate
            | StreamKind::PhoneBatteryUpdate
            | StreamKind::LocationUpdate
            | StreamKind::VpsCoordinates
            | StreamKind::Vad
            | StreamKind::PhoneNotification
            | StreamKind::PhoneNotificationDismissed
            | StreamKind::CalendarEvent
            | StreamKind::OpenDashboard
            | StreamKind::CoreStatusUpdate
            | StreamKind::PhotoTaken) => StreamEvent::Plain(kind),
            StreamKind::GlassesConnectionState
            | StreamKind::LocationStream
            | StreamKind::Transcription
            | StreamKind::Translation
            | StreamKind::AudioChunk
            | StreamKind::StartApp
            | StreamKind::StopApp
            | StreamKind::Video
            | StreamKind::PhotoRequest
            | StreamKind::PhotoResponse
            | StreamKind::RtmpStreamStatus
            | StreamKind::ManagedStreamStatus
            | StreamKind::SettingsUpdateRequest
            | StreamKind::CustomMessage
            | StreamKind::All
            | StreamKind::Other(_) => return Ok(None),
        };
        let raw = serde_json::from_str(message.raw_text()).map_err(|_| MalformedMessage::NotAMessage)?;
        Ok(Some(Self { event, message: raw }))
    }

    /// A string field of the message: `correlationId`.
    pub fn str_field(&self, name: &str) -> Option<String> {
        let fields: RawFields = serde_json::from_str(self.message.get()).ok()?;
        fields.parse_field::<String>(name)?.ok()
    }

    fn from_json(event: StreamEvent, message: &Value) -> Self {
        Self { event, message: to_raw(message) }
    }

    /// A button was pressed.
    pub fn button_press(button_id: &str, press: ButtonPressKind) -> Self {
        let press_type = match press {
            ButtonPressKind::Short => "short",
            ButtonPressKind::Long => "long",
        };
        let message = json!({ "type": "button_press", "buttonId": button_id, "pressType": press_type });
        Self::from_json(StreamEvent::Plain(StreamKind::ButtonPress), &message)
    }

    /// The wearer looks up or down.
    pub fn head_position(head: HeadDirection) -> Self {
        let position = match head {
            HeadDirection::Up => "up",
            HeadDirection::Down => "down",
        };
        Self::from_json(
            StreamEvent::Plain(StreamKind::HeadPosition),
            &json!({ "type": "head_position", "position": position }),
        )
    }

    /// The glasses were touched.
    pub fn touch(model: &str, gesture: &str) -> Self {
        let message = json!({ "type": "touch_event", "device_model": model, "gesture_name": gesture });
        Self::from_json(StreamEvent::Touch { gesture: gesture.to_owned() }, &message)
    }

    /// Battery level of the glasses, in percent.
    pub fn battery(level: u8, charging: bool) -> Self {
        let message = json!({ "type": "glasses_battery_update", "level": level, "charging": charging });
        Self::from_json(StreamEvent::Plain(StreamKind::GlassesBatteryUpdate), &message)
    }

    /// Whether speech is detected.
    pub fn voice_activity(active: bool) -> Self {
        Self::from_json(StreamEvent::Plain(StreamKind::Vad), &json!({ "type": "VAD", "status": active }))
    }

    /// The location, in response to the request with that id, if there is one.
    pub fn location(lat: f64, lng: f64, correlation_id: Option<&str>) -> Self {
        let mut message = json!({ "type": "location_update", "lat": lat, "lng": lng });
        if let Some(id) = correlation_id {
            message["correlationId"] = id.into();
        }
        Self::from_json(StreamEvent::Plain(StreamKind::LocationUpdate), &message)
    }
}

impl Serialize for DeviceEvent {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        self.message.serialize(to)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::session::FromDevice;

    #[test]
    fn what_a_simulator_makes_is_read_as_the_same_event() {
        for made in [
            DeviceEvent::button_press("main", ButtonPressKind::Short),
            DeviceEvent::button_press("main", ButtonPressKind::Long),
            DeviceEvent::head_position(HeadDirection::Up),
            DeviceEvent::touch("Even Realities G2", "forward_swipe"),
            DeviceEvent::battery(81, false),
            DeviceEvent::voice_activity(true),
            DeviceEvent::location(52.5, 13.4, Some("c-1")),
        ] {
            let text = FromDevice::Event(made.clone()).to_text();
            let FromDevice::Event(read) = FromDevice::parse(&text).unwrap() else { panic!("{text}") };
            assert_eq!((read.event, read.message.get()), (made.event, text.as_str()));
        }
        let button = DeviceEvent::button_press("main", ButtonPressKind::Short);
        assert_eq!(button.message.get(), r#"{"type":"button_press","buttonId":"main","pressType":"short"}"#);
        assert_eq!(
            DeviceEvent::location(1.0, 2.0, Some("c-1")).str_field("correlationId").as_deref(),
            Some("c-1")
        );
        assert_eq!(button.str_field("correlationId"), None);
    }

    #[test]
    fn events_pass_as_they_came() {
        let text = r#"{"type":"location_update", "lat":52.50000000000000001,"lng":13}"#;
        let read = FromDevice::parse(text).unwrap();
        assert_eq!(
            (read.to_text().as_str(), read.stream_event()),
            (text, Some(StreamEvent::Plain(StreamKind::LocationUpdate)))
        );
    }
}
