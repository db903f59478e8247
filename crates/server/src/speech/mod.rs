//! Words to sound, and sound to words, by whoever the operator named.
//!
//! | look for | in |
//! | --- | --- |
//! | what is set up from the configuration | `setup` |
//! | whoever makes sound of words | `speaker`, `espeak`, `voice_server` |
//! | whoever makes words of sound | `transcriber` |
//! | sounds that are kept for a while | `shelf` |
//! | the door | `rest::tts` |
//!
//! Where in a stream of sound somebody speaks, and who may hear it, is decided in the crate `sessions`.

mod espeak;
mod languages;
mod metrics;
mod place;
mod seldom;
mod setup;
mod shelf;
mod speaker;
mod transcriber;
mod voice_server;
mod wav;

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use tokio::{sync::Semaphore, time::timeout};
use toolyard_core::{policy::LocalLimiter, ports::Limiter as _};
use toolyard_protocol::{ToolName, UserId};
use toolyard_sessions::SpeechLinks;

pub(crate) use self::{
    metrics::SpeechMetrics,
    setup::{Around, open},
    speaker::{Sound, SpeakError, Words},
};
use self::{seldom::Seldom, shelf::Shelf, speaker::Speaker};
use crate::config::SoundFormat;

/// How a caller wants something said, each part as it came and within its form.
#[derive(Debug, Default)]
pub(crate) struct Wish<'a> {
    pub(crate) text: &'a str,
    pub(crate) voice_id: Option<&'a str>,
    pub(crate) language: Option<&'a str>,
    pub(crate) format: Option<SoundFormat>,
    pub(crate) speed: Option<u16>,
}

/// Speech on this server.
pub struct Speech {
    speaker: Option<Box<dyn Speaker>>,
    transcribes: bool,
    /// Signed addresses for devices.
    pub(crate) links: SpeechLinks,
    /// Longest text in characters.
    pub(crate) text_chars: usize,
    voices: BTreeMap<String, String>,
    /// By tag, in small letters.
    languages: BTreeMap<String, String>,
    shelf: Mutex<Shelf>,
    limiter: LocalLimiter,
    /// Under what the limiter counts.
    tool: ToolName,
    /// Who is in: those whose turn it is, and those who wait for it.
    rooms: Semaphore,
    turns: Arc<Semaphore>,
    limit: Duration,
    pub(crate) metrics: Arc<SpeechMetrics>,
    complaints: Seldom,
}

impl Speech {
    /// Whether `GET /api/tts` makes sound.
    pub fn can_speak(&self) -> bool {
        self.speaker.is_some()
    }

    /// Whether words are made of the sound that devices send.
    pub fn can_transcribe(&self) -> bool {
        self.transcribes
    }

    /// Makes sound of words, or finds it where the same was said lately.
    pub(crate) async fn speak(&self, who: &UserId, wish: &Wish<'_>) -> Result<Sound, SpeakError> {
        let speaker = self.speaker.as_deref().ok_or(SpeakError::NotConfigured)?;
        let words = self.words(speaker, wish)?;
        let place = self.shelf().place(words.key());
        if let Some(sound) = place.get() {
            self.metrics.kept.increment(1);
            return Ok(sound.clone());
        }
        self.limiter.check(who, &self.tool).map_err(SpeakError::TooOften)?;
        // Around all of it: who waits for somebody else's making of the same does not wait longer either.
        let making = place.get_or_try_init(|| self.make(speaker, &words));
        let made = timeout(self.limit, making).await.unwrap_or(Err(SpeakError::Late)).cloned();
        match &made {
            Ok(_) => self.shelf().tidy(),
            Err(error) => {
                self.metrics.not_made.increment(1);
                if let SpeakError::Failed(why) = error
                    && let Some(unsaid) = self.complaints.may_speak()
                {
                    tracing::warn!(why, unsaid, "speech could not be made");
                }
            }
        }
        made
    }

    /// In its turn.
    async fn make(&self, speaker: &dyn Speaker, words: &Words) -> Result<Sound, SpeakError> {
        let _room = self.rooms.try_acquire().map_err(|_| SpeakError::Busy)?;
        let turn = self.turns.clone().acquire_owned().await.map_err(|_| SpeakError::Busy)?;
        let sound = speaker.speak(words, turn).await?;
        self.metrics.made.increment(1);
        Ok(sound)
    }

    /// From what a caller wishes to what the speaker understands. Voices are the operator's words, never the caller's.
    fn words(&self, speaker: &dyn Speaker, wish: &Wish<'_>) -> Result<Words, SpeakError> {
        let format = wish.format.unwrap_or_else(|| speaker.format());
        if !speaker.makes(format) {
            return Err(SpeakError::Format(speaker.format()));
        }
        let named = wish.voice_id.and_then(|id| self.voices.get(id));
        let by_language = || wish.language.and_then(|language| self.voice_of(language));
        let (voice, guessed) = match named.or_else(by_language) {
            Some(voice) => (voice.clone(), None),
            None => match wish.language.and_then(|tag| Some((tag, speaker.voice_for(tag)?))) {
                Some((tag, voice)) => (voice, Some(tag.to_owned())),
                None => (speaker.voice().to_owned(), None),
            },
        };
        Ok(Words { text: wish.text.to_owned(), voice, format, speed: wish.speed.unwrap_or(100), guessed })
    }

    /// The operator's voice for a language: for the whole tag, else for the language in it.
    fn voice_of(&self, language: &str) -> Option<&String> {
        let tag = language.to_ascii_lowercase();
        let whole = self.languages.get(&tag);
        whole.or_else(|| tag.split_once('-').and_then(|(language, _)| self.languages.get(language)))
    }

    /// Forgets whoever did not speak lately.
    pub(crate) fn tidy(&self) {
        self.limiter.forget_idle();
    }

    fn shelf(&self) -> std::sync::MutexGuard<'_, Shelf> {
        self.shelf.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Whether a text is the tag of a language: `de`, `de-DE`.
pub(crate) fn is_language(text: &str) -> bool {
    languages::is_tag(text)
}
