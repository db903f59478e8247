//! Whether something was said to the assistant, and what. Pure: transcripts, presses and the time come in, a verdict comes out.
//!
//! | look for | in |
//! | --- | --- |
//! | the rules, one after the other | [`Listener`] |
//! | wake words | [`wake`] |
//! | stop, yes, no, forget, thank you | [`phrases`] |
//! | text as it is compared | [`normal`] |

pub mod normal;
pub mod phrases;
pub mod wake;

use std::{sync::Arc, time::Duration};

use serde::Deserialize;
use tokio::time::Instant;

use self::{
    phrases::{Meaning, meaning},
    wake::WakeWords,
};

/// How the assistant listens.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Patience {
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

impl Default for Patience {
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
pub struct Heard<'a> {
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
pub enum Verdict {
    /// It was not for the assistant, or nothing follows yet.
    Nothing,
    /// The assistant was addressed and waits for the question.
    Listens,
    /// This was asked.
    Asked(String),
    /// The user wants nothing, or nothing any more.
    Cancelled,
    /// Nothing was asked after all.
    GaveUp,
}

/// Who may speak without a wake word.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Window {
    Closed,
    Until(Instant),
    Open,
}

/// A question that is being asked.
#[derive(Debug)]
struct Question {
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

impl Question {
    fn text(&self) -> String {
        [self.done.trim(), self.current.trim()].join(" ").trim().to_owned()
    }
}

/// Listens for one user.
#[derive(Debug)]
pub struct Listener {
    words: Arc<WakeWords>,
    patience: Patience,
    window: Window,
    /// Whether an answer is under way: then only a wake word or a stop counts.
    is_busy: bool,
    question: Option<Question>,
    /// The utterance that has been dealt with: its further versions are no news.
    spent: Option<String>,
    /// What was asked last, compared by its letters, and when.
    last: Option<(String, Instant)>,
    speaker: Option<String>,
}

impl Listener {
    /// Nobody has said anything yet.
    pub fn new(words: Arc<WakeWords>, patience: Patience) -> Self {
        Self {
            words,
            patience,
            window: Window::Closed,
            is_busy: false,
            question: None,
            spent: None,
            last: None,
            speaker: None,
        }
    }

    /// An answer is under way.
    pub fn busy(&mut self) {
        (self.is_busy, self.window) = (true, Window::Closed);
    }

    /// The answer can be read: whoever goes on asking is meant for us until it is gone. Not while it is spoken, since the
    /// microphone hears that as well.
    pub fn readable(&mut self) {
        (self.is_busy, self.window) = (false, self.if_follow_ups(Window::Open));
    }

    /// The answer is over.
    pub fn answered(&mut self, now: Instant) {
        let until = now + Duration::from_millis(self.patience.follow_up_ms);
        (self.is_busy, self.window) = (false, self.if_follow_ups(Window::Until(until)));
    }

    fn if_follow_ups(&self, window: Window) -> Window {
        if self.patience.follow_up_ms == 0 { Window::Closed } else { window }
    }

    /// The button was pressed: it begins a question, and ends whatever is under way.
    pub fn press(&mut self, now: Instant) -> Verdict {
        if self.is_busy || self.question.is_some() {
            return self.cancel();
        }
        self.speaker = None;
        self.begin(now, None);
        Verdict::Listens
    }

    /// Somebody spoke.
    pub fn hear(&mut self, heard: Heard<'_>, now: Instant) -> Verdict {
        if heard.utterance.is_some() && heard.utterance == self.spent.as_deref() {
            return Verdict::Nothing;
        }
        let verdict = if self.question.is_some() { self.go_on(heard, now) } else { self.notice(heard, now) };
        if heard.is_final && self.question.is_none() {
            self.spent = heard.utterance.map(str::to_owned);
        }
        verdict
    }

    /// Time passed.
    pub fn tick(&mut self, now: Instant) -> Verdict {
        if self.due().is_none_or(|due| now < due) {
            return Verdict::Nothing;
        }
        self.end(now)
    }

    /// When [`Listener::tick`] is to be called.
    pub fn due(&self) -> Option<Instant> {
        let question = self.question.as_ref()?;
        let ms = Duration::from_millis;
        let after = match (question.text().is_empty(), question.is_final) {
            (true, _) => ms(self.patience.wait_ms),
            (false, true) => ms(self.patience.after_final_ms),
            (false, false) => ms(self.patience.silence_ms),
        };
        Some((question.last + after).min(question.begun + ms(self.patience.longest_ms)))
    }

