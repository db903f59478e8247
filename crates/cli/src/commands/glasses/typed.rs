//! What a typed line means.

use std::str::FromStr;

use toolyard_protocol::{
    PackageName,
    session::{
        FromDevice,
        device_messages::{AppOrder, DeviceEvent, Head, Press},
        speech::LocalTranscription,
    },
};

use super::model::Model;

/// What whoever wears the glasses does.
#[derive(Debug)]
pub(super) enum Typed {
    /// Says or does something that the server hears.
    Send(Box<FromDevice>),
    /// Puts other glasses on.
    Wear(Model),
    /// Wants to know what can be typed.
    Help,
    /// Takes them off for good.
    Quit,
    /// Nothing.
    Nothing,
}

impl FromStr for Typed {
    type Err = String;

    fn from_str(line: &str) -> Result<Self, String> {
        let line = line.trim();
        let Some(order) = line.strip_prefix('/') else {
            return Ok(if line.is_empty() { Self::Nothing } else { say(line) });
        };
        let (word, rest) = order.split_once(char::is_whitespace).unwrap_or((order, ""));
        let rest = rest.trim();
        let app = || rest.parse::<PackageName>().map_err(|error| error.to_string());
        match (word, rest) {
            ("button", "") => Ok(event(DeviceEvent::button_press("main", Press::Short))),
            ("button", "long") => Ok(event(DeviceEvent::button_press("main", Press::Long))),
            ("start", _) => Ok(send(FromDevice::StartApp(AppOrder { package_name: app()? }))),
            ("stop", _) => Ok(send(FromDevice::StopApp(AppOrder { package_name: app()? }))),
            ("model", name) if !name.is_empty() => Ok(Self::Wear(Model::Known(name.to_owned()))),
            ("head", "up") => Ok(event(DeviceEvent::head_position(Head::Up))),
            ("head", "down") => Ok(event(DeviceEvent::head_position(Head::Down))),
            ("battery", level) => {
                let level = level.parse().ok().filter(|level| *level <= 100);
                let level = level.ok_or("expected a number of percent, such as /battery 80")?;
                Ok(event(DeviceEvent::battery(level, false)))
            }
            ("help", _) => Ok(Self::Help),
            ("quit" | "exit", _) => Ok(Self::Quit),
            _ => Err(format!("`/{order}` is nothing that the glasses know; /help lists what they do")),
        }
    }
}

fn send(message: FromDevice) -> Typed {
    Typed::Send(Box::new(message))
}

fn event(event: DeviceEvent) -> Typed {
    send(FromDevice::Event(event))
}

/// The words as a device hears them that recognises speech itself.
fn say(words: &str) -> Typed {
    let heard =
        LocalTranscription { text: words.to_owned(), is_final: true, ..LocalTranscription::default() };
    send(FromDevice::LocalTranscription(heard))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sent(line: &str) -> String {
        match line.parse() {
            Ok(Typed::Send(message)) => message.to_text(),
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
            matches!("/model Mentra Live".parse(), Ok(Typed::Wear(Model::Known(name))) if name == "Mentra Live")
        );
        assert!(matches!("/quit".parse(), Ok(Typed::Quit)));
        assert!(matches!("/help".parse(), Ok(Typed::Help)));
        assert!(matches!("  ".parse(), Ok(Typed::Nothing)));
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
            assert!(wrong.parse::<Typed>().is_err(), "{wrong}");
        }
    }
}
