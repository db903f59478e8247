//! Calls of a chat that need the user's approval: asked in the terminal, answered on the server.

use std::time::Duration;

use tokio::{
    io::Stdin,
    sync::{mpsc, oneshot},
    time::{MissedTickBehavior, interval, timeout},
};
use toolyard_client_sdk::{
    ApprovalDecision, ApprovalRequest, ChatQuestion, Message, MessagePart,
    message::{CallPart, CallPartState},
};
use toolyard_protocol::approval::{ApprovalAnswer, ApprovalInfo, ApprovalState, RememberScope};

use super::backend::ChatBackend;
use crate::{
    commands::approvals::{formatting, shown_answer},
    error::CliError,
    input,
    lines::{BoundedLine, BoundedLines},
    output::CliOutput,
    signals::{ProcessSignal, SignalListener},
};

/// How soon an answer on another surface is noticed.
const CHECK_EVERY: Duration = Duration::from_secs(1);
/// What was typed before a question is shown does not answer it. This long it is waited for.
const TYPED_AHEAD: Duration = Duration::from_millis(50);

/// Lines that the user types.
pub(super) type Keyboard = BoundedLines<Stdin>;

/// A question of the server, and where its answer goes.
pub(super) struct ApprovalQuestion {
    pub(super) request: ApprovalRequest,
    pub(super) decision: oneshot::Sender<ApprovalDecision>,
}

/// What became of a question.
pub(super) enum QuestionEnd {
    /// It was answered, here or elsewhere.
    Answered(ApprovalDecision),
    /// It still waits.
    Waiting,
    /// The user cancelled the answer of the model.
    Stopped(ProcessSignal),
}

/// What the user typed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum TypedAnswer {
    Yes,
    No,
    Always,
}

/// Everything but a clear yes is a no.
fn parse_answer(line: &str, can_remember: bool) -> TypedAnswer {
    match line.trim().to_lowercase().as_str() {
        "a" | "always" if can_remember => TypedAnswer::Always,
        line if input::parse_yes_or_no(line) == Some(true) => TypedAnswer::Yes,
        _ => TypedAnswer::No,
    }
}

/// Asks questions in the terminal.
pub(super) struct TerminalAsker<'s> {
    pub(super) backend: &'s ChatBackend,
    /// None if nobody can type an answer.
    pub(super) keyboard: Option<&'s mut Keyboard>,
    pub(super) output: CliOutput,
}

