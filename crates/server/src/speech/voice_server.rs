//! Text to speech by a server with OpenAI's `/audio/speech`.

use async_trait::async_trait;
use serde::Serialize;
use tokio::sync::OwnedSemaphorePermit;
use toolyard_net::NetError;

use super::{
    endpoint::{SpeechEndpoint, net_error_text},
    synthesizer::{SpeakError, SpeechAudio, SpeechSynthesizer, SynthesisJob},
};
use crate::config::SoundFormat;

/// The default voice.
pub(super) const VOICE: &str = "alloy";

/// A speech server.
pub(super) struct VoiceServer {
    pub(super) endpoint: SpeechEndpoint,
    pub(super) model: String,
    pub(super) voice: String,
    pub(super) format: SoundFormat,
    /// Largest audio in bytes.
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

    /// Its voices speak all of its languages.
    fn voice_for(&self, _: &str) -> Option<String> {
        None
    }

    async fn synthesize(
        &self,
        job: &SynthesisJob,
        _permit: OwnedSemaphorePermit,
    ) -> Result<SpeechAudio, SpeakError> {
        let body = SpeechApiBody {
            model: &self.model,
            input: &job.text,
            voice: &job.voice,
            response_format: job.format.as_str(),
            // Not every server supports it.
            speed: (job.speed != 100).then_some(f32::from(job.speed) / 100.0),
        };
        let body = serde_json::to_vec(&body).map_err(|error| SpeakError::Failed(error.to_string()))?;
        let response = self.endpoint.post("application/json", body).await.map_err(SpeakError::Failed)?;
        let bytes = response.bytes(self.max_bytes).await.map_err(|error| match error {
            NetError::TooLarge { limit } => SpeakError::TooLong(limit),
            error => SpeakError::Failed(net_error_text(error)),
        })?;
        if bytes.is_empty() {
            return Err(SpeakError::Failed("the response has no audio".to_owned()));
        }
        // Not the server's content type: what this origin sends to a browser must never be a web page.
        Ok(SpeechAudio { media_type: job.format.media_type(), bytes })
    }
}
