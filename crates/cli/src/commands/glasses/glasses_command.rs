//! The slash commands of the simulated glasses: what their wearer can do.

use toolyard_protocol::{
    PackageName,
    session::{
        FromDevice,
        device_messages::{AppOrder, ButtonPressKind, DeviceEvent, HeadDirection},
        speech::LocalTranscription,
    },
};

use super::model::GlassesModel;
use crate::typed_line::{self, ParsedCommand, TypedLine};

/// A slash command.
#[derive(Debug)]
pub(super) enum GlassesCommand {
    /// Send a message to the server.
    Send(Box<FromDevice>),
    /// Switch to other glasses.
    Wear(GlassesModel),
}

/// Parses a line. Plain text is what the glasses hear.
pub(super) fn parse_glasses_line(line: &str) -> Result<TypedLine<GlassesCommand>, String> {
    typed_line::parse_typed_line(line, |word, rest| {
        let app = || rest.parse::<PackageName>().map_err(|error| error.to_string());
        Ok(ParsedCommand::Command(match (word, rest) {
            ("button", "") => event_command(DeviceEvent::button_press("main", ButtonPressKind::Short)),
            ("button", "long") => event_command(DeviceEvent::button_press("main", ButtonPressKind::Long)),
            ("start", _) => send_command(FromDevice::StartApp(AppOrder { package_name: app()? })),
            ("stop", _) => send_command(FromDevice::StopApp(AppOrder { package_name: app()? })),
            ("model", name) if !name.is_empty() => GlassesCommand::Wear(GlassesModel::Known(name.to_owned())),
            ("head", "up") => event_command(DeviceEvent::head_position(HeadDirection::Up)),
            ("head", "down") => event_command(DeviceEvent::head_position(HeadDirection::Down)),
            ("battery", level) => {
                let level = level.parse().ok().filter(|level| *level <= 100);
                let level = level.ok_or("expected a percentage from 0 to 100, such as /battery 80")?;
                event_command(DeviceEvent::battery(level, false))
            }
            _ => return Ok(ParsedCommand::Unknown),
        }))
    })
}

/// The message of a device with its own speech recognition.
pub(super) fn transcription_message(text: String) -> FromDevice {
    FromDevice::LocalTranscription(LocalTranscription {
        text,
        is_final: true,
        ..LocalTranscription::default()
    })
}

fn send_command(message: FromDevice) -> GlassesCommand {
    GlassesCommand::Send(Box::new(message))
}

fn event_command(event: DeviceEvent) -> GlassesCommand {
    send_command(FromDevice::Event(event))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sent(line: &str) -> String {
        match parse_glasses_line(line) {
            Ok(TypedLine::PlainText(words)) => transcription_message(words).to_text(),
            Ok(TypedLine::Command(GlassesCommand::Send(message))) => message.to_text(),
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
            matches!(parse_glasses_line("/model Mentra Live"), Ok(TypedLine::Command(GlassesCommand::Wear(GlassesModel::Known(name)))) if name == "Mentra Live")
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
            assert!(parse_glasses_line(wrong).is_err(), "{wrong}");
        }
    }
}
