//! The port for text to speech.

use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use sha2::{Digest as _, Sha256};
use tokio::sync::OwnedSemaphorePermit;

use super::sound_cache::SoundKey;
use crate::config::SoundFormat;

/// A text to synthesize, and how. Only the text comes unchanged from the caller.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SynthesisJob {
    pub(crate) text: String,
    /// The voice, as the synthesizer names it.
    pub(crate) voice: String,
    pub(crate) format: SoundFormat,
    /// In percent of the normal speed.
    pub(crate) speed: u16,
    /// The language from which the voice was guessed, if no voice is configured for it.
    pub(crate) guessed_from: Option<String>,
}

impl SynthesisJob {
    /// The key under which the audio is cached.
    pub(super) fn cache_key(&self) -> SoundKey {
        let mut digest = Sha256::new();
        for part in [&self.text, &self.voice, self.format.as_str()] {
            digest.update((part.len() as u64).to_be_bytes());
            digest.update(part);
        }
        digest.update(self.speed.to_be_bytes());
        digest.finalize().into()
    }
}

/// Audio that can be played.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SpeechAudio {
    pub(crate) media_type: &'static str,
    pub(crate) bytes: Bytes,
}

/// Why no audio was produced.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum SpeakError {
    #[error(
        "this server cannot speak: install espeak-ng on it, or set speech.url to a server with OpenAI's /audio/speech"
    )]
    NotConfigured,
    #[error("only {} is supported here", .0.as_str())]
    Format(SoundFormat),
    #[error(
        "speech in `{0}` is not supported here; the operator can set a voice for it under speech.languages"
    )]
    Language(String),
    #[error("the audio is larger than {0} bytes; send a shorter text")]
    TooLong(usize),
    #[error("too many speech requests; try again later")]
    RateLimited(Duration),
    #[error("too many speech requests in progress; try again in a moment")]
    Busy,
    #[error("speech synthesis timed out")]
    TimedOut,
    #[error("speech synthesis failed; see the server log")]
    Failed(String),
}

/// Synthesizes speech.
#[async_trait]
pub(crate) trait SpeechSynthesizer: Send + Sync {
    /// The format if the caller requests none.
    fn default_format(&self) -> SoundFormat;

    /// Whether it can produce a format.
    fn supports_format(&self, format: SoundFormat) -> bool;

    /// The default voice.
    fn default_voice(&self) -> &str;

    /// A voice for a language without a configured one, if it can be derived from the tag.
    fn voice_for(&self, language: &str) -> Option<String>;

    /// Synthesizes a job. Dropping the future cancels it; `permit` is released when everything that it started has ended.
    async fn synthesize(
        &self,
        job: &SynthesisJob,
        permit: OwnedSemaphorePermit,
    ) -> Result<SpeechAudio, SpeakError>;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everything_that_makes_a_sound_is_in_its_key() {
        let job = SynthesisJob {
            text: "ab".into(),
            voice: "c".into(),
            format: SoundFormat::Wav,
            speed: 100,
            guessed_from: None,
        };
        let others = [
            SynthesisJob { text: "a".into(), voice: "bc".into(), ..job.clone() },
            SynthesisJob { format: SoundFormat::Mp3, ..job.clone() },
            SynthesisJob { speed: 101, ..job.clone() },
        ];
        assert!(others.iter().all(|other| other.cache_key() != job.cache_key()));
        assert_eq!(
            SynthesisJob { guessed_from: Some("de".into()), ..job.clone() }.cache_key(),
            job.cache_key()
        );
    }
}
