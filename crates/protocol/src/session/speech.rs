//! Transcribed speech: as a device sends it, and as apps receive it.

use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Number, Value};

use crate::stream::{DEFAULT_LANGUAGE, StreamEvent};

/// `local_transcription`: speech that the device itself recognized.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct LocalTranscription {
    /// The text.
    pub text: String,
    /// Whether the text is final.
    #[serde(default)]
    pub is_final: bool,
    /// Such as `en-US`, the default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub transcribe_language: Option<String>,
    /// Start, in milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub start_time: Option<Number>,
    /// End, in milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub end_time: Option<Number>,
    /// The speaker.
    #[serde(default, deserialize_with = "read_speaker", skip_serializing_if = "Option::is_none")]
    pub speaker_id: Option<String>,
    /// The speech recognizer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub provider: Option<String>,
}

impl LocalTranscription {
    /// The language that was spoken.
    pub fn language(&self) -> &str {
        self.transcribe_language.as_deref().unwrap_or(DEFAULT_LANGUAGE)
    }

    /// The event that subscriptions match.
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
    /// The text.
    pub text: String,
    /// Whether the text is final.
    #[serde(default)]
    pub is_final: bool,
    /// The same from the first interim result to the final one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub utterance_id: Option<String>,
    /// `en-US`
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub transcribe_language: Option<String>,
    /// `en`
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub detected_language: Option<String>,
    /// Start, in milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub start_time: Option<Number>,
    /// End, in milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub end_time: Option<Number>,
    /// The speaker.
    #[serde(default, deserialize_with = "read_speaker", skip_serializing_if = "Option::is_none")]
    pub speaker_id: Option<String>,
    /// How long it took, in milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub duration: Option<Number>,
    /// The speech recognizer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub provider: Option<String>,
    /// Confidence, from 0 to 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub confidence: Option<Number>,
}

/// The only type of [`Transcription`].
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum TranscriptionKind {
    /// The only value.
    #[default]
    #[serde(rename = "transcription", other)]
    Transcription,
}

impl From<&LocalTranscription> for Transcription {
    fn from(local: &LocalTranscription) -> Self {
        Self {
            kind: TranscriptionKind::Transcription,
            text: local.text.clone(),
            is_final: local.is_final,
            utterance_id: None,
            transcribe_language: Some(local.language().to_owned()),
            detected_language: None,
            start_time: local.start_time.clone().or_else(|| Some(0.into())),
            end_time: local.end_time.clone().or_else(|| Some(0.into())),
            speaker_id: local.speaker_id.clone(),
            duration: None,
            provider: local.provider.clone(),
            confidence: None,
        }
    }
}

/// Speakers are named by strings or numbers; other values are ignored, so that the text is not lost.
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
    fn apps_receive_local_transcriptions() {
        let local: LocalTranscription = serde_json::from_str(
            r#"{"type":"local_transcription","text":"what is on my list","isFinal":true}"#,
        )
        .unwrap();
        assert_eq!(local.stream_event(), StreamEvent::Transcription { language: "en-US".to_owned() });
        assert_eq!(
            serde_json::to_string(&Transcription::from(&local)).unwrap(),
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
