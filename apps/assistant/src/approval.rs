//! Asks the user to approve calls that cannot be undone. One question at a time; silence means no.

use std::{future::Future, time::Duration};

use parking_lot::Mutex;
use tokio::{sync::oneshot, time::timeout};

/// The user's answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ApprovalAnswer {
    /// Yes.
    Yes,
    /// No.
    No,
    /// No answer that was understood, within the timeout.
    Silence,
}

/// The open question to a user, if any.
#[derive(Debug, Default)]
pub struct ApprovalPrompt {
    waiting: Mutex<Option<oneshot::Sender<bool>>>,
    /// Held while a question is open, so that the next one waits.
    one: tokio::sync::Mutex<()>,
}

impl ApprovalPrompt {
    /// Whether a question is open.
    pub fn is_waiting(&self) -> bool {
        self.lock_waiting().as_ref().is_some_and(|waiting| !waiting.is_closed())
    }

    /// Records the user's answer. Does nothing if no question is open.
    pub fn answer(&self, yes: bool) {
        if let Some(waiting) = self.lock_waiting().take() {
            let _ = waiting.send(yes);
        }
    }

    /// Asks a question and waits for the answer. `put` shows or speaks it; the user may answer before it has finished.
    pub async fn ask_user(&self, put: impl Future<Output = ()>, wait: Duration) -> ApprovalAnswer {
        let _turn = self.one.lock().await;
        let (sender, answer) = oneshot::channel();
        *self.lock_waiting() = Some(sender);
        let answered = timeout(wait, answer);
        tokio::pin!(answered, put);
        let answer = tokio::select! {
            answer = &mut answered => answer,
            () = &mut put => answered.await,
        };
        self.lock_waiting().take();
        match answer {
            Ok(Ok(true)) => ApprovalAnswer::Yes,
            Ok(Ok(false)) => ApprovalAnswer::No,
            Ok(Err(_)) | Err(_) => ApprovalAnswer::Silence,
        }
    }

    fn lock_waiting(&self) -> parking_lot::MutexGuard<'_, Option<oneshot::Sender<bool>>> {
        self.waiting.lock()
    }
}

#[cfg(test)]
mod tests {
    use tokio::time::Instant;

    use super::*;

    const WAIT: Duration = Duration::from_secs(15);

    #[tokio::test(start_paused = true)]
    async fn yes_no_and_silence() {
        let approvals = ApprovalPrompt::default();
        for (said, approval) in [(true, ApprovalAnswer::Yes), (false, ApprovalAnswer::No)] {
            let user = async {
                assert!(approvals.is_waiting());
                approvals.answer(said);
            };
            let (given, ()) = tokio::join!(approvals.ask_user(async {}, WAIT), user);
            assert_eq!(given, approval);
        }
        let begun = Instant::now();
        assert_eq!(approvals.ask_user(async {}, WAIT).await, ApprovalAnswer::Silence);
        assert_eq!(begun.elapsed(), WAIT);
        assert!(!approvals.is_waiting());
        approvals.answer(true);
        assert_eq!(
            approvals.ask_user(async {}, WAIT).await,
            ApprovalAnswer::Silence,
            "an old answer does not count"
        );
    }

    #[tokio::test(start_paused = true)]
    async fn a_question_that_is_still_spoken_can_be_answered_and_ends_in_time() {
        let approvals = ApprovalPrompt::default();
        let user = async { approvals.answer(true) };
        let (given, ()) = tokio::join!(approvals.ask_user(std::future::pending(), WAIT), user);
        assert_eq!(given, ApprovalAnswer::Yes);
        assert_eq!(approvals.ask_user(std::future::pending(), WAIT).await, ApprovalAnswer::Silence);
    }

    #[tokio::test(start_paused = true)]
    async fn one_question_at_a_time() {
        let approvals = ApprovalPrompt::default();
        let user = async {
            approvals.answer(true);
            tokio::task::yield_now().await;
            tokio::time::sleep(Duration::from_secs(1)).await;
            approvals.answer(false);
        };
        let (first, second, ()) =
            tokio::join!(approvals.ask_user(async {}, WAIT), approvals.ask_user(async {}, WAIT), user);
        assert_eq!((first, second), (ApprovalAnswer::Yes, ApprovalAnswer::No));
    }

    #[tokio::test]
    async fn a_dropped_question_is_closed() {
        let approvals = ApprovalPrompt::default();
        {
            let asking = approvals.ask_user(async {}, WAIT);
            tokio::pin!(asking);
            assert!(futures_util::poll!(&mut asking).is_pending());
            assert!(approvals.is_waiting());
        }
        assert!(!approvals.is_waiting());
    }
}
