//! Text to speech, and speech to text, by configured programs and servers.
//!
//! | look for | in |
//! | --- | --- |
//! | the setup from the configuration | `setup` |
//! | text to speech | `synthesizer`, `espeak`, `voice_server` |
//! | speech to text | `transcriber` |
//! | the cache of audio | `sound_cache` |
//! | the door | `rest::tts` |
//!
//! The crate `sessions` detects speech in the audio of a device, and decides which apps may hear it.

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

/// A caller's request for speech. Each member is validated in its form only.
#[derive(Debug, Default)]
pub(crate) struct SpeechRequest<'a> {
    pub(crate) text: &'a str,
    pub(crate) voice_id: Option<&'a str>,
    pub(crate) language: Option<&'a str>,
    pub(crate) format: Option<SoundFormat>,
    pub(crate) speed: Option<u16>,
}

/// Text to speech of this server, with its cache and limits.
pub struct SpeechEngine {
    synthesizer: Option<Box<dyn SpeechSynthesizer>>,
    transcribes: bool,
    /// Signed URLs for devices.
    pub(crate) links: SpeechLinks,
    /// Longest text in characters.
    pub(crate) text_chars: usize,
    voices: BTreeMap<String, String>,
    /// Voices by language tag in lower case.
    languages: BTreeMap<String, String>,
    cache: SoundCache,
    limiter: LocalLimiter,
    /// The name under which the limiter counts.
    tool: ToolName,
    /// Requests in progress and requests that wait.
    queue_slots: Semaphore,
    synthesis_slots: Arc<Semaphore>,
    timeout: Duration,
    pub(crate) metrics: Arc<SpeechMetrics>,
    failure_log: WarningThrottle,
}

impl SpeechEngine {
    /// Whether `GET /api/tts` is available.
    pub fn can_speak(&self) -> bool {
        self.synthesizer.is_some()
    }

    /// Whether the audio of devices is transcribed.
    pub fn can_transcribe(&self) -> bool {
        self.transcribes
    }

    /// Synthesizes speech, or returns it from the cache.
    pub(crate) async fn speak(
        &self,
        who: &UserId,
        request: &SpeechRequest<'_>,
    ) -> Result<SpeechAudio, SpeakError> {
        let synthesizer = self.synthesizer.as_deref().ok_or(SpeakError::NotConfigured)?;
        let job = self.synthesis_job(synthesizer, request)?;
        let key = job.cache_key();
        let slot = self.cache.slot(key);
        if let Some(sound) = slot.get() {
            self.metrics.cached.increment(1);
            return Ok(sound.clone());
        }
        self.limiter.check_call(who, &self.tool).await.map_err(SpeakError::RateLimited)?;
        // The timeout also covers a wait for another request that synthesizes the same.
        let synthesis = slot.get_or_try_init(|| self.synthesize(synthesizer, &job));
        let result = timeout(self.timeout, synthesis).await.unwrap_or(Err(SpeakError::TimedOut)).cloned();
        match &result {
            Ok(_) => self.cache.store(key, slot.clone()),
            Err(error) => {
                self.metrics.synthesis_failed.increment(1);
                if let SpeakError::Failed(why) = error
                    && let Some(suppressed) = self.failure_log.try_warn()
                {
                    tracing::warn!(error = why, suppressed, "speech synthesis failed");
                }
            }
        }
        result
    }

    /// Waits for a slot and synthesizes.
    async fn synthesize(
        &self,
        synthesizer: &dyn SpeechSynthesizer,
        job: &SynthesisJob,
    ) -> Result<SpeechAudio, SpeakError> {
        let _queue_slot = self.queue_slots.try_acquire().map_err(|_| SpeakError::Busy)?;
        let permit = self.synthesis_slots.clone().acquire_owned().await.map_err(|_| SpeakError::Busy)?;
        let sound = synthesizer.synthesize(job, permit).await?;
        self.metrics.synthesized.increment(1);
        Ok(sound)
    }

    /// Resolves a request into a job. Voices are always names of the operator, never of the caller.
    fn synthesis_job(
        &self,
        synthesizer: &dyn SpeechSynthesizer,
        request: &SpeechRequest<'_>,
    ) -> Result<SynthesisJob, SpeakError> {
        let format = request.format.unwrap_or_else(|| synthesizer.default_format());
        if !synthesizer.supports_format(format) {
            return Err(SpeakError::Format(synthesizer.default_format()));
        }
        let named = request.voice_id.and_then(|id| self.voices.get(id));
        let by_language = || request.language.and_then(|language| self.configured_voice(language));
        let (voice, guessed_from) = match named.or_else(by_language) {
            Some(voice) => (voice.clone(), None),
            None => match request.language.and_then(|tag| Some((tag, synthesizer.voice_for(tag)?))) {
                Some((tag, voice)) => (voice, Some(tag.to_owned())),
                None => (synthesizer.default_voice().to_owned(), None),
            },
        };
        Ok(SynthesisJob {
            text: request.text.to_owned(),
            voice,
            format,
            speed: request.speed.unwrap_or(100),
            guessed_from,
        })
    }

    /// The configured voice for a language tag, or for its language without the region.
    fn configured_voice(&self, language: &str) -> Option<&String> {
        let tag = language.to_ascii_lowercase();
        let whole = self.languages.get(&tag);
        whole.or_else(|| tag.split_once('-').and_then(|(language, _)| self.languages.get(language)))
    }

    /// Removes rate limits of idle users.
    pub(crate) fn forget_idle(&self) {
        self.limiter.evict_idle();
    }
}

/// Whether a text is a language tag: `de`, `de-DE`.
pub(crate) fn is_language_tag(text: &str) -> bool {
    languages::is_language_tag(text)
}
