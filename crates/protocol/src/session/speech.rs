//! Words that were spoken: as a device hears them, and as apps get them.

use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Number, Value};

use crate::stream::{DEFAULT_LANGUAGE, StreamEvent};

/// `local_transcription`: speech that the device itself has recognised.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct LocalTranscription {
    /// The words.
    pub text: String,
    /// Whether they will not change any more.
    #[serde(default)]
    pub is_final: bool,
    /// `en-US`, also where it is not said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub transcribe_language: Option<String>,
    /// Beginning, in milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub start_time: Option<Number>,
    /// End, in milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub end_time: Option<Number>,
    /// Who spoke.
    #[serde(default, deserialize_with = "read_speaker", skip_serializing_if = "Option::is_none")]
    pub speaker_id: Option<String>,
    /// Who recognised it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub provider: Option<String>,
}

impl LocalTranscription {
    /// The language that was spoken.
    pub fn language(&self) -> &str {
        self.transcribe_language.as_deref().unwrap_or(DEFAULT_LANGUAGE)
    }

    /// The event that subscriptions look at.
    pub fn stream_event(&self) -> StreamEvent {
        StreamEvent::Transcription { language: self.language().to_owned() }
    }
}

/// The `data` of a transcription stream.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Transcription {
    /// Always `transcription`.
    #[serde(rename = "type", default)]
    pub kind: TranscriptionKind,
    /// The words.
    pub text: String,
    /// Whether they will not change any more.
    #[serde(default)]
    pub is_final: bool,
    /// The same from the first guess to the final words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub utterance_id: Option<String>,
    /// `en-US`
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub transcribe_language: Option<String>,
    /// `en`
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub detected_language: Option<String>,
    /// Beginning, in milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub start_time: Option<Number>,
    /// End, in milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub end_time: Option<Number>,
    /// Who spoke.
    #[serde(default, deserialize_with = "read_speaker", skip_serializing_if = "Option::is_none")]
    pub speaker_id: Option<String>,
    /// How long it took, in milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub duration: Option<Number>,
    /// Who recognised it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub provider: Option<String>,
    /// How sure, from 0 to 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub confidence: Option<Number>,
}

/// The one type of [`Transcription`].
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum TranscriptionKind {
    /// The only one.
    #[default]
    #[serde(rename = "transcription", other)]
    Transcription,
}

impl From<&LocalTranscription> for Transcription {
    fn from(heard: &LocalTranscription) -> Self {
        Self {
            kind: TranscriptionKind::Transcription,
            text: heard.text.clone(),
            is_final: heard.is_final,
            utterance_id: None,
            transcribe_language: Some(heard.language().to_owned()),
            detected_language: None,
            start_time: heard.start_time.clone().or_else(|| Some(0.into())),
            end_time: heard.end_time.clone().or_else(|| Some(0.into())),
            speaker_id: heard.speaker_id.clone(),
            duration: None,
            provider: heard.provider.clone(),
            confidence: None,
        }
    }
}

/// Recognisers name speakers by texts or by numbers; words are not lost over that.
fn read_speaker<'de, D: Deserializer<'de>>(from: D) -> Result<Option<String>, D::Error> {
    Ok(match Value::deserialize(from)? {
        Value::String(name) => Some(name),
        Value::Number(number) => Some(number.to_string()),
        Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn apps_get_what_a_device_heard() {
        let heard: LocalTranscription = serde_json::from_str(
            r#"{"type":"local_transcription","text":"what is on my list","isFinal":true}"#,
        )
        .unwrap();
        assert_eq!(heard.stream_event(), StreamEvent::Transcription { language: "en-US".to_owned() });
        assert_eq!(
            serde_json::to_string(&Transcription::from(&heard)).unwrap(),
            r#"{"type":"transcription","text":"what is on my list","isFinal":true,"transcribeLanguage":"en-US","startTime":0,"endTime":0}"#
        );
    }

    #[test]
    fn a_speaker_is_a_text_or_a_number() {
        for (text, speaker) in [("\"1\"", Some("1")), ("1", Some("1")), ("null", None), ("{}", None)] {
            let text = format!(r#"{{"text":"x","speakerId":{text}}}"#);
            assert_eq!(
                serde_json::from_str::<LocalTranscription>(&text).unwrap().speaker_id.as_deref(),
                speaker
            );
        }
    }

    #[test]
    fn reads_what_a_real_cloud_sends() {
        let text = r#"{"type":"transcription","text":"what is on my list","isFinal":true,"utteranceId":"u-17","transcribeLanguage":"en-US","detectedLanguage":"en","startTime":1200,"endTime":2400,"speakerId":"1","duration":1200,"provider":"soniox","confidence":0.93}"#;
        let read: Transcription = serde_json::from_str(text).unwrap();
        assert_eq!(serde_json::to_string(&read).unwrap(), text);
        assert!(serde_json::from_str::<Transcription>(r#"{"text":"x"}"#).is_ok());
    }
}
