//! From a device's audio to transcriptions for apps, if the server has a transcriber.
//!
//! Audio is processed only while an app that may receive transcriptions subscribes to them, and is never stored.
//! Utterances wait in a short queue for the transcriber. If it is slow the oldest are dropped; the socket never waits.
//! Apps receive the text in the same way as text that a device recognised itself.

use std::{collections::VecDeque, sync::Arc, time::Duration};

use async_trait::async_trait;
use tokio::time::{Instant, sleep_until};
use toolyard_protocol::{
    session::speech::{Transcription, TranscriptionKind},
    stream::StreamKind,
};

use crate::{
    sessions::Sessions,
    user::{LiveUser, UserState},
    voice::{SILENCE_MS, Utterance, VoiceActivity},
};

/// The language code for text of unknown language: only apps that subscribe to all languages receive it.
const UNKNOWN_LANGUAGE: &str = "und";
/// The provider name that apps see.
const PROVIDER: &str = "toolyard";
/// A device that sends no audio for this long is silent.
const SILENCE: Duration = Duration::from_millis(SILENCE_MS);

/// Converts speech to text.
#[async_trait]
pub trait Transcriber: Send + Sync {
    /// Transcribes an utterance. None if nothing was understood, or if the transcriber failed, which it logs and counts
    /// itself. Must be bounded in time. `language` is the expected language, if known: `en-US`.
    async fn transcribe(&self, utterance: &Utterance, language: Option<&str>) -> Option<TranscribedText>;
}

/// Recognised text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TranscribedText {
    /// The text.
    pub text: String,
    /// Its language, if the transcriber detected it: `en`.
    pub language: Option<String>,
}

/// The speech recognition state of one user.
#[derive(Debug)]
pub(crate) struct SpeechListener {
    voice: VoiceActivity,
    waiting: VecDeque<Utterance>,
    /// Whether a task works on the queue.
    at_work: bool,
    /// Whether a task waits for silence.
    timed: bool,
    last_sound: Instant,
    utterance_count: u64,
}

impl Default for SpeechListener {
    fn default() -> Self {
        Self {
            voice: VoiceActivity::default(),
            waiting: VecDeque::new(),
            at_work: false,
            timed: false,
            last_sound: Instant::now(),
            utterance_count: 0,
        }
    }
}

impl SpeechListener {
    /// Called for a new device: its audio does not continue what the previous one started. Complete utterances are
    /// kept.
    pub(crate) fn reset_voice(&mut self) {
        self.voice = VoiceActivity::default();
    }

    /// Drops all audio, because no app listens.
    fn clear(&mut self) {
        self.voice = VoiceActivity::default();
        self.waiting.clear();
    }
}

/// The languages that apps subscribe to.
#[derive(Debug, Default, PartialEq, Eq)]
struct WantedLanguages {
    languages: Vec<String>,
    /// Whether an app subscribes to all languages.
    every: bool,
}

impl WantedLanguages {
    /// The languages that running apps subscribe to and may receive. None if there is no such app, or if the device
    /// recognises speech itself.
    fn from_state(state: &UserState) -> Option<Self> {
        if state.device.as_ref().is_some_and(|device| device.transcribes) {
            return None;
        }
        let mut wanted = Self::default();
        let hears = state.apps.values().filter(|run| run.outbox().is_some());
        for run in hears.filter(|run| run.can_receive(&StreamKind::Transcription)) {
            let words = |kind: &StreamKind| matches!(kind, StreamKind::Transcription | StreamKind::All);
            for subscription in run.subscriptions.iter().filter(|one| words(one.kind())) {
                match subscription.language() {
                    None => wanted.every = true,
                    Some(language) if wanted.languages.iter().any(|known| known == language) => {}
                    Some(language) => wanted.languages.push(language.to_owned()),
                }
            }
        }
        (wanted.every || !wanted.languages.is_empty()).then_some(wanted)
    }

    /// The language hint for the transcriber: the only requested language, otherwise the configured one, if any.
    fn language_hint<'a>(&'a self, spoken: Option<&'a str>) -> Option<&'a str> {
        match self.languages.as_slice() {
            [one] if !self.every => Some(one),
            _ => spoken,
        }
    }

    /// The languages under which a text is sent to apps: every requested variant of the spoken language, an exact match
    /// first.
    fn languages_of(&self, hint: Option<&str>, found: Option<&str>) -> Vec<String> {
        let primary = |language: &str| language.split('-').next().unwrap_or_default().to_ascii_lowercase();
        let Some(spoken) = hint.or(found) else { return vec![UNKNOWN_LANGUAGE.to_owned()] };
        let mut same: Vec<String> =
            self.languages.iter().filter(|wanted| primary(wanted) == primary(spoken)).cloned().collect();
        if same.is_empty() {
            return vec![spoken.to_owned()];
        }
        same.sort_by_key(|wanted| wanted != spoken);
        same
    }
}

impl Sessions {
    /// Processes a chunk of audio, if an app wants transcriptions.
    pub(crate) fn process_audio(&self, live: &Arc<LiveUser>, sound: &[u8]) {
        if self.parts().transcriber.is_none() {
            return;
        }
        let mut state = live.lock();
        if WantedLanguages::from_state(&state).is_none() {
            return state.listener.clear();
        }
        state.listener.last_sound = Instant::now();
        let ended = state.listener.voice.push_audio(sound);
        self.queue_utterances(live, &mut state, ended);
        self.await_silence(live, &mut state);
    }

