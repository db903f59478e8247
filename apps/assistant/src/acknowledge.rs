//! Says that it takes longer, before the user wonders. Pure: the time comes in, a sentence comes out.

use std::time::Duration;

use tokio::time::Instant;

use crate::localization::{LocalizedMessage, SpokenLanguage};

/// What was said so far to a user who waits.
#[derive(Debug)]
pub struct DelayNotice {
    after: Duration,
    /// How soon a sentence is shown again, before the display drops it.
    again: Duration,
    due: Option<Instant>,
    app: Option<String>,
    /// How often something was said; only the first time is worth speaking.
    said_count: usize,
    /// Whether the user has words to read or hear, and so nothing to wonder about.
    is_over: bool,
}

impl DelayNotice {
    /// Something was asked now. A sentence that was said is said `again` as long as there are no words.
    pub fn new(after: Duration, again: Duration, now: Instant) -> Self {
        Self { after, again, due: Some(now + after), app: None, said_count: 0, is_over: false }
    }

    /// An app is asked now.
    pub fn app_called(&mut self, app: &str, now: Instant) {
        if self.is_over || self.app.as_deref() == Some(app) {
            return;
        }
        self.app = Some(app.to_owned());
        // Whoever waits for the first word already does not wait longer because of this.
        let due = now + self.after;
        self.due = Some(self.due.map_or(due, |before| before.min(due)));
    }

    /// The user reads or hears something: there is nothing more to say.
    pub fn answer_started(&mut self) {
        (self.due, self.is_over) = (None, true);
    }

    /// The app has answered; the model thinks on.
    pub fn app_answered(&mut self) {
        self.app = None;
    }

    /// Something else is being said: not now.
    pub fn postpone(&mut self, now: Instant) {
        self.due = Some(now + self.again);
    }

    /// When something is to be said.
    pub fn next_due(&self) -> Option<Instant> {
        self.due
    }

    /// What is to be said now, and whether it is the first time.
    pub fn next_sentence(&mut self, language: SpokenLanguage, now: Instant) -> (String, bool) {
        self.due = Some(now + self.again);
        self.said_count += 1;
        let sentence = match &self.app {
            Some(app) => LocalizedMessage::Asking(app).to_text(language),
            None => LocalizedMessage::OneMoment.to_text(language),
        };
        (sentence, self.said_count == 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const AFTER: Duration = Duration::from_millis(250);
    const AGAIN: Duration = Duration::from_secs(9);

    #[test]
    fn a_slow_model_then_a_slow_app() {
        let now = Instant::now();
        let mut acknowledge = DelayNotice::new(AFTER, AGAIN, now);
        assert_eq!(acknowledge.next_due(), Some(now + AFTER));
        let first = acknowledge.next_sentence(SpokenLanguage::English, now + AFTER);
        assert_eq!(first, ("One moment ...".to_owned(), true));
        assert_eq!(acknowledge.next_due(), Some(now + AFTER + AGAIN), "the display would drop it");
        acknowledge.app_called("Todo", now + AFTER * 3);
        assert_eq!(acknowledge.next_due(), Some(now + AFTER * 4));
        let second = acknowledge.next_sentence(SpokenLanguage::German, now + AFTER * 4);
        assert_eq!(second, ("Einen Moment, ich frage Todo ...".to_owned(), false));
        acknowledge.app_called("Todo", now + AFTER * 9);
        assert_eq!(acknowledge.next_due(), Some(now + AFTER * 4 + AGAIN), "the same app is not told twice");
        acknowledge.app_answered();
        assert_eq!(acknowledge.next_sentence(SpokenLanguage::English, now + AGAIN * 2).0, "One moment ...");
        acknowledge.postpone(now + AGAIN * 3);
        assert_eq!(acknowledge.next_due(), Some(now + AGAIN * 4), "it may take longer after that, too");
    }

    #[test]
    fn an_app_that_is_asked_at_once_does_not_delay_the_sentence() {
        let now = Instant::now();
        let mut acknowledge = DelayNotice::new(AFTER, AGAIN, now);
        acknowledge.app_called("Todo", now + AFTER / 2);
        assert_eq!(acknowledge.next_due(), Some(now + AFTER));
        acknowledge.answer_started();
        acknowledge.app_called("Music", now + AFTER);
        assert_eq!(acknowledge.next_due(), None);
    }
}
