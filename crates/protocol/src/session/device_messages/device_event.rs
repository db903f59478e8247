//! Things that happen on a device and go to whoever listens.

use serde::{Deserialize, Serialize, Serializer};
use serde_json::{Value, json, value::RawValue};

use crate::{
    raw::{RawFields, to_raw},
    session::message::{Malformed, Message},
    stream::{Event, StreamKind},
};

/// How a button was pressed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names say it")]
pub enum Press {
    Short,
    Long,
}

/// Where the wearer looks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names say it")]
pub enum Head {
    Up,
    Down,
}

/// Something happened that goes to whoever listens, as it came.
#[derive(Debug, Clone)]
pub struct DeviceEvent {
    /// What subscriptions look at.
    pub event: Event,
    /// The whole message, `type` included: the `data` that apps get.
    pub message: Box<RawValue>,
}

impl DeviceEvent {
    /// Reads a message of a stream that devices make, if it is one.
    pub(super) fn read(message: &Message<'_>) -> Result<Option<Self>, Malformed> {
        let event = match StreamKind::from_name(message.kind()) {
            StreamKind::TouchEvent => {
                #[derive(Deserialize)]
                struct Touch {
                    gesture_name: String,
                }
                Event::Touch { gesture: message.body::<Touch>()?.gesture_name }
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
            | StreamKind::PhotoTaken) => Event::Plain(kind),
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
        let raw = serde_json::from_str(message.text()).map_err(|_| Malformed::NotAMessage)?;
        Ok(Some(Self { event, message: raw }))
    }

    /// A field of the message that is a text: `correlationId`.
    pub fn text(&self, name: &str) -> Option<String> {
        let fields: RawFields = serde_json::from_str(self.message.get()).ok()?;
        fields.read::<String>(name)?.ok()
    }

    fn made(event: Event, message: &Value) -> Self {
        Self { event, message: to_raw(message) }
    }

    /// A button was pressed.
    pub fn button_press(button_id: &str, press: Press) -> Self {
        let press_type = match press {
            Press::Short => "short",
            Press::Long => "long",
        };
        let message = json!({ "type": "button_press", "buttonId": button_id, "pressType": press_type });
        Self::made(Event::Plain(StreamKind::ButtonPress), &message)
    }

    /// The wearer looks up, or down again.
    pub fn head_position(head: Head) -> Self {
        let position = match head {
            Head::Up => "up",
            Head::Down => "down",
        };
        Self::made(
            Event::Plain(StreamKind::HeadPosition),
            &json!({ "type": "head_position", "position": position }),
        )
    }

    /// The glasses were touched.
    pub fn touch(model: &str, gesture: &str) -> Self {
        let message = json!({ "type": "touch_event", "device_model": model, "gesture_name": gesture });
        Self::made(Event::Touch { gesture: gesture.to_owned() }, &message)
    }

    /// How full the battery of the glasses is, in percent.
    pub fn battery(level: u8, charging: bool) -> Self {
        let message = json!({ "type": "glasses_battery_update", "level": level, "charging": charging });
        Self::made(Event::Plain(StreamKind::GlassesBatteryUpdate), &message)
    }

    /// Whether somebody speaks.
    pub fn voice(active: bool) -> Self {
        Self::made(Event::Plain(StreamKind::Vad), &json!({ "type": "VAD", "status": active }))
    }

    /// Where the user is; in answer to a request with that id, if there is one.
    pub fn location(lat: f64, lng: f64, correlation_id: Option<&str>) -> Self {
        let mut message = json!({ "type": "location_update", "lat": lat, "lng": lng });
        if let Some(id) = correlation_id {
            message["correlationId"] = id.into();
        }
        Self::made(Event::Plain(StreamKind::LocationUpdate), &message)
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
            DeviceEvent::button_press("main", Press::Short),
            DeviceEvent::button_press("main", Press::Long),
            DeviceEvent::head_position(Head::Up),
            DeviceEvent::touch("Even Realities G2", "forward_swipe"),
            DeviceEvent::battery(81, false),
            DeviceEvent::voice(true),
            DeviceEvent::location(52.5, 13.4, Some("c-1")),
        ] {
            let text = FromDevice::Event(made.clone()).to_text();
            let FromDevice::Event(read) = FromDevice::read(&text).unwrap() else { panic!("{text}") };
            assert_eq!((read.event, read.message.get()), (made.event, text.as_str()));
        }
        let button = DeviceEvent::button_press("main", Press::Short);
        assert_eq!(button.message.get(), r#"{"type":"button_press","buttonId":"main","pressType":"short"}"#);
        assert_eq!(
            DeviceEvent::location(1.0, 2.0, Some("c-1")).text("correlationId").as_deref(),
            Some("c-1")
        );
        assert_eq!(button.text("correlationId"), None);
    }

    #[test]
    fn events_pass_as_they_came() {
        let text = r#"{"type":"location_update", "lat":52.50000000000000001,"lng":13}"#;
        let read = FromDevice::read(text).unwrap();
        assert_eq!(
            (read.to_text().as_str(), read.event()),
            (text, Some(Event::Plain(StreamKind::LocationUpdate)))
        );
    }
}