    /// Nothing is being asked: is it now?
    fn notice(&mut self, heard: Heard<'_>, now: Instant) -> Verdict {
        if let Some(after) = self.words.after(heard.text) {
            self.begin(now, heard.speaker);
            return self.take(after.to_owned(), heard, now, true);
        }
        if self.is_busy {
            let stops = heard.is_final
                && self.is_ours(heard.speaker)
                && meaning(heard.text, false) == Some(Meaning::Cancel);
            return if stops { self.cancel() } else { Verdict::Nothing };
        }
        let is_open = match self.window {
            Window::Closed => false,
            Window::Open => true,
            Window::Until(until) => now <= until,
        };
        if !is_open || !self.is_ours(heard.speaker) || normal::Normal::of(heard.text).is_empty() {
            return Verdict::Nothing;
        }
        if heard.is_final && meaning(heard.text, false) == Some(Meaning::Thanks) {
            self.window = Window::Closed;
            return Verdict::Nothing;
        }
        self.begin(now, heard.speaker);
        match self.take(heard.text.to_owned(), heard, now, false) {
            // Only somebody who was waited for is told that they are heard.
            Verdict::Listens => Verdict::Nothing,
            verdict => verdict,
        }
    }

    /// Something is being asked: this belongs to it, or not.
    fn go_on(&mut self, heard: Heard<'_>, now: Instant) -> Verdict {
        let Some(question) = &mut self.question else { return Verdict::Nothing };
        let other = |known: &String| heard.speaker.is_some_and(|speaker| speaker != known);
        if question.speaker.as_ref().is_some_and(other) {
            return Verdict::Nothing;
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
        let text = match self.words.after(heard.text) {
            Some(after) => after.to_owned(),
            None if woken_here && is_final => {
                // The recognizer thought better of it: there was no wake word.
                self.question = None;
                return Verdict::GaveUp;
            }
            None if woken_here => return Verdict::Nothing,
            None => heard.text.to_owned(),
        };
        let woken = woken_here || self.words.after(heard.text).is_some();
        match self.take(text, heard, now, woken) {
            Verdict::Listens => Verdict::Nothing,
            verdict => verdict,
        }
    }

    fn begin(&mut self, now: Instant, speaker: Option<&str>) {
        self.question = Some(Question {
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
    fn take(&mut self, text: String, heard: Heard<'_>, now: Instant, woken_here: bool) -> Verdict {
        let Some(question) = &mut self.question else { return Verdict::Nothing };
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
        let is_empty = question.text().is_empty();
        if heard.is_final && !is_empty && self.patience.after_final_ms == 0 {
            return self.end(now);
        }
        if is_empty { Verdict::Listens } else { Verdict::Nothing }
    }

    /// The question is over.
    fn end(&mut self, now: Instant) -> Verdict {
        let Some(question) = self.question.take() else { return Verdict::Nothing };
        let text: String = question.text().chars().take(normal::MAX_CHARS).collect();
        self.spent = question.utterance.clone();
        let letters = normal::key(&text);
        if letters.is_empty() {
            return Verdict::GaveUp;
        }
        match meaning(&text, false) {
            Some(Meaning::Cancel) => return self.cancel(),
            Some(Meaning::Thanks) => {
                self.window = Window::Closed;
                return Verdict::GaveUp;
            }
            _ => {}
        }
        let echo = Duration::from_millis(self.patience.repeat_ms);
        if self.last.as_ref().is_some_and(|(last, at)| *last == letters && now < *at + echo) {
            return Verdict::Nothing;
        }
        self.last = Some((letters, now));
        self.speaker = question.speaker;
        Verdict::Asked(text)
    }

    fn cancel(&mut self) -> Verdict {
        self.question = None;
        (self.is_busy, self.window) = (false, Window::Closed);
        Verdict::Cancelled
    }

    /// Whether it was said by whoever asked last, as far as that is known.
    pub fn is_ours(&self, speaker: Option<&str>) -> bool {
        match (&self.speaker, speaker) {
            (Some(ours), Some(speaker)) => ours == speaker,
            _ => true,
        }
    }
}

#[cfg(test)]
mod tests;
