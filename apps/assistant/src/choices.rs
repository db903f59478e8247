//! The user's choices in the app's settings, and the definitions of these settings.

use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Value, json};
use toolyard_app_sdk::UserSettings;

use crate::localization::{SpokenLanguage, primary_subtag};

/// How long a conversation is kept.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum HistoryRetention {
    /// Not at all: every question is independent.
    Off,
    /// As long as the assistant is open, in memory.
    #[default]
    Session,
    /// In the assistant's database, until the user says to forget it.
    Forever,
}

/// Whether answers are spoken.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SpeechMode {
    /// If the glasses have a speaker.
    #[default]
    Auto,
    /// Always: the platform uses another speaker, such as the phone's.
    On,
    /// Never.
    Off,
}

/// The choices of one user.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct UserChoices {
    /// How long a conversation is kept.
    pub keep: HistoryRetention,
    /// Whether answers are spoken.
    pub speak: SpeechMode,
    /// The language to listen for, such as `de-DE`; `None` is any.
    pub language: Option<String>,
}

impl UserChoices {
    /// Reads the settings. Missing or invalid ones get the operator's defaults.
    pub fn from_settings(settings: &UserSettings, usual: HistoryRetention) -> Self {
        let language: Option<String> = settings.get("language");
        Self {
            keep: settings.get("history").unwrap_or(usual),
            speak: settings.get::<SpeechSwitch>("speak").map_or(SpeechMode::Auto, |switch| switch.0),
            language: language.filter(|tag| is_tag(tag)),
        }
    }

    /// The language of the stream to subscribe to: `transcription:…`.
    pub fn transcription_stream(&self) -> &str {
        self.language.as_deref().unwrap_or("auto")
    }

    /// The language to answer in: the chosen one, or else the one that was heard.
    pub fn answer_language(&self, heard: Option<&str>) -> (SpokenLanguage, String) {
        let tag = self.language.as_deref().or(heard).unwrap_or("en");
        (SpokenLanguage::from_tag(tag), primary_subtag(tag))
    }
}

/// A choice of three, which older settings stored as a boolean.
struct SpeechSwitch(SpeechMode);

impl<'de> Deserialize<'de> for SpeechSwitch {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let value = Value::deserialize(deserializer)?;
        match value {
            Value::Bool(on) => Ok(Self(if on { SpeechMode::On } else { SpeechMode::Off })),
            other => SpeechMode::deserialize(other).map(Self).map_err(serde::de::Error::custom),
        }
    }
}

/// Whether a tag has the form `de-DE`, as streams require it.
fn is_tag(tag: &str) -> bool {
    tag.split_once('-').is_some_and(|(language, region)| {
        (2..=3).contains(&language.len())
            && language.bytes().all(|b| b.is_ascii_lowercase())
            && region.len() == 2
            && region.bytes().all(|b| b.is_ascii_uppercase())
    })
}

/// The definitions with which the settings are registered. `usual` is the default retention.
pub fn setting_definitions(usual: HistoryRetention) -> Value {
    let options = |list: &[(&str, &str)]| -> Value {
        list.iter().map(|(value, label)| json!({ "value": value, "label": label })).collect()
    };
    json!([
        { "type": "select", "key": "history", "label": "Keep our conversation", "defaultValue": usual,
          "options": options(&[("off", "Not at all"), ("session", "While it is open"), ("forever", "Until I say forget")]) },
        { "type": "select", "key": "speak", "label": "Speak the answers", "defaultValue": "auto",
          "options": options(&[("auto", "If the glasses can"), ("on", "Always"), ("off", "Never")]) },
        { "type": "select", "key": "language", "label": "Language", "defaultValue": "auto",
          "options": options(&[("auto", "Any"), ("en-US", "English"), ("de-DE", "Deutsch"), ("fr-FR", "Français"),
              ("es-ES", "Español"), ("it-IT", "Italiano"), ("pt-PT", "Português"), ("nl-NL", "Nederlands"),
              ("ja-JP", "日本語"), ("zh-CN", "中文")]) },
    ])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tags_are_checked_before_they_become_streams() {
        for (tag, good) in [
            ("de-DE", true),
            ("fil-PH", true),
            ("auto", false),
            ("de", false),
            ("de-de", false),
            ("x\u{0}-DE", false),
        ] {
            assert_eq!(is_tag(tag), good, "{tag}");
        }
    }

    #[test]
    fn without_choices_the_defaults_apply() {
        let choices = UserChoices::from_settings(&UserSettings::default(), HistoryRetention::Off);
        assert_eq!(choices, UserChoices { keep: HistoryRetention::Off, ..UserChoices::default() });
        assert_eq!(choices.transcription_stream(), "auto");
        assert_eq!(choices.answer_language(Some("fr-FR")), (SpokenLanguage::French, "fr".to_owned()));
        let chosen = UserChoices { language: Some("de-DE".to_owned()), ..choices };
        assert_eq!(
            (chosen.transcription_stream(), chosen.answer_language(Some("en")).0),
            ("de-DE", SpokenLanguage::German)
        );
    }

    #[test]
    fn every_setting_has_a_default_among_its_options() {
        for (usual, named) in [
            (HistoryRetention::Off, "off"),
            (HistoryRetention::Session, "session"),
            (HistoryRetention::Forever, "forever"),
        ] {
            let definitions = setting_definitions(usual);
            // The platform fills in what a user has not chosen, so it has to be what the operator wants.
            assert_eq!(definitions[0]["defaultValue"], named);
            for setting in definitions.as_array().unwrap() {
                let options = setting["options"].as_array().unwrap();
                assert!(options.iter().any(|option| option["value"] == setting["defaultValue"]), "{setting}");
            }
        }
    }

    #[test]
    fn a_toggle_is_understood() {
        let read = |value: Value| serde_json::from_value::<SpeechSwitch>(value).map(|switch| switch.0).ok();
        assert_eq!(
            (read(json!(true)), read(json!("auto")), read(json!(3))),
            (Some(SpeechMode::On), Some(SpeechMode::Auto), None)
        );
    }
}
