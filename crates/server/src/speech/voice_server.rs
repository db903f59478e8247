//! A server with OpenAI's `/audio/speech`.

use async_trait::async_trait;
use serde::Serialize;
use tokio::sync::OwnedSemaphorePermit;
use toolyard_net::NetError;

use super::{
    endpoint::{SpeechEndpoint, net_error_text},
    synthesizer::{SpeakError, SpeechAudio, SpeechSynthesizer, SynthesisJob},
};
use crate::config::SoundFormat;

/// The voice where nothing says otherwise.
pub(super) const VOICE: &str = "alloy";

/// The server.
pub(super) struct VoiceServer {
    pub(super) endpoint: SpeechEndpoint,
    pub(super) model: String,
    pub(super) voice: String,
    pub(super) format: SoundFormat,
    /// Largest sound in bytes.
    pub(super) max_bytes: usize,
}

#[derive(Serialize)]
struct SpeechApiBody<'a> {
    model: &'a str,
    input: &'a str,
    voice: &'a str,
    response_format: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    speed: Option<f32>,
}

#[async_trait]
impl SpeechSynthesizer for VoiceServer {
    fn default_format(&self) -> SoundFormat {
        self.format
    }

    fn supports_format(&self, _: SoundFormat) -> bool {
        true
    }

    fn default_voice(&self) -> &str {
        &self.voice
    }

    /// Its voices speak every language that it knows.
    fn voice_for(&self, _: &str) -> Option<String> {
        None
    }

    async fn synthesize(
        &self,
        words: &SynthesisJob,
        _turn: OwnedSemaphorePermit,
    ) -> Result<SpeechAudio, SpeakError> {
        let order = SpeechApiBody {
            model: &self.model,
            input: &words.text,
            voice: &words.voice,
            response_format: words.format.as_str(),
            // Not every server knows it.
            speed: (words.speed != 100).then_some(f32::from(words.speed) / 100.0),
        };
        let order = serde_json::to_vec(&order).map_err(|error| SpeakError::Failed(error.to_string()))?;
        let response = self.endpoint.post("application/json", order).await.map_err(SpeakError::Failed)?;
        let bytes = response.bytes(self.max_bytes).await.map_err(|error| match error {
            NetError::TooLarge { limit } => SpeakError::TooLong(limit),
            error => SpeakError::Failed(net_error_text(error)),
        })?;
        if bytes.is_empty() {
            return Err(SpeakError::Failed("the answer has no sound in it".to_owned()));
        }
        // Ours, not the server's word for it: what a browser gets from this origin must never be a page.
        Ok(SpeechAudio { media_type: words.format.media_type(), bytes })
    }
}
