//! The open approval question, and what counts as its answer: speech, or a press of the button. One question at a time.

use std::{future::Future, time::Duration};

use parking_lot::Mutex;
use tokio::{
    sync::oneshot,
    time::{Instant, timeout},
};
use toolyard_spoken_answer::{SpokenAnswer, has_words};

use crate::listener::normalized;

/// Recognizers finish a transcript of the question some time after it was spoken. Until then, unclear speech is not counted,
/// because it may be the question itself.
const ECHO_TAIL: Duration = Duration::from_secs(2);

/// How the user says yes to a question. Saying no always works by voice.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum YesMethod {
    /// By voice.
    Speech,
    /// By a press of the button of the glasses, this long after the question was put at the earliest: an earlier press was
    /// meant for something else.
    Button {
        /// The earliest time.
        after: Duration,
    },
}

/// A question to the user.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ApprovalQuestion {
    /// What the user reads or hears.
    pub text: String,
    /// How the user says yes.
    pub yes_by: YesMethod,
    /// Whether it is spoken, so that the microphone picks it up.
    pub is_spoken: bool,
}

/// How a question ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PromptReply {
    /// Yes, in the way that the question requires.
    Yes,
    /// No.
    No,
    /// Speech that is neither, or a spoken yes that is not enough.
    Unclear,
    /// Nothing, within the timeout.
    Silence,
}

/// Final speech while a question is open.
#[derive(Debug, Clone, Copy)]
pub struct HeardReply<'a> {
    /// The words.
    pub text: &'a str,
    /// What they mean.
    pub answer: SpokenAnswer,
    /// Whether the speaker may be the user who asked.
    pub is_asker: bool,
}

/// A question that waits for its answer.
#[derive(Debug)]
struct OpenQuestion {
    reply: oneshot::Sender<PromptReply>,
    question: ApprovalQuestion,
    /// When it was completely shown or spoken.
    put_at: Option<Instant>,
}

impl OpenQuestion {
    /// Whether speech may be the question itself, picked up by the microphone.
    fn may_be_echo(&self, text: &str, now: Instant) -> bool {
        let is_early = self.put_at.is_none_or(|at| now < at + ECHO_TAIL);
        let asked = normalized::comparison_key(&self.question.text);
        self.question.is_spoken && (is_early || asked.contains(&normalized::comparison_key(text)))
    }

    /// What speech says about the question. `None` if it says nothing.
    fn judge(&self, heard: &HeardReply<'_>, now: Instant) -> Option<PromptReply> {
        match heard.answer {
            // Anyone can refuse, but only the user can approve.
            SpokenAnswer::No => Some(PromptReply::No),
            _ if !heard.is_asker => None,
            SpokenAnswer::Yes if self.question.yes_by == YesMethod::Speech => Some(PromptReply::Yes),
            SpokenAnswer::Yes | SpokenAnswer::Unclear => {
                let counts = has_words(heard.text) && !self.may_be_echo(heard.text, now);
                counts.then_some(PromptReply::Unclear)
            }
        }
    }
}

/// The open question to a user, if any.
#[derive(Debug, Default)]
pub struct ApprovalPrompt {
    waiting: Mutex<Option<OpenQuestion>>,
    /// Held while a question is open, so that the next one waits.
    one: tokio::sync::Mutex<()>,
}

impl ApprovalPrompt {
    /// Whether a question is open.
    pub fn is_waiting(&self) -> bool {
        self.waiting.lock().as_ref().is_some_and(|open| !open.reply.is_closed())
    }

    /// Takes final speech as the answer, if it is one.
    pub fn hear(&self, heard: &HeardReply<'_>, now: Instant) {
        let mut waiting = self.waiting.lock();
        if let Some(reply) = waiting.as_ref().and_then(|open| open.judge(heard, now))
            && let Some(open) = waiting.take()
        {
            let _ = open.reply.send(reply);
        }
    }

