//! What whoever wears the glasses can do.

use toolyard_protocol::{
    PackageName,
    session::{
        FromDevice,
        device_messages::{AppOrder, DeviceEvent, Head, Press},
        speech::LocalTranscription,
    },
};

use super::model::Model;
use crate::typed::{self, Meant, Typed};

/// Something that they do.
#[derive(Debug)]
pub(super) enum Deed {
    /// Something that the server hears of.
    Send(Box<FromDevice>),
    /// They put other glasses on.
    Wear(Model),
}

/// What a line means; words are what the glasses hear.
pub(super) fn read(line: &str) -> Result<Typed<Deed>, String> {
    typed::read(line, |word, rest| {
        let app = || rest.parse::<PackageName>().map_err(|error| error.to_string());
        Ok(Meant::Order(match (word, rest) {
            ("button", "") => event(DeviceEvent::button_press("main", Press::Short)),
            ("button", "long") => event(DeviceEvent::button_press("main", Press::Long)),
            ("start", _) => send(FromDevice::StartApp(AppOrder { package_name: app()? })),
            ("stop", _) => send(FromDevice::StopApp(AppOrder { package_name: app()? })),
            ("model", name) if !name.is_empty() => Deed::Wear(Model::Known(name.to_owned())),
            ("head", "up") => event(DeviceEvent::head_position(Head::Up)),
            ("head", "down") => event(DeviceEvent::head_position(Head::Down)),
            ("battery", level) => {
                let level = level.parse().ok().filter(|level| *level <= 100);
                let level = level.ok_or("expected a number of percent, such as /battery 80")?;
                event(DeviceEvent::battery(level, false))
            }
            _ => return Ok(Meant::Unknown),
        }))
    })
}

/// The words as a device hears them that recognises speech itself.
pub(super) fn heard(text: String) -> FromDevice {
    FromDevice::LocalTranscription(LocalTranscription {
        text,
        is_final: true,
        ..LocalTranscription::default()
    })
}

fn send(message: FromDevice) -> Deed {
    Deed::Send(Box::new(message))
}

fn event(event: DeviceEvent) -> Deed {
    send(FromDevice::Event(event))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sent(line: &str) -> String {
        match read(line) {
            Ok(Typed::Words(words)) => heard(words).to_text(),
            Ok(Typed::Order(Deed::Send(message))) => message.to_text(),
            other => panic!("{line}: {other:?}"),
        }
    }

    #[test]
    fn each_line_is_the_message_of_a_device() {
        assert_eq!(
            sent(" what is on my list "),
            r#"{"type":"local_transcription","text":"what is on my list","isFinal":true}"#
        );
        assert_eq!(sent("/button"), r#"{"type":"button_press","buttonId":"main","pressType":"short"}"#);
        assert_eq!(sent("/button long"), r#"{"type":"button_press","buttonId":"main","pressType":"long"}"#);
        assert_eq!(
            sent("/start  com.example.todo"),
            r#"{"type":"start_app","packageName":"com.example.todo"}"#
        );
        assert_eq!(sent("/stop com.example.todo"), r#"{"type":"stop_app","packageName":"com.example.todo"}"#);
        assert_eq!(sent("/head up"), r#"{"type":"head_position","position":"up"}"#);
        assert_eq!(sent("/battery 80"), r#"{"type":"glasses_battery_update","level":80,"charging":false}"#);
    }

    #[test]
    fn the_other_lines() {
        assert!(
            matches!(read("/model Mentra Live"), Ok(Typed::Order(Deed::Wear(Model::Known(name)))) if name == "Mentra Live")
        );
        for wrong in [
            "/fly",
            "/model",
            "/start",
            "/start A B",
            "/head left",
            "/battery 101",
            "/battery",
            "/button twice",
        ] {
            assert!(read(wrong).is_err(), "{wrong}");
        }
    }
}
