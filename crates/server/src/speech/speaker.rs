//! The port: whoever makes sound of words.

use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use sha2::{Digest as _, Sha256};
use tokio::sync::OwnedSemaphorePermit;

use super::shelf::Key;
use crate::config::SoundFormat;

/// What shall be said, and how. Nothing in it but the text comes from a caller as it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Words {
    pub(crate) text: String,
    /// The voice, in the words of the speaker.
    pub(crate) voice: String,
    pub(crate) format: SoundFormat,
    /// In percent of the usual speed.
    pub(crate) speed: u16,
    /// The language that the voice was made up from, where no voice is known for it.
    pub(crate) guessed: Option<String>,
}

impl Words {
    /// The same for the same sound, and only for that.
    pub(super) fn key(&self) -> Key {
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
pub(crate) struct Sound {
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
    TooOften(Duration),
    #[error("too many speak at once; try again in a moment")]
    Busy,
    #[error("the speech was not ready in time")]
    Late,
    #[error("the speech could not be made; the server's log says more")]
    Failed(String),
}

/// Makes sound of words.
#[async_trait]
pub(crate) trait Speaker: Send + Sync {
    /// What it makes, where the caller does not say.
    fn format(&self) -> SoundFormat;

    /// Whether it can make that.
    fn makes(&self, format: SoundFormat) -> bool;

    /// The voice where nothing says otherwise.
    fn voice(&self) -> &str;

    /// The voice for a language for which nobody has named one, where it can be told from its tag.
    fn voice_for(&self, language: &str) -> Option<String>;

    /// Speaks. Dropping the future ends all that it started; `turn` is given back when nothing of that is left.
    async fn speak(&self, words: &Words, turn: OwnedSemaphorePermit) -> Result<Sound, SpeakError>;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everything_that_makes_a_sound_is_in_its_key() {
        let words = Words {
            text: "ab".into(),
            voice: "c".into(),
            format: SoundFormat::Wav,
            speed: 100,
            guessed: None,
        };
        let others = [
            Words { text: "a".into(), voice: "bc".into(), ..words.clone() },
            Words { format: SoundFormat::Mp3, ..words.clone() },
            Words { speed: 101, ..words.clone() },
        ];
        assert!(others.iter().all(|other| other.key() != words.key()));
        assert_eq!(Words { guessed: Some("de".into()), ..words.clone() }.key(), words.key());
    }
}