    /// Takes a press of the button, if the open question asks for one. Returns whether it does.
    pub fn press(&self, now: Instant) -> bool {
        let mut waiting = self.waiting.lock();
        let Some(open) = waiting.as_ref().filter(|open| !open.reply.is_closed()) else { return false };
        let YesMethod::Button { after } = open.question.yes_by else { return false };
        let is_meant = open.put_at.is_some_and(|at| now >= at + after);
        if let Some(open) = waiting.take_if(|_| is_meant) {
            let _ = open.reply.send(PromptReply::Yes);
        }
        true
    }

    /// Asks a question and waits for the answer. `put` shows or speaks it; the user may answer by voice before it has finished.
    pub async fn ask_user(
        &self,
        question: ApprovalQuestion,
        put: impl Future<Output = ()>,
        wait: Duration,
    ) -> PromptReply {
        let _turn = self.one.lock().await;
        let (reply, answer) = oneshot::channel();
        *self.waiting.lock() = Some(OpenQuestion { reply, question, put_at: None });
        let answered = timeout(wait, answer);
        tokio::pin!(answered, put);
        let answer = tokio::select! {
            answer = &mut answered => answer,
            () = &mut put => {
                if let Some(open) = self.waiting.lock().as_mut() {
                    open.put_at = Some(Instant::now());
                }
                answered.await
            }
        };
        self.waiting.lock().take();
        match answer {
            Ok(Ok(reply)) => reply,
            Ok(Err(_)) | Err(_) => PromptReply::Silence,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WAIT: Duration = Duration::from_secs(15);
    const PRESS_AFTER: Duration = Duration::from_millis(500);

    fn question(yes_by: YesMethod, is_spoken: bool) -> ApprovalQuestion {
        ApprovalQuestion { text: "Todo: Delete a todo (1)? Say yes or no.".to_owned(), yes_by, is_spoken }
    }

    fn by_speech() -> ApprovalQuestion {
        question(YesMethod::Speech, false)
    }

    fn say(prompt: &ApprovalPrompt, text: &str, answer: SpokenAnswer) {
        prompt.hear(&HeardReply { text, answer, is_asker: true }, Instant::now());
    }

    #[tokio::test(start_paused = true)]
    async fn yes_no_unclear_and_silence() {
        let prompt = ApprovalPrompt::default();
        for (text, answer, reply) in [
            ("yes", SpokenAnswer::Yes, PromptReply::Yes),
            ("no", SpokenAnswer::No, PromptReply::No),
            ("what was that", SpokenAnswer::Unclear, PromptReply::Unclear),
        ] {
            let user = async {
                assert!(prompt.is_waiting());
                say(&prompt, text, answer);
            };
            let (given, ()) = tokio::join!(prompt.ask_user(by_speech(), async {}, WAIT), user);
            assert_eq!(given, reply);
        }
        let begun = Instant::now();
        assert_eq!(prompt.ask_user(by_speech(), async {}, WAIT).await, PromptReply::Silence);
        assert_eq!(begun.elapsed(), WAIT);
        assert!(!prompt.is_waiting());
        say(&prompt, "yes", SpokenAnswer::Yes);
        let late = prompt.ask_user(by_speech(), async {}, WAIT).await;
        assert_eq!(late, PromptReply::Silence, "an old answer does not count");
    }

    #[tokio::test(start_paused = true)]
    async fn a_question_that_is_still_spoken_can_be_answered_and_ends_in_time() {
        let prompt = ApprovalPrompt::default();
        let user = async { say(&prompt, "yes", SpokenAnswer::Yes) };
        let asking = prompt.ask_user(question(YesMethod::Speech, true), std::future::pending(), WAIT);
        let (given, ()) = tokio::join!(asking, user);
        assert_eq!(given, PromptReply::Yes);
        let asking = prompt.ask_user(by_speech(), std::future::pending(), WAIT);
        assert_eq!(asking.await, PromptReply::Silence);
    }

    #[tokio::test(start_paused = true)]
    async fn noise_and_the_question_itself_are_no_answers() {
        let prompt = ApprovalPrompt::default();
        let user = async {
            say(&prompt, "to do delete a to do one", SpokenAnswer::Unclear);
            tokio::time::sleep(ECHO_TAIL).await;
            say(&prompt, "say yes or no", SpokenAnswer::Unclear);
            say(&prompt, "[noise]", SpokenAnswer::Unclear);
            assert!(prompt.is_waiting());
            say(&prompt, "hm let me think", SpokenAnswer::Unclear);
        };
        let asking = prompt.ask_user(question(YesMethod::Speech, true), async {}, WAIT);
        assert_eq!(tokio::join!(asking, user).0, PromptReply::Unclear);
    }

    #[tokio::test(start_paused = true)]
    async fn only_the_user_can_approve_and_anyone_can_refuse() {
        let prompt = ApprovalPrompt::default();
        let user = async {
            let bystander = |text, answer| HeardReply { text, answer, is_asker: false };
            prompt.hear(&bystander("yes", SpokenAnswer::Yes), Instant::now());
            prompt.hear(&bystander("look at that", SpokenAnswer::Unclear), Instant::now());
            assert!(prompt.is_waiting());
            prompt.hear(&bystander("no", SpokenAnswer::No), Instant::now());
        };
        assert_eq!(tokio::join!(prompt.ask_user(by_speech(), async {}, WAIT), user).0, PromptReply::No);
    }

    #[tokio::test(start_paused = true)]
    async fn a_question_for_the_button_takes_a_press_or_a_spoken_no() {
        let prompt = ApprovalPrompt::default();
        let pressed = || question(YesMethod::Button { after: PRESS_AFTER }, false);
        let user = async {
            assert!(prompt.press(Instant::now()), "it was meant for something else, and is not passed on");
            tokio::time::sleep(PRESS_AFTER).await;
            assert!(prompt.press(Instant::now()));
        };
        assert_eq!(tokio::join!(prompt.ask_user(pressed(), async {}, WAIT), user).0, PromptReply::Yes);
        for (text, answer, reply) in
            [("yes", SpokenAnswer::Yes, PromptReply::Unclear), ("no", SpokenAnswer::No, PromptReply::No)]
        {
            let user = async { say(&prompt, text, answer) };
            assert_eq!(tokio::join!(prompt.ask_user(pressed(), async {}, WAIT), user).0, reply);
        }
        let user = async { assert!(!prompt.press(Instant::now()), "this question is answered by voice") };
        let (reply, ()) = tokio::join!(prompt.ask_user(by_speech(), async {}, WAIT), user);
        assert_eq!(reply, PromptReply::Silence);
        assert!(!prompt.press(Instant::now()), "no question is open");
    }

    #[tokio::test(start_paused = true)]
    async fn a_press_while_the_question_is_spoken_does_not_count() {
        let prompt = ApprovalPrompt::default();
        let pressed = question(YesMethod::Button { after: Duration::ZERO }, true);
        let user = async { assert!(prompt.press(Instant::now())) };
        let (reply, ()) = tokio::join!(prompt.ask_user(pressed, std::future::pending(), WAIT), user);
        assert_eq!(reply, PromptReply::Silence);
    }

    #[tokio::test(start_paused = true)]
    async fn one_question_at_a_time() {
        let prompt = ApprovalPrompt::default();
        let user = async {
            say(&prompt, "yes", SpokenAnswer::Yes);
            tokio::time::sleep(Duration::from_secs(1)).await;
            say(&prompt, "no", SpokenAnswer::No);
        };
        let (first, second) =
            (prompt.ask_user(by_speech(), async {}, WAIT), prompt.ask_user(by_speech(), async {}, WAIT));
        let (first, second, ()) = tokio::join!(first, second, user);
        assert_eq!((first, second), (PromptReply::Yes, PromptReply::No));
    }

    #[tokio::test]
    async fn a_dropped_question_is_closed() {
        let prompt = ApprovalPrompt::default();
        {
            let asking = prompt.ask_user(by_speech(), async {}, WAIT);
            tokio::pin!(asking);
            assert!(futures_util::poll!(&mut asking).is_pending());
            assert!(prompt.is_waiting());
        }
        assert!(!prompt.is_waiting());
    }
}
