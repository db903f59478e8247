//! A server with OpenAI's `/audio/transcriptions`, which makes words of what a device heard.

use std::{sync::Arc, time::Duration};

use async_trait::async_trait;
use serde::Deserialize;
use tokio::{sync::Semaphore, time::timeout};
use toolyard_core::ports::Ids;
use toolyard_sessions::{Heard, SAMPLES_PER_SECOND, Transcriber, Utterance};

use super::{
    languages,
    metrics::SpeechMetrics,
    place::{Place, said},
    seldom::Seldom,
    wav,
};

/// Largest answer in bytes: twenty seconds of speech, with all that servers say about it.
const MAX_ANSWER_BYTES: usize = 256 * 1024;

/// The server.
pub(super) struct WordServer {
    pub(super) place: Place,
    pub(super) model: String,
    pub(super) limit: Duration,
    /// Requests at once.
    pub(super) turns: Semaphore,
    pub(super) ids: Arc<dyn Ids>,
    pub(super) metrics: Arc<SpeechMetrics>,
    pub(super) complaints: Seldom,
}

#[derive(Deserialize)]
struct Answer {
    text: String,
    /// The name of a language or its code, where it was asked for.
    #[serde(default)]
    language: Option<String>,
}

#[async_trait]
impl Transcriber for WordServer {
    async fn transcribe(&self, said: &Utterance, language: Option<&str>) -> Option<Heard> {
        let heard = match timeout(self.limit, self.ask(said, language)).await {
            Ok(heard) => heard,
            Err(_) => Err(format!("no answer within {:?}", self.limit)),
        };
        match heard {
            Ok(heard) if heard.text.trim().is_empty() => {
                self.metrics.not_understood.increment(1);
                None
            }
            Ok(heard) => {
                self.metrics.understood.increment(1);
                Some(heard)
            }
            Err(why) => {
                self.metrics.not_heard.increment(1);
                if let Some(unsaid) = self.complaints.may_speak() {
                    tracing::warn!(why, unsaid, "the transcriber failed; what was said reaches no app");
                }
                None
            }
        }
    }
}

impl WordServer {
    async fn ask(&self, said_by_user: &Utterance, language: Option<&str>) -> Result<Heard, String> {
        let _turn = self.turns.acquire().await.map_err(|error| error.to_string())?;
        let wav = wav::of_samples(&said_by_user.sound, SAMPLES_PER_SECOND);
        let mut form = Form::new(self.ids.secret());
        form.field("model", &self.model);
        match language {
            Some(language) => {
                form.field("language", language.split('-').next().unwrap_or(language));
                form.field("response_format", "json");
            }
            // Only this form says which language it was.
            None => form.field("response_format", "verbose_json"),
        }
        let (media_type, body) = form.with_file(&wav);
        let answer = self.place.post(&media_type, body).await?.bytes(MAX_ANSWER_BYTES).await.map_err(said)?;
        let answer: Answer = serde_json::from_slice(&answer)
            .map_err(|error| format!("its answer is not a transcription: {error}"))?;
        let found = answer.language.as_deref().and_then(languages::code);
        Ok(Heard { text: answer.text, language: found })
    }
}

/// A `multipart/form-data` body. The boundary is a secret of 256 bits, so that nothing in the parts can be it.
struct Form {
    boundary: String,
    body: Vec<u8>,
}

impl Form {
    fn new(boundary: String) -> Self {
        Self { boundary, body: Vec::new() }
    }

    fn field(&mut self, name: &str, value: &str) {
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
        let mut form = Form::new("b".to_owned());
        form.field("model", "whisper-1");
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
