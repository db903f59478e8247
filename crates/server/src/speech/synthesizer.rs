//! The port: whoever makes sound of words.

use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use sha2::{Digest as _, Sha256};
use tokio::sync::OwnedSemaphorePermit;

use super::sound_cache::SoundKey;
use crate::config::SoundFormat;

/// What shall be said, and how. Nothing in it but the text comes from a caller as it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SynthesisJob {
    pub(crate) text: String,
    /// The voice, in the words of the speaker.
    pub(crate) voice: String,
    pub(crate) format: SoundFormat,
    /// In percent of the usual speed.
    pub(crate) speed: u16,
    /// The language that the voice was made up from, where no voice is known for it.
    pub(crate) guessed_from: Option<String>,
}

impl SynthesisJob {
    /// The same for the same sound, and only for that.
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

/// Sound, ready to be played.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SpeechAudio {
    pub(crate) media_type: &'static str,
    pub(crate) bytes: Bytes,
}

/// Why there is no sound.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum SpeakError {
    #[error(
        "this server cannot speak: install espeak-ng on it, or set speech.url to a server with OpenAI's /audio/speech"
    )]
    NotConfigured,
    #[error("only {} can be made here", .0.as_str())]
    Format(SoundFormat),
    #[error(
        "speech in `{0}` cannot be made here; the operator can name a voice for it under speech.languages"
    )]
    Language(String),
    #[error("the speech is longer than {0} bytes; say less at once")]
    TooLong(usize),
    #[error("too much is said in a short time; try again later")]
    RateLimited(Duration),
    #[error("too many speak at once; try again in a moment")]
    Busy,
    #[error("the speech was not ready in time")]
    TimedOut,
    #[error("the speech could not be made; the server's log says more")]
    Failed(String),
}

/// Makes sound of words.
#[async_trait]
pub(crate) trait SpeechSynthesizer: Send + Sync {
    /// What it makes, where the caller does not say.
    fn default_format(&self) -> SoundFormat;

    /// Whether it can make that.
    fn supports_format(&self, format: SoundFormat) -> bool;

    /// The voice where nothing says otherwise.
    fn default_voice(&self) -> &str;

    /// The voice for a language for which nobody has named one, where it can be told from its tag.
    fn voice_for(&self, language: &str) -> Option<String>;

    /// Speaks. Dropping the future ends all that it started; `turn` is given back when nothing of that is left.
    async fn synthesize(
        &self,
        words: &SynthesisJob,
        turn: OwnedSemaphorePermit,
    ) -> Result<SpeechAudio, SpeakError>;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everything_that_makes_a_sound_is_in_its_key() {
        let words = SynthesisJob {
            text: "ab".into(),
            voice: "c".into(),
            format: SoundFormat::Wav,
            speed: 100,
            guessed_from: None,
        };
        let others = [
            SynthesisJob { text: "a".into(), voice: "bc".into(), ..words.clone() },
            SynthesisJob { format: SoundFormat::Mp3, ..words.clone() },
            SynthesisJob { speed: 101, ..words.clone() },
        ];
        assert!(others.iter().all(|other| other.cache_key() != words.cache_key()));
        assert_eq!(
            SynthesisJob { guessed_from: Some("de".into()), ..words.clone() }.cache_key(),
            words.cache_key()
        );
    }
}
