//! Speech to text by a server with OpenAI's `/audio/transcriptions`.

use std::{sync::Arc, time::Duration};

use async_trait::async_trait;
use serde::Deserialize;
use tokio::{sync::Semaphore, time::timeout};
use toolyard_core::ports::IdGenerator;
use toolyard_sessions::{SAMPLES_PER_SECOND, TranscribedText, Transcriber, Utterance};

use super::{
    endpoint::{SpeechEndpoint, net_error_text},
    languages,
    metrics::SpeechMetrics,
    warning_throttle::WarningThrottle,
    wav,
};

/// Largest response in bytes: twenty seconds of speech with all details that servers add.
const MAX_RESPONSE_BYTES: usize = 256 * 1024;

/// A transcription server.
pub(super) struct TranscriptionServer {
    pub(super) endpoint: SpeechEndpoint,
    pub(super) model: String,
    pub(super) timeout: Duration,
    /// Limits concurrent requests.
    pub(super) request_slots: Semaphore,
    pub(super) ids: Arc<dyn IdGenerator>,
    pub(super) metrics: Arc<SpeechMetrics>,
    pub(super) failure_log: WarningThrottle,
}

#[derive(Deserialize)]
struct TranscriptionResponse {
    text: String,
    /// The name or code of the detected language, if it was requested.
    #[serde(default)]
    language: Option<String>,
}

#[async_trait]
impl Transcriber for TranscriptionServer {
    async fn transcribe(&self, utterance: &Utterance, language: Option<&str>) -> Option<TranscribedText> {
        let transcribed = match timeout(self.timeout, self.request_transcription(utterance, language)).await {
            Ok(transcribed) => transcribed,
            Err(_) => Err(format!("no response within {:?}", self.timeout)),
        };
        match transcribed {
            Ok(transcribed) if transcribed.text.trim().is_empty() => {
                self.metrics.empty.increment(1);
                None
            }
            Ok(transcribed) => {
                self.metrics.transcribed.increment(1);
                Some(transcribed)
            }
            Err(why) => {
                self.metrics.transcription_failed.increment(1);
                if let Some(suppressed) = self.failure_log.try_warn() {
                    tracing::warn!(error = why, suppressed, "transcription failed; the utterance is lost");
                }
                None
            }
        }
    }
}

impl TranscriptionServer {
    async fn request_transcription(
        &self,
        utterance: &Utterance,
        language: Option<&str>,
    ) -> Result<TranscribedText, String> {
        let _permit = self.request_slots.acquire().await.map_err(|error| error.to_string())?;
        let wav = wav::wav_from_samples(&utterance.sound, SAMPLES_PER_SECOND);
        let mut form = MultipartForm::new(self.ids.new_secret());
        form.add_field("model", &self.model);
        match language {
            Some(language) => {
                form.add_field("language", language.split('-').next().unwrap_or(language));
                form.add_field("response_format", "json");
            }
            // Only this format reports the language.
            None => form.add_field("response_format", "verbose_json"),
        }
        let (media_type, body) = form.with_file(&wav);
        let response = self
            .endpoint
            .post(&media_type, body)
            .await?
            .bytes(MAX_RESPONSE_BYTES)
            .await
            .map_err(net_error_text)?;
        let response: TranscriptionResponse = serde_json::from_slice(&response)
            .map_err(|error| format!("the response is not a transcription: {error}"))?;
        let found = response.language.as_deref().and_then(languages::language_code);
        Ok(TranscribedText { text: response.text, language: found })
    }
}

/// A `multipart/form-data` body. The boundary is 256 random bits, so no part can contain it.
struct MultipartForm {
    boundary: String,
    body: Vec<u8>,
}

impl MultipartForm {
    fn new(boundary: String) -> Self {
        Self { boundary, body: Vec::new() }
    }

    fn add_field(&mut self, name: &str, value: &str) {
        let part = format!(
            "--{}\r\ncontent-disposition: form-data; name=\"{name}\"\r\n\r\n{value}\r\n",
            self.boundary
        );
        self.body.extend_from_slice(part.as_bytes());
    }

    /// The media type and the body, with the audio as its last part.
    fn with_file(mut self, wav: &[u8]) -> (String, Vec<u8>) {
        let head = format!(
            "--{}\r\ncontent-disposition: form-data; name=\"file\"; filename=\"speech.wav\"\r\ncontent-type: audio/wav\r\n\r\n",
            self.boundary
        );
        self.body.extend_from_slice(head.as_bytes());
        self.body.extend_from_slice(wav);
        self.body.extend_from_slice(format!("\r\n--{}--\r\n", self.boundary).as_bytes());
        (format!("multipart/form-data; boundary={}", self.boundary), self.body)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_form_is_written_as_the_standard_says() {
        let mut form = MultipartForm::new("b".to_owned());
        form.add_field("model", "whisper-1");
        let (media_type, body) = form.with_file(b"RIFF");
        assert_eq!(media_type, "multipart/form-data; boundary=b");
        assert_eq!(
            String::from_utf8(body).unwrap(),
            "--b\r\ncontent-disposition: form-data; name=\"model\"\r\n\r\nwhisper-1\r\n\
             --b\r\ncontent-disposition: form-data; name=\"file\"; filename=\"speech.wav\"\r\ncontent-type: audio/wav\r\n\r\n\
             RIFF\r\n--b--\r\n"
        );
    }
}
