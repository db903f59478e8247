//! From the sound of a device to the words that apps hear, where the server has a transcriber.
//!
//! Sound is looked at only while an app that may hear listens for words, and is never stored. What was said waits in a short
//! queue for the transcriber; a slow one loses the oldest, never the socket's time. Words go the same way to apps as those
//! that a device recognised itself.

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

/// The language of words of which nobody knows the language: apps that want every language hear them, others do not.
const UNKNOWN_LANGUAGE: &str = "und";
/// Who recognised the words, as apps read it.
const PROVIDER: &str = "toolyard";
/// A device that sends no sound for so long is silent.
const SILENCE: Duration = Duration::from_millis(SILENCE_MS);

/// Makes words of sound.
#[async_trait]
pub trait Transcriber: Send + Sync {
    /// What was said; none where nothing was understood, or the transcriber failed, which it logs and counts itself. Ends within
    /// a bound. `language` is what is known to be spoken: `en-US`.
    async fn transcribe(&self, said: &Utterance, language: Option<&str>) -> Option<TranscribedText>;
}

/// Words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TranscribedText {
    /// The words.
    pub text: String,
    /// What language they are in, where the transcriber found out: `en`.
    pub language: Option<String>,
}

/// What one user's device lets us hear.
#[derive(Debug)]
pub(crate) struct SpeechListener {
    voice: VoiceActivity,
    waiting: VecDeque<Utterance>,
    /// Whether a task takes from the queue.
    at_work: bool,
    /// Whether a task waits for the device to fall silent.
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
    /// Another device: what it sends does not go on with what the one before began. What was said to its end still counts.
    pub(crate) fn reset_voice(&mut self) {
        self.voice = VoiceActivity::default();
    }

    /// Nobody listens: what was heard is dropped.
    fn clear(&mut self) {
        self.voice = VoiceActivity::default();
        self.waiting.clear();
    }
}

/// In what languages apps want to hear words.
#[derive(Debug, Default, PartialEq, Eq)]
struct WantedLanguages {
    languages: Vec<String>,
    /// Some want every language.
    every: bool,
}

impl WantedLanguages {
    /// What running apps listen for and may hear; none where there is no such app, or where the device recognises speech
    /// itself.
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

    /// What the transcriber is told: the one language that is wanted, else the one that is spoken here, if anybody said.
    fn language_hint<'a>(&'a self, spoken: Option<&'a str>) -> Option<&'a str> {
        match self.languages.as_slice() {
            [one] if !self.every => Some(one),
            _ => spoken,
        }
    }

    /// The languages under which words go to apps: every wanted variant of what was spoken, the one that was named first.
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
    /// A piece of sound, for whoever wants words of it.
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

    /// Puts what was said into the queue; the oldest gives way.
    fn queue_utterances(
        &self,
        live: &Arc<LiveUser>,
        state: &mut UserState,
        said: impl IntoIterator<Item = Utterance>,
    ) {
        let most = self.parts().settings.utterances;
        for utterance in said {
            if state.listener.waiting.len() >= most {
                state.listener.waiting.pop_front();
                self.count_dropped_utterance();
                tracing::debug!(user = %live.id, "the transcriber is slow; the oldest utterance was dropped");
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

    /// One utterance after the other, in order, until none waits.
    async fn transcribe_queued(&self, live: &Arc<LiveUser>) {
        let Some(transcriber) = &self.parts().transcriber else { return };
        let spoken = self.parts().settings.spoken_language.as_deref();
        while let Some((said, number, wanted)) = next_utterance(live) {
            let hint = wanted.language_hint(spoken);
            let Some(heard) = transcriber.transcribe(&said, hint).await else { continue };
            let text = heard.text.trim();
            if text.is_empty() {
                continue;
            }
            let words = Transcription {
                kind: TranscriptionKind::Transcription,
                text: text.to_owned(),
                is_final: true,
                utterance_id: Some(format!("u-{number}")),
                transcribe_language: None,
                detected_language: heard.language.clone(),
                start_time: Some(said.start_ms.into()),
                end_time: Some(said.end_ms.into()),
                speaker_id: None,
                duration: Some(said.end_ms.saturating_sub(said.start_ms).into()),
                provider: Some(PROVIDER.to_owned()),
                confidence: None,
            };
            let variants = wanted.languages_of(hint, heard.language.as_deref()).into_iter();
            let variants = variants
                .map(|language| Transcription { transcribe_language: Some(language), ..words.clone() });
            self.relay_variants(live, &variants.collect::<Vec<_>>());
        }
    }

    /// A device that is told to be silent sends no silence. One timer a user, while somebody speaks.
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
                    let said = state.listener.voice.finish();
                    sessions.queue_utterances(&live, &mut state, said);
                }
                return;
            }
        });
    }
}

/// The next utterance, its number and who wants it. Whether anybody still does is asked before any sound leaves.
fn next_utterance(live: &Arc<LiveUser>) -> Option<(Utterance, u64, WantedLanguages)> {
    let mut state = live.lock();
    let Some(wanted) = WantedLanguages::from_state(&state) else {
        state.listener.clear();
        state.listener.at_work = false;
        return None;
    };
    let Some(said) = state.listener.waiting.pop_front() else {
        state.listener.at_work = false;
        return None;
    };
    state.listener.utterance_count += 1;
    Some((said, state.listener.utterance_count, wanted))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wanted(languages: &[&str], every: bool) -> WantedLanguages {
        WantedLanguages { languages: languages.iter().map(|one| (*one).to_owned()).collect(), every }
    }

    #[test]
    fn one_language_is_told_to_the_transcriber_and_of_several_it_finds_out() {
        let one = wanted(&["de-DE"], false);
        assert_eq!(one.language_hint(None), Some("de-DE"));
        assert_eq!(one.language_hint(Some("en-US")), Some("de-DE"), "the app asked for it");
        let two = wanted(&["de-DE", "en-US"], false);
        assert_eq!((two.language_hint(None), two.language_hint(Some("en-US"))), (None, Some("en-US")));
        assert_eq!(wanted(&["de-DE"], true).language_hint(None), None);
        assert_eq!(wanted(&[], true).language_hint(Some("fr-FR")), Some("fr-FR"));
    }

    #[test]
    fn words_go_out_under_the_language_that_was_found() {
        let two = wanted(&["de-DE", "en-US"], true);
        assert_eq!(two.languages_of(None, Some("en")), ["en-US"]);
        assert_eq!(two.languages_of(None, Some("DE")), ["de-DE"]);
        assert_eq!(two.languages_of(None, Some("fr")), ["fr"]);
        assert_eq!(two.languages_of(Some("fr-FR"), Some("de")), ["fr-FR"]);
        assert_eq!(
            two.languages_of(None, None),
            ["und"],
            "nobody gets words as if in a language that they may not be in"
        );
    }

    #[test]
    fn words_go_to_every_variant_of_their_language() {
        let three = wanted(&["en-GB", "de-DE", "en-US"], false);
        assert_eq!(three.languages_of(None, Some("en")), ["en-GB", "en-US"]);
        assert_eq!(three.languages_of(Some("en-US"), None), ["en-US", "en-GB"]);
        assert_eq!(three.languages_of(Some("en-AU"), None), ["en-GB", "en-US"]);
    }
}
