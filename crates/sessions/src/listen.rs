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
    user::{Live, User},
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
    async fn transcribe(&self, said: &Utterance, language: Option<&str>) -> Option<Heard>;
}

/// Words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Heard {
    /// The words.
    pub text: String,
    /// What language they are in, where the transcriber found out: `en`.
    pub language: Option<String>,
}

/// What one user's device lets us hear.
#[derive(Debug)]
pub(crate) struct Ear {
    voice: VoiceActivity,
    waiting: VecDeque<Utterance>,
    /// Whether a task takes from the queue.
    at_work: bool,
    /// Whether a task waits for the device to fall silent.
    timed: bool,
    last_sound: Instant,
    said: u64,
}

impl Default for Ear {
    fn default() -> Self {
        Self {
            voice: VoiceActivity::default(),
            waiting: VecDeque::new(),
            at_work: false,
            timed: false,
            last_sound: Instant::now(),
            said: 0,
        }
    }
}

impl Ear {
    /// Another device: what it sends does not go on with what the one before began. What was said to its end still counts.
    pub(crate) fn begin_anew(&mut self) {
        self.voice = VoiceActivity::default();
    }

    /// Nobody listens: what was heard is dropped.
    fn forget(&mut self) {
        self.voice = VoiceActivity::default();
        self.waiting.clear();
    }
}

/// In what languages apps want to hear words.
#[derive(Debug, Default, PartialEq, Eq)]
struct Wanted {
    languages: Vec<String>,
    /// Some want every language.
    every: bool,
}

impl Wanted {
    /// What running apps listen for and may hear; none where there is no such app, or where the device recognises speech
    /// itself.
    fn of(state: &Live) -> Option<Self> {
        if state.device.as_ref().is_some_and(|device| device.transcribes) {
            return None;
        }
        let mut wanted = Self::default();
        let hears = state.apps.values().filter(|run| run.outbox().is_some());
        for run in hears.filter(|run| run.may_hear(&StreamKind::Transcription)) {
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
    fn hint<'a>(&'a self, spoken: Option<&'a str>) -> Option<&'a str> {
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
    pub(crate) fn listen(&self, live: &Arc<User>, sound: &[u8]) {
        if self.parts().transcriber.is_none() {
            return;
        }
        let mut state = live.lock();
        if Wanted::of(&state).is_none() {
            return state.ear.forget();
        }
        state.ear.last_sound = Instant::now();
        let ended = state.ear.voice.hear(sound);
        self.transcribe(live, &mut state, ended);
        self.await_silence(live, &mut state);
    }

    /// Puts what was said into the queue; the oldest gives way.
    fn transcribe(&self, live: &Arc<User>, state: &mut Live, said: impl IntoIterator<Item = Utterance>) {
        let most = self.parts().settings.utterances;
        for utterance in said {
            if state.ear.waiting.len() >= most {
                state.ear.waiting.pop_front();
                self.utterance_dropped();
                tracing::debug!(user = %live.id, "the transcriber is slow; the oldest utterance was dropped");
            }
            state.ear.waiting.push_back(utterance);
        }
        if state.ear.at_work || state.ear.waiting.is_empty() {
            return;
        }
        state.ear.at_work = true;
        let (sessions, live) = (self.clone(), live.clone());
        self.parts().tasks.spawn(async move {
            let stopping = sessions.parts().stopping.clone();
            stopping.run_until_cancelled(sessions.work(&live)).await;
        });
    }

    /// One utterance after the other, in order, until none waits.
    async fn work(&self, live: &Arc<User>) {
        let Some(transcriber) = &self.parts().transcriber else { return };
        let spoken = self.parts().settings.spoken_language.as_deref();
        while let Some((said, number, wanted)) = next(live) {
            let hint = wanted.hint(spoken);
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
    fn await_silence(&self, live: &Arc<User>, state: &mut Live) {
        if state.ear.timed || !state.ear.voice.is_speaking() {
            return;
        }
        state.ear.timed = true;
        let mut due = state.ear.last_sound + SILENCE;
        let (sessions, live) = (self.clone(), live.clone());
        self.parts().tasks.spawn(async move {
            loop {
                tokio::select! {
                    () = sleep_until(due) => {}
                    () = sessions.parts().stopping.cancelled() => return,
                }
                let mut state = live.lock();
                due = state.ear.last_sound + SILENCE;
                let (speaking, silent) = (state.ear.voice.is_speaking(), due <= Instant::now());
                if speaking && !silent {
                    continue;
                }
                state.ear.timed = false;
                if speaking {
                    let said = state.ear.voice.finish();
                    sessions.transcribe(&live, &mut state, said);
                }
                return;
            }
        });
    }
}

/// The next utterance, its number and who wants it. Whether anybody still does is asked before any sound leaves.
fn next(live: &Arc<User>) -> Option<(Utterance, u64, Wanted)> {
    let mut state = live.lock();
    let Some(wanted) = Wanted::of(&state) else {
        state.ear.forget();
        state.ear.at_work = false;
        return None;
    };
    let Some(said) = state.ear.waiting.pop_front() else {
        state.ear.at_work = false;
        return None;
    };
    state.ear.said += 1;
    Some((said, state.ear.said, wanted))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wanted(languages: &[&str], every: bool) -> Wanted {
        Wanted { languages: languages.iter().map(|one| (*one).to_owned()).collect(), every }
    }

    #[test]
    fn one_language_is_told_to_the_transcriber_and_of_several_it_finds_out() {
        let one = wanted(&["de-DE"], false);
        assert_eq!(one.hint(None), Some("de-DE"));
        assert_eq!(one.hint(Some("en-US")), Some("de-DE"), "the app asked for it");
        let two = wanted(&["de-DE", "en-US"], false);
        assert_eq!((two.hint(None), two.hint(Some("en-US"))), (None, Some("en-US")));
        assert_eq!(wanted(&["de-DE"], true).hint(None), None);
        assert_eq!(wanted(&[], true).hint(Some("fr-FR")), Some("fr-FR"));
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
