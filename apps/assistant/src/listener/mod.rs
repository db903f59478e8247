//! Decides whether speech is a question to the assistant. Pure: it gets transcripts, button presses and the time, and returns a
//! decision.
//!
//! | look for | in |
//! | --- | --- |
//! | the rules, one after the other | [`QuestionListener`] |
//! | wake words | [`wake`] |
//! | stop, forget, thank you | [`phrases`] |
//! | normalized text for comparison | [`normalized`] |

pub mod normalized;
pub mod phrases;
pub mod wake;

use std::{sync::Arc, time::Duration};

use serde::Deserialize;
use tokio::time::Instant;

use self::{
    phrases::{PhraseMeaning, phrase_meaning},
    wake::WakeWords,
};

/// How the assistant listens.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ListeningSettings {
    /// How long after an answer a question needs no wake word. 0 means never.
    pub follow_up_ms: u64,
    /// A question ends after this time without new words, if they are not final.
    pub silence_ms: u64,
    /// A question ends after this time without new words, if they are final. 0 means at once.
    pub after_final_ms: u64,
    /// How long to wait for a question after a wake word or a button press.
    pub wait_ms: u64,
    /// Longest duration of a question.
    pub longest_ms: u64,
    /// The same question within this time is ignored as an echo of the recognizer.
    pub repeat_ms: u64,
}

impl Default for ListeningSettings {
    fn default() -> Self {
        Self {
            follow_up_ms: 8_000,
            silence_ms: 1_500,
            after_final_ms: 0,
            wait_ms: 10_000,
            longest_ms: 15_000,
            repeat_ms: 10_000,
        }
    }
}

/// A transcript of the recognizer: the words of an utterance so far.
#[derive(Debug, Clone, Copy, Default)]
pub struct SpeechPiece<'a> {
    /// All words of the utterance so far.
    pub text: &'a str,
    /// Whether they will not change any more.
    pub is_final: bool,
    /// The id of the utterance, if the recognizer gives one.
    pub utterance: Option<&'a str>,
    /// The id of the speaker, if the recognizer gives one.
    pub speaker: Option<&'a str>,
}

/// What to do after speech, a button press or a timeout.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ListenerDecision {
    /// Nothing: the speech was not for the assistant, or is not complete.
    Nothing,
    /// Show that the assistant waits for the question.
    Listening,
    /// Answer this question.
    Question(String),
    /// Cancel the running answer or question.
    Cancelled,
    /// Stop listening: no question was asked.
    GaveUp,
}

/// When a question needs no wake word.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum FollowUpWindow {
    Closed,
    Until(Instant),
    Open,
}

/// A question that is being asked.
#[derive(Debug)]
struct SpokenQuestion {
    begun: Instant,
    last: Instant,
    speaker: Option<String>,
    /// Words of finished utterances.
    done: String,
    /// Words of the current utterance.
    current: String,
    utterance: Option<String>,
    /// Whether the wake word is in the current utterance, so that the recognizer may still revise it.
    woken_here: bool,
    is_final: bool,
}

impl SpokenQuestion {
    fn full_text(&self) -> String {
        [self.done.trim(), self.current.trim()].join(" ").trim().to_owned()
    }
}

/// Listens to one user.
#[derive(Debug)]
pub struct QuestionListener {
    words: Arc<WakeWords>,
    patience: ListeningSettings,
    window: FollowUpWindow,
    /// Whether an answer is running: then only a wake word or a stop phrase counts.
    is_busy: bool,
    question: Option<SpokenQuestion>,
    /// The utterance that was handled last; its later versions are ignored.
    spent: Option<String>,
    /// The last question, normalized, and its time.
    last: Option<(String, Instant)>,
    speaker: Option<String>,
}

impl QuestionListener {
    /// A listener that has heard nothing yet.
    pub fn new(words: Arc<WakeWords>, patience: ListeningSettings) -> Self {
        Self {
            words,
            patience,
            window: FollowUpWindow::Closed,
            is_busy: false,
            question: None,
            spent: None,
            last: None,
            speaker: None,
        }
    }

    /// An answer has started.
    pub fn answer_started(&mut self) {
        (self.is_busy, self.window) = (true, FollowUpWindow::Closed);
    }