impl TerminalAsker<'_> {
    /// Makes a request ask here. The questions arrive in the queue, one at a time. If nobody can answer here and the server ends
    /// with this process, the model is told instead.
    pub(super) fn with_questions(
        &self,
        request: ChatQuestion,
    ) -> (ChatQuestion, mpsc::Receiver<ApprovalQuestion>) {
        let (queue, questions) = mpsc::channel(1);
        if self.keyboard.is_none() && self.backend.is_local() {
            return (request, questions);
        }
        let request = request.on_approval(move |request| {
            let queue = queue.clone();
            async move {
                let (decision, decided) = oneshot::channel();
                // Without an answer the request ends, so the decision is never sent.
                let _ = queue.send(ApprovalQuestion { request, decision }).await;
                decided.await.unwrap_or(ApprovalDecision::deny())
            }
        });
        (request, questions)
    }

    pub(super) async fn ask(
        &mut self,
        request: &ApprovalRequest,
        signals: &mut SignalListener,
    ) -> Result<QuestionEnd, CliError> {
        let path = format!("api/approvals/{}", request.id);
        let Some(info) = find_question(self.backend, &path).await? else { return Ok(QuestionEnd::Waiting) };
        let Some(keyboard) = self.keyboard.as_deref_mut() else { return Ok(QuestionEnd::Waiting) };
        while timeout(TYPED_AHEAD, keyboard.next()).await.is_ok_and(|line| matches!(line, Ok(Some(_)))) {}
        self.output.print_note(&formatting::format_question(&info));
        let choices = if info.can_remember { "[y/N, a: always]" } else { "[y/N]" };
        input::print_prompt(&format!("Run it? {choices} "))?;
        let mut checks = interval(CHECK_EVERY);
        checks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let typed = loop {
            tokio::select! {
                line = keyboard.next() => match line? {
                    Some(BoundedLine::Text(line)) => break parse_answer(&line, info.can_remember),
                    Some(BoundedLine::TooLong) => break TypedAnswer::No,
                    None => return Ok(QuestionEnd::Waiting),
                },
                signal = signals.next_signal() => return Ok(QuestionEnd::Stopped(signal)),
                _ = checks.tick() => {
                    let now: ApprovalInfo = self.backend.get(&path).await?;
                    if now.state != ApprovalState::Pending {
                        self.output.print_note(&format!("\n{}", formatting::format_state(&now)));
                        return Ok(QuestionEnd::Answered(decision_of(&now)));
                    }
                }
            }
        };
        self.send_answer(&path, &info, typed).await
    }

    /// Stores the answer on the server. An earlier one counts.
    async fn send_answer(
        &self,
        path: &str,
        info: &ApprovalInfo,
        typed: TypedAnswer,
    ) -> Result<QuestionEnd, CliError> {
        let mut answer = shown_answer(info, typed != TypedAnswer::No);
        if typed == TypedAnswer::Always {
            answer.remember = Some(RememberScope::Tool { days: None });
        }
        match self.backend.post::<ApprovalInfo>(path, &answer).await {
            Ok(answered) => Ok(QuestionEnd::Answered(decision_of(&answered))),
            Err(CliError::Refused(refused)) if refused.is_conflict() => {
                self.output.print_note(&refused.to_string());
                Ok(QuestionEnd::Answered(decision_of(&self.backend.get(path).await?)))
            }
            Err(CliError::Refused(refused)) if refused.status == 403 => {
                self.output.print_note(&format!("{refused}: {}", info.url));
                Ok(QuestionEnd::Waiting)
            }
            Err(error) => Err(error),
        }
    }

    /// Prints what is asked and where it can be answered.
    pub(super) async fn print_waiting(&self, unanswered: &[String]) -> Result<(), CliError> {
        for id in unanswered {
            let found = find_question(self.backend, &format!("api/approvals/{id}")).await?;
            self.output.print_note(&match found {
                Some(info) => format!(
                    "{}\nwaits for the user's approval until {}: {}",
                    formatting::format_summary(&info.summary),
                    info.expires_at,
                    info.url
                ),
                None => format!("waits for the user's approval {id}"),
            });
        }
        Ok(())
    }
}

/// The question, unless the caller only acts for the user and may not see it.
async fn find_question(backend: &ChatBackend, path: &str) -> Result<Option<ApprovalInfo>, CliError> {
    match backend.get(path).await {
        Ok(info) => Ok(Some(info)),
        Err(CliError::Refused(refused)) if matches!(refused.status, 403 | 404) => Ok(None),
        Err(error) => Err(error),
    }
}

/// The approvals that the last message waits for.
pub(super) fn unanswered(history: &[Message]) -> Vec<String> {
    let parts = history.last().map(|message| message.parts.as_slice()).unwrap_or_default();
    let waiting = parts.iter().filter_map(|part| match part {
        MessagePart::Call(CallPart { end: CallPartState::ApprovalRequested(approval), .. }) => {
            Some(approval.id.clone())
        }
        _ => None,
    });
    waiting.collect()
}

/// The decision that the server stored. The chat only repeats it: the server runs what it stored.
fn decision_of(info: &ApprovalInfo) -> ApprovalDecision {
    match info.answer.as_ref().map(|answer| answer.answer) {
        Some(ApprovalAnswer::Approve) => ApprovalDecision::approve(),
        Some(ApprovalAnswer::Deny) | None => ApprovalDecision::deny(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everything_but_a_clear_yes_is_a_no() {
        for (line, expected) in [
            ("y", TypedAnswer::Yes),
            (" YES ", TypedAnswer::Yes),
            ("a", TypedAnswer::Always),
            ("Always", TypedAnswer::Always),
            ("", TypedAnswer::No),
            ("n", TypedAnswer::No),
            ("yy", TypedAnswer::No),
            ("sure", TypedAnswer::No),
        ] {
            assert_eq!(parse_answer(line, true), expected, "{line:?}");
        }
        assert_eq!(
            parse_answer("a", false),
            TypedAnswer::No,
            "calls under the operator's floor ask each time"
        );
    }
}
