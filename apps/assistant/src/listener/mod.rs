//! Whether something was said to the assistant, and what. Pure: transcripts, presses and the time come in, a verdict comes out.
//!
//! | look for | in |
//! | --- | --- |
//! | the rules, one after the other | [`QuestionListener`] |
//! | wake words | [`wake`] |
//! | stop, yes, no, forget, thank you | [`phrases`] |
//! | text as it is compared | [`normal`] |

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
    /// After an answer, this long a question needs no wake word. 0 is never.
    pub follow_up_ms: u64,
    /// Words that are not final end a question after so long without new ones.
    pub silence_ms: u64,
    /// Final words end a question after so long without new ones. 0 is at once.
    pub after_final_ms: u64,
    /// After a wake word or a press alone, so long is waited for a question.
    pub wait_ms: u64,
    /// Longest question.
    pub longest_ms: u64,
    /// The same question within this time is an echo of the recognizer.
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

/// A piece of speech, as a recognizer gives it: the words of an utterance so far.
#[derive(Debug, Clone, Copy, Default)]
pub struct SpeechPiece<'a> {
    /// All words of the utterance so far.
    pub text: &'a str,
    /// Whether they will not change any more.
    pub is_final: bool,
    /// Which utterance, where the recognizer says so.
    pub utterance: Option<&'a str>,
    /// Who spoke, where the recognizer says so.
    pub speaker: Option<&'a str>,
}

/// What follows from what was heard.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ListenerDecision {
    /// It was not for the assistant, or nothing follows yet.
    Nothing,
    /// The assistant was addressed and waits for the question.
    Listening,
    /// This was asked.
    Question(String),
    /// The user wants nothing, or nothing any more.
    Cancelled,
    /// Nothing was asked after all.
    GaveUp,
}

/// Who may speak without a wake word.
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
    /// Words of utterances that are over.
    done: String,
    /// Words of the one that is not.
    current: String,
    utterance: Option<String>,
    /// Whether the wake word stands in the current utterance, and so can be taken back.
    woken_here: bool,
    is_final: bool,
}

impl SpokenQuestion {
    fn full_text(&self) -> String {
        [self.done.trim(), self.current.trim()].join(" ").trim().to_owned()
    }
}

/// Listens for one user.
#[derive(Debug)]
pub struct QuestionListener {
    words: Arc<WakeWords>,
    patience: ListeningSettings,
    window: FollowUpWindow,
    /// Whether an answer is under way: then only a wake word or a stop counts.
    is_busy: bool,
    question: Option<SpokenQuestion>,
    /// The utterance that has been dealt with: its further versions are no news.
    spent: Option<String>,
    /// What was asked last, compared by its letters, and when.
    last: Option<(String, Instant)>,
    speaker: Option<String>,
}

impl QuestionListener {
    /// Nobody has said anything yet.
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

    /// An answer is under way.
    pub fn answer_started(&mut self) {
        (self.is_busy, self.window) = (true, FollowUpWindow::Closed);
    }

    /// The answer can be read: whoever goes on asking is meant for us until it is gone. Not while it is spoken, since the
    /// microphone hears that as well.
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

    /// The button was pressed: it begins a question, and ends whatever is under way.
    pub fn on_press(&mut self, now: Instant) -> ListenerDecision {
        if self.is_busy || self.question.is_some() {
            return self.cancel();
        }
        self.speaker = None;
        self.begin_question(now, None);
        ListenerDecision::Listening
    }

    /// Somebody spoke.
    pub fn on_speech(&mut self, heard: SpeechPiece<'_>, now: Instant) -> ListenerDecision {
        if heard.utterance.is_some() && heard.utterance == self.spent.as_deref() {
            return ListenerDecision::Nothing;
        }
        let verdict = if self.question.is_some() {
            self.continue_question(heard, now)
        } else {
            self.detect_question(heard, now)
        };
        if heard.is_final && self.question.is_none() {
            self.spent = heard.utterance.map(str::to_owned);
        }
        verdict
    }

    /// Time passed.
    pub fn tick(&mut self, now: Instant) -> ListenerDecision {
        if self.next_tick().is_none_or(|due| now < due) {
            return ListenerDecision::Nothing;
        }
        self.end_question(now)
    }

    /// When [`QuestionListener::tick`] is to be called.
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

    /// Nothing is being asked: is it now?
    fn detect_question(&mut self, heard: SpeechPiece<'_>, now: Instant) -> ListenerDecision {
        if let Some(after) = self.words.text_after(heard.text) {
            self.begin_question(now, heard.speaker);
            return self.update_question(after.to_owned(), heard, now, true);
        }
        if self.is_busy {
            let stops = heard.is_final
                && self.is_same_speaker(heard.speaker)
                && phrase_meaning(heard.text, false) == Some(PhraseMeaning::Cancel);
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
        if heard.is_final && phrase_meaning(heard.text, false) == Some(PhraseMeaning::Thanks) {
            self.window = FollowUpWindow::Closed;
            return ListenerDecision::Nothing;
        }
        self.begin_question(now, heard.speaker);
        match self.update_question(heard.text.to_owned(), heard, now, false) {
            // Only somebody who was waited for is told that they are heard.
            ListenerDecision::Listening => ListenerDecision::Nothing,
            verdict => verdict,
        }
    }

    /// Something is being asked: this belongs to it, or not.
    fn continue_question(&mut self, heard: SpeechPiece<'_>, now: Instant) -> ListenerDecision {
        let Some(question) = &mut self.question else { return ListenerDecision::Nothing };
        let other = |known: &String| heard.speaker.is_some_and(|speaker| speaker != known);
        if question.speaker.as_ref().is_some_and(other) {
            return ListenerDecision::Nothing;
        }
        let is_same = match (&question.utterance, heard.utterance) {
            (Some(before), Some(now)) => before == now,
            // Recognizers that name no utterances begin a new one after final words.
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
                // The recognizer thought better of it: there was no wake word.
                self.question = None;
                return ListenerDecision::GaveUp;
            }
            None if woken_here => return ListenerDecision::Nothing,
            None => heard.text.to_owned(),
        };
        let woken = woken_here || self.words.text_after(heard.text).is_some();
        match self.update_question(text, heard, now, woken) {
            ListenerDecision::Listening => ListenerDecision::Nothing,
            verdict => verdict,
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

    /// The words of the current utterance are these.
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

    /// The question is over.
    fn end_question(&mut self, now: Instant) -> ListenerDecision {
        let Some(question) = self.question.take() else { return ListenerDecision::Nothing };
        let text: String = question.full_text().chars().take(normalized::MAX_CHARS).collect();
        self.spent = question.utterance.clone();
        let letters = normalized::comparison_key(&text);
        if letters.is_empty() {
            return ListenerDecision::GaveUp;
        }
        match phrase_meaning(&text, false) {
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

    /// Whether it was said by whoever asked last, as far as that is known.
    pub fn is_same_speaker(&self, speaker: Option<&str>) -> bool {
        match (&self.speaker, speaker) {
            (Some(ours), Some(speaker)) => ours == speaker,
            _ => true,
        }
    }
}

#[cfg(test)]
mod tests;