    /// The answer is shown. Follow-up questions need no wake word until it is over. Not called while the answer is spoken,
    /// because the microphone picks that up.
    pub fn answer_readable(&mut self) {
        (self.is_busy, self.window) = (false, self.if_follow_ups(FollowUpWindow::Open));
    }

    /// The answer is over.
    pub fn answer_ended(&mut self, now: Instant) {
        let until = now + Duration::from_millis(self.patience.follow_up_ms);
        (self.is_busy, self.window) = (false, self.if_follow_ups(FollowUpWindow::Until(until)));
    }

    fn if_follow_ups(&self, window: FollowUpWindow) -> FollowUpWindow {
        if self.patience.follow_up_ms == 0 { FollowUpWindow::Closed } else { window }
    }

    /// The button was pressed. It starts a question, or cancels the running question or answer.
    pub fn on_press(&mut self, now: Instant) -> ListenerDecision {
        if self.is_busy || self.question.is_some() {
            return self.cancel();
        }
        self.speaker = None;
        self.begin_question(now, None);
        ListenerDecision::Listening
    }

    /// Handles a transcript.
    pub fn on_speech(&mut self, heard: SpeechPiece<'_>, now: Instant) -> ListenerDecision {
        if heard.utterance.is_some() && heard.utterance == self.spent.as_deref() {
            return ListenerDecision::Nothing;
        }
        let decision = if self.question.is_some() {
            self.continue_question(heard, now)
        } else {
            self.detect_question(heard, now)
        };
        if heard.is_final && self.question.is_none() {
            self.spent = heard.utterance.map(str::to_owned);
        }
        decision
    }

    /// Drops the question that is being asked: the speech was for something else.
    pub fn drop_question(&mut self, utterance: Option<&str>) {
        self.question = None;
        self.spent = utterance.map(str::to_owned);
    }

    /// Handles the passing of time.
    pub fn tick(&mut self, now: Instant) -> ListenerDecision {
        if self.next_tick().is_none_or(|due| now < due) {
            return ListenerDecision::Nothing;
        }
        self.end_question(now)
    }

    /// When [`QuestionListener::tick`] must be called.
    pub fn next_tick(&self) -> Option<Instant> {
        let question = self.question.as_ref()?;
        let ms = Duration::from_millis;
        let after = match (question.full_text().is_empty(), question.is_final) {
            (true, _) => ms(self.patience.wait_ms),
            (false, true) => ms(self.patience.after_final_ms),
            (false, false) => ms(self.patience.silence_ms),
        };
        Some((question.last + after).min(question.begun + ms(self.patience.longest_ms)))
    }

    /// Checks whether speech starts a question.
    fn detect_question(&mut self, heard: SpeechPiece<'_>, now: Instant) -> ListenerDecision {
        if let Some(after) = self.words.text_after(heard.text) {
            self.begin_question(now, heard.speaker);
            return self.update_question(after.to_owned(), heard, now, true);
        }
        if self.is_busy {
            let stops = heard.is_final
                && self.is_same_speaker(heard.speaker)
                && phrase_meaning(heard.text) == Some(PhraseMeaning::Cancel);
            return if stops { self.cancel() } else { ListenerDecision::Nothing };
        }
        let is_open = match self.window {
            FollowUpWindow::Closed => false,
            FollowUpWindow::Open => true,
            FollowUpWindow::Until(until) => now <= until,
        };
        if !is_open
            || !self.is_same_speaker(heard.speaker)
            || normalized::NormalizedText::new(heard.text).is_empty()
        {
            return ListenerDecision::Nothing;
        }
        if heard.is_final && phrase_meaning(heard.text) == Some(PhraseMeaning::Thanks) {
            self.window = FollowUpWindow::Closed;
            return ListenerDecision::Nothing;
        }
        self.begin_question(now, heard.speaker);
        match self.update_question(heard.text.to_owned(), heard, now, false) {
            // "Listening" is shown only after a wake word or a button press.
            ListenerDecision::Listening => ListenerDecision::Nothing,
            decision => decision,
        }
    }

