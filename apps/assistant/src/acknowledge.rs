//! Tells the user that an answer takes longer. Pure: it gets the time and returns a sentence.

use std::time::Duration;

use tokio::time::Instant;

use crate::localization::{LocalizedMessage, SpokenLanguage};

/// The notices for a user who waits for an answer.
#[derive(Debug)]
pub struct DelayNotice {
    after: Duration,
    /// When a sentence is shown again: before the display clears it.
    again: Duration,
    due: Option<Instant>,
    app: Option<String>,
    /// How often a sentence was shown; only the first one is spoken.
    said_count: usize,
    /// Whether the answer has started, so that no more notices are needed.
    is_over: bool,
}

impl DelayNotice {
    /// A question was asked now. The sentence is repeated every `again` until the answer starts.
    pub fn new(after: Duration, again: Duration, now: Instant) -> Self {
        Self { after, again, due: Some(now + after), app: None, said_count: 0, is_over: false }
    }

    /// A tool of an app is called.
    pub fn app_called(&mut self, app: &str, now: Instant) {
        if self.is_over || self.app.as_deref() == Some(app) {
            return;
        }
        self.app = Some(app.to_owned());
        // A user who is already waiting does not wait longer because of this.
        let due = now + self.after;
        self.due = Some(self.due.map_or(due, |before| before.min(due)));
    }

    /// The answer has started: no more notices.
    pub fn answer_started(&mut self) {
        (self.due, self.is_over) = (None, true);
    }

    /// The app has responded; the model continues.
    pub fn app_answered(&mut self) {
        self.app = None;
    }

    /// Something else is being spoken: try again later.
    pub fn postpone(&mut self, now: Instant) {
        self.due = Some(now + self.again);
    }

    /// When the next sentence is due.
    pub fn next_due(&self) -> Option<Instant> {
        self.due
    }

    /// The sentence for now, and whether it is the first one.
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