    /// Queues utterances for transcription; the oldest are dropped if there are too many.
    fn queue_utterances(
        &self,
        live: &Arc<LiveUser>,
        state: &mut UserState,
        utterances: impl IntoIterator<Item = Utterance>,
    ) {
        let most = self.parts().settings.utterances;
        for utterance in utterances {
            if state.listener.waiting.len() >= most {
                state.listener.waiting.pop_front();
                self.count_dropped_utterance();
                tracing::debug!(user = %live.id, "utterance dropped: transcriber too slow");
            }
            state.listener.waiting.push_back(utterance);
        }
        if state.listener.at_work || state.listener.waiting.is_empty() {
            return;
        }
        state.listener.at_work = true;
        let (sessions, live) = (self.clone(), live.clone());
        self.parts().tasks.spawn(async move {
            let stopping = sessions.parts().stopping.clone();
            stopping.run_until_cancelled(sessions.transcribe_queued(&live)).await;
        });
    }

    /// Transcribes queued utterances in order until the queue is empty.
    async fn transcribe_queued(&self, live: &Arc<LiveUser>) {
        let Some(transcriber) = &self.parts().transcriber else { return };
        let spoken = self.parts().settings.spoken_language.as_deref();
        while let Some((utterance, number, wanted)) = next_utterance(live) {
            let hint = wanted.language_hint(spoken);
            let Some(recognised) = transcriber.transcribe(&utterance, hint).await else { continue };
            let text = recognised.text.trim();
            if text.is_empty() {
                continue;
            }
            let words = Transcription {
                kind: TranscriptionKind::Transcription,
                text: text.to_owned(),
                is_final: true,
                utterance_id: Some(format!("u-{number}")),
                transcribe_language: None,
                detected_language: recognised.language.clone(),
                start_time: Some(utterance.start_ms.into()),
                end_time: Some(utterance.end_ms.into()),
                speaker_id: None,
                duration: Some(utterance.end_ms.saturating_sub(utterance.start_ms).into()),
                provider: Some(PROVIDER.to_owned()),
                confidence: None,
            };
            let variants = wanted.languages_of(hint, recognised.language.as_deref()).into_iter();
            let variants = variants
                .map(|language| Transcription { transcribe_language: Some(language), ..words.clone() });
            self.relay_variants(live, &variants.collect::<Vec<_>>());
        }
    }

    /// Detects silence for devices that stop sending audio. One timer for each user, while the user speaks.
    fn await_silence(&self, live: &Arc<LiveUser>, state: &mut UserState) {
        if state.listener.timed || !state.listener.voice.is_speaking() {
            return;
        }
        state.listener.timed = true;
        let mut due = state.listener.last_sound + SILENCE;
        let (sessions, live) = (self.clone(), live.clone());
        self.parts().tasks.spawn(async move {
            loop {
                tokio::select! {
                    () = sleep_until(due) => {}
                    () = sessions.parts().stopping.cancelled() => return,
                }
                let mut state = live.lock();
                due = state.listener.last_sound + SILENCE;
                let (speaking, silent) = (state.listener.voice.is_speaking(), due <= Instant::now());
                if speaking && !silent {
                    continue;
                }
                state.listener.timed = false;
                if speaking {
                    let utterance = state.listener.voice.finish();
                    sessions.queue_utterances(&live, &mut state, utterance);
                }
                return;
            }
        });
    }
}

/// The next utterance, its number and the requested languages. Checks first that an app still wants it, before any
/// audio leaves the server.
fn next_utterance(live: &Arc<LiveUser>) -> Option<(Utterance, u64, WantedLanguages)> {
    let mut state = live.lock();
    let Some(wanted) = WantedLanguages::from_state(&state) else {
        state.listener.clear();
        state.listener.at_work = false;
        return None;
    };
    let Some(utterance) = state.listener.waiting.pop_front() else {
        state.listener.at_work = false;
        return None;
    };
    state.listener.utterance_count += 1;
    Some((utterance, state.listener.utterance_count, wanted))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wanted(languages: &[&str], every: bool) -> WantedLanguages {
        WantedLanguages { languages: languages.iter().map(|one| (*one).to_owned()).collect(), every }
    }

    #[test]
    fn one_requested_language_is_the_hint_and_several_are_detected() {
        let one = wanted(&["de-DE"], false);
        assert_eq!(one.language_hint(None), Some("de-DE"));
        assert_eq!(one.language_hint(Some("en-US")), Some("de-DE"), "the app asked for it");
        let two = wanted(&["de-DE", "en-US"], false);
        assert_eq!((two.language_hint(None), two.language_hint(Some("en-US"))), (None, Some("en-US")));
        assert_eq!(wanted(&["de-DE"], true).language_hint(None), None);
        assert_eq!(wanted(&[], true).language_hint(Some("fr-FR")), Some("fr-FR"));
    }

    #[test]
    fn text_is_sent_under_the_detected_language() {
        let two = wanted(&["de-DE", "en-US"], true);
        assert_eq!(two.languages_of(None, Some("en")), ["en-US"]);
        assert_eq!(two.languages_of(None, Some("DE")), ["de-DE"]);
        assert_eq!(two.languages_of(None, Some("fr")), ["fr"]);
        assert_eq!(two.languages_of(Some("fr-FR"), Some("de")), ["fr-FR"]);
        assert_eq!(
            two.languages_of(None, None),
            ["und"],
            "text is never sent under a language that it may not be in"
        );
    }

    #[test]
    fn text_is_sent_to_every_variant_of_its_language() {
        let three = wanted(&["en-GB", "de-DE", "en-US"], false);
        assert_eq!(three.languages_of(None, Some("en")), ["en-GB", "en-US"]);
        assert_eq!(three.languages_of(Some("en-US"), None), ["en-US", "en-GB"]);
        assert_eq!(three.languages_of(Some("en-AU"), None), ["en-GB", "en-US"]);
    }
}