    /// Adds speech to the current question, if it belongs to it.
    fn continue_question(&mut self, heard: SpeechPiece<'_>, now: Instant) -> ListenerDecision {
        let Some(question) = &mut self.question else { return ListenerDecision::Nothing };
        let other = |known: &String| heard.speaker.is_some_and(|speaker| speaker != known);
        if question.speaker.as_ref().is_some_and(other) {
            return ListenerDecision::Nothing;
        }
        let is_same = match (&question.utterance, heard.utterance) {
            (Some(before), Some(now)) => before == now,
            // Recognizers without utterance ids start a new utterance after final words.
            _ => !question.is_final,
        };
        if !is_same {
            let words = std::mem::take(&mut question.current);
            question.done = [question.done.trim(), words.trim()].join(" ").trim().to_owned();
            question.woken_here = false;
        }
        let (woken_here, is_final) = (question.woken_here && is_same, heard.is_final);
        let text = match self.words.text_after(heard.text) {
            Some(after) => after.to_owned(),
            None if woken_here && is_final => {
                // The recognizer revised its transcript: there was no wake word.
                self.question = None;
                return ListenerDecision::GaveUp;
            }
            None if woken_here => return ListenerDecision::Nothing,
            None => heard.text.to_owned(),
        };
        let woken = woken_here || self.words.text_after(heard.text).is_some();
        match self.update_question(text, heard, now, woken) {
            ListenerDecision::Listening => ListenerDecision::Nothing,
            decision => decision,
        }
    }

    fn begin_question(&mut self, now: Instant, speaker: Option<&str>) {
        self.question = Some(SpokenQuestion {
            begun: now,
            last: now,
            speaker: speaker.map(str::to_owned),
            done: String::new(),
            current: String::new(),
            utterance: None,
            woken_here: false,
            is_final: false,
        });
    }

    /// Sets the words of the current utterance.
    fn update_question(
        &mut self,
        text: String,
        heard: SpeechPiece<'_>,
        now: Instant,
        woken_here: bool,
    ) -> ListenerDecision {
        let Some(question) = &mut self.question else { return ListenerDecision::Nothing };
        if question.current != text || heard.is_final {
            question.last = now;
        }
        question.current = text;
        question.utterance = heard.utterance.map(str::to_owned);
        question.is_final = heard.is_final;
        question.woken_here = woken_here;
        if question.speaker.is_none() {
            question.speaker = heard.speaker.map(str::to_owned);
        }
        let is_empty = question.full_text().is_empty();
        if heard.is_final && !is_empty && self.patience.after_final_ms == 0 {
            return self.end_question(now);
        }
        if is_empty { ListenerDecision::Listening } else { ListenerDecision::Nothing }
    }

    /// Ends the question.
    fn end_question(&mut self, now: Instant) -> ListenerDecision {
        let Some(question) = self.question.take() else { return ListenerDecision::Nothing };
        let text: String = question.full_text().chars().take(normalized::MAX_CHARS).collect();
        self.spent = question.utterance.clone();
        let letters = normalized::comparison_key(&text);
        if letters.is_empty() {
            return ListenerDecision::GaveUp;
        }
        match phrase_meaning(&text) {
            Some(PhraseMeaning::Cancel) => return self.cancel(),
            Some(PhraseMeaning::Thanks) => {
                self.window = FollowUpWindow::Closed;
                return ListenerDecision::GaveUp;
            }
            _ => {}
        }
        let echo = Duration::from_millis(self.patience.repeat_ms);
        if self.last.as_ref().is_some_and(|(last, at)| *last == letters && now < *at + echo) {
            return ListenerDecision::Nothing;
        }
        self.last = Some((letters, now));
        self.speaker = question.speaker;
        ListenerDecision::Question(text)
    }

    fn cancel(&mut self) -> ListenerDecision {
        self.question = None;
        (self.is_busy, self.window) = (false, FollowUpWindow::Closed);
        ListenerDecision::Cancelled
    }

    /// Whether the speaker is the one who asked last, as far as known.
    pub fn is_same_speaker(&self, speaker: Option<&str>) -> bool {
        match (&self.speaker, speaker) {
            (Some(ours), Some(speaker)) => ours == speaker,
            _ => true,
        }
    }
}

#[cfg(test)]
mod tests;
