//! A server with OpenAI's `/audio/transcriptions`, which makes words of what a device heard.

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

/// Largest answer in bytes: twenty seconds of speech, with all that servers say about it.
const MAX_ANSWER_BYTES: usize = 256 * 1024;

/// The server.
pub(super) struct TranscriptionServer {
    pub(super) endpoint: SpeechEndpoint,
    pub(super) model: String,
    pub(super) timeout: Duration,
    /// Requests at once.
    pub(super) turns: Semaphore,
    pub(super) ids: Arc<dyn IdGenerator>,
    pub(super) metrics: Arc<SpeechMetrics>,
    pub(super) failure_log: WarningThrottle,
}

#[derive(Deserialize)]
struct TranscriptionResponse {
    text: String,
    /// The name of a language or its code, where it was asked for.
    #[serde(default)]
    language: Option<String>,
}

#[async_trait]
impl Transcriber for TranscriptionServer {
    async fn transcribe(&self, said: &Utterance, language: Option<&str>) -> Option<TranscribedText> {
        let heard = match timeout(self.timeout, self.request_transcription(said, language)).await {
            Ok(heard) => heard,
            Err(_) => Err(format!("no answer within {:?}", self.timeout)),
        };
        match heard {
            Ok(heard) if heard.text.trim().is_empty() => {
                self.metrics.empty.increment(1);
                None
            }
            Ok(heard) => {
                self.metrics.transcribed.increment(1);
                Some(heard)
            }
            Err(why) => {
                self.metrics.transcription_failed.increment(1);
                if let Some(unsaid) = self.failure_log.try_warn() {
                    tracing::warn!(why, unsaid, "the transcriber failed; what was said reaches no app");
                }
                None
            }
        }
    }
}

impl TranscriptionServer {
    async fn request_transcription(
        &self,
        said_by_user: &Utterance,
        language: Option<&str>,
    ) -> Result<TranscribedText, String> {
        let _turn = self.turns.acquire().await.map_err(|error| error.to_string())?;
        let wav = wav::wav_from_samples(&said_by_user.sound, SAMPLES_PER_SECOND);
        let mut form = MultipartForm::new(self.ids.new_secret());
        form.add_field("model", &self.model);
        match language {
            Some(language) => {
                form.add_field("language", language.split('-').next().unwrap_or(language));
                form.add_field("response_format", "json");
            }
            // Only this form says which language it was.
            None => form.add_field("response_format", "verbose_json"),
        }
        let (media_type, body) = form.with_file(&wav);
        let answer = self
            .endpoint
            .post(&media_type, body)
            .await?
            .bytes(MAX_ANSWER_BYTES)
            .await
            .map_err(net_error_text)?;
        let answer: TranscriptionResponse = serde_json::from_slice(&answer)
            .map_err(|error| format!("its answer is not a transcription: {error}"))?;
        let found = answer.language.as_deref().and_then(languages::language_code);
        Ok(TranscribedText { text: answer.text, language: found })
    }
}

/// A `multipart/form-data` body. The boundary is a secret of 256 bits, so that nothing in the parts can be it.
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

    /// The media type and the body, with the sound at its end.
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
