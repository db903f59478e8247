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

mod endpoint;
mod espeak;
mod languages;
mod metrics;
mod setup;
mod sound_cache;
mod synthesizer;
mod transcriber;
mod voice_server;
mod warning_throttle;
mod wav;

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use parking_lot::Mutex;
use tokio::{sync::Semaphore, time::timeout};
use toolyard_core::{policy::LocalLimiter, ports::CallRateLimiter as _};
use toolyard_protocol::{ToolName, UserId};
use toolyard_sessions::SpeechLinks;

pub(crate) use self::{
    metrics::SpeechMetrics,
    setup::{SpeechDependencies, open_speech},
    synthesizer::{SpeakError, SpeechAudio, SynthesisJob},
};
use self::{sound_cache::SoundCache, synthesizer::SpeechSynthesizer, warning_throttle::WarningThrottle};
use crate::config::SoundFormat;

/// How a caller wants something said, each part as it came and within its form.
#[derive(Debug, Default)]
pub(crate) struct SpeechRequest<'a> {
    pub(crate) text: &'a str,
    pub(crate) voice_id: Option<&'a str>,
    pub(crate) language: Option<&'a str>,
    pub(crate) format: Option<SoundFormat>,
    pub(crate) speed: Option<u16>,
}

/// Speech on this server.
pub struct SpeechEngine {
    speaker: Option<Box<dyn SpeechSynthesizer>>,
    transcribes: bool,
    /// Signed addresses for devices.
    pub(crate) links: SpeechLinks,
    /// Longest text in characters.
    pub(crate) text_chars: usize,
    voices: BTreeMap<String, String>,
    /// By tag, in small letters.
    languages: BTreeMap<String, String>,
    cache: Mutex<SoundCache>,
    limiter: LocalLimiter,
    /// Under what the limiter counts.
    tool: ToolName,
    /// Who is in: those whose turn it is, and those who wait for it.
    queue_slots: Semaphore,
    synthesis_slots: Arc<Semaphore>,
    timeout: Duration,
    pub(crate) metrics: Arc<SpeechMetrics>,
    failure_log: WarningThrottle,
}

impl SpeechEngine {
    /// Whether `GET /api/tts` makes sound.
    pub fn can_speak(&self) -> bool {
        self.speaker.is_some()
    }

    /// Whether words are made of the sound that devices send.
    pub fn can_transcribe(&self) -> bool {
        self.transcribes
    }

    /// Makes sound of words, or finds it where the same was said lately.
    pub(crate) async fn speak(
        &self,
        who: &UserId,
        wish: &SpeechRequest<'_>,
    ) -> Result<SpeechAudio, SpeakError> {
        let speaker = self.speaker.as_deref().ok_or(SpeakError::NotConfigured)?;
        let words = self.synthesis_job(speaker, wish)?;
        let place = self.lock_cache().slot(words.cache_key());
        if let Some(sound) = place.get() {
            self.metrics.cached.increment(1);
            return Ok(sound.clone());
        }
        self.limiter.check_call(who, &self.tool).map_err(SpeakError::RateLimited)?;
        // Around all of it: who waits for somebody else's making of the same does not wait longer either.
        let making = place.get_or_try_init(|| self.synthesize(speaker, &words));
        let made = timeout(self.timeout, making).await.unwrap_or(Err(SpeakError::TimedOut)).cloned();
        match &made {
            Ok(_) => self.lock_cache().evict(),
            Err(error) => {
                self.metrics.synthesis_failed.increment(1);
                if let SpeakError::Failed(why) = error
                    && let Some(unsaid) = self.failure_log.try_warn()
                {
                    tracing::warn!(why, unsaid, "speech could not be made");
                }
            }
        }
        made
    }

    /// In its turn.
    async fn synthesize(
        &self,
        speaker: &dyn SpeechSynthesizer,
        words: &SynthesisJob,
    ) -> Result<SpeechAudio, SpeakError> {
        let _room = self.queue_slots.try_acquire().map_err(|_| SpeakError::Busy)?;
        let turn = self.synthesis_slots.clone().acquire_owned().await.map_err(|_| SpeakError::Busy)?;
        let sound = speaker.synthesize(words, turn).await?;
        self.metrics.synthesized.increment(1);
        Ok(sound)
    }

    /// From what a caller wishes to what the speaker understands. Voices are the operator's words, never the caller's.
    fn synthesis_job(
        &self,
        speaker: &dyn SpeechSynthesizer,
        wish: &SpeechRequest<'_>,
    ) -> Result<SynthesisJob, SpeakError> {
        let format = wish.format.unwrap_or_else(|| speaker.default_format());
        if !speaker.supports_format(format) {
            return Err(SpeakError::Format(speaker.default_format()));
        }
        let named = wish.voice_id.and_then(|id| self.voices.get(id));
        let by_language = || wish.language.and_then(|language| self.configured_voice(language));
        let (voice, guessed) = match named.or_else(by_language) {
            Some(voice) => (voice.clone(), None),
            None => match wish.language.and_then(|tag| Some((tag, speaker.voice_for(tag)?))) {
                Some((tag, voice)) => (voice, Some(tag.to_owned())),
                None => (speaker.default_voice().to_owned(), None),
            },
        };
        Ok(SynthesisJob {
            text: wish.text.to_owned(),
            voice,
            format,
            speed: wish.speed.unwrap_or(100),
            guessed_from: guessed,
        })
    }

    /// The operator's voice for a language: for the whole tag, else for the language in it.
    fn configured_voice(&self, language: &str) -> Option<&String> {
        let tag = language.to_ascii_lowercase();
        let whole = self.languages.get(&tag);
        whole.or_else(|| tag.split_once('-').and_then(|(language, _)| self.languages.get(language)))
    }

    /// Forgets whoever did not speak lately.
    pub(crate) fn forget_idle(&self) {
        self.limiter.evict_idle();
    }

    fn lock_cache(&self) -> parking_lot::MutexGuard<'_, SoundCache> {
        self.cache.lock()
    }
}

/// Whether a text is the tag of a language: `de`, `de-DE`.
pub(crate) fn is_language_tag(text: &str) -> bool {
    languages::is_language_tag(text)
}
