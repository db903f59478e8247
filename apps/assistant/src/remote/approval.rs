//! Calls that the user has to approve: the question on the glasses, the answer to the platform, and the outcome.
//!
//! What is asked comes from the platform, not from the model. For a call of high risk a spoken yes is not enough: the user
//! presses the button of the glasses, or answers elsewhere. Without a clear answer the question stays open on the other
//! surfaces, and the user is told where.

use std::future::pending;

use toolyard_agent::tools::TurnTool;
use toolyard_core::{
    CallReply, ToolError,
    executor::{AwaitedApproval, CallOutcome},
};
use toolyard_protocol::{
    ErrorCode,
    approval::{ApprovalAnswer, ApprovalSurface, RiskLevel, SummaryLine},
};

use super::RemoteTools;
use crate::{
    approval::{ApprovalQuestion, PromptReply, YesMethod},
    localization::{AskedCall, LocalizedMessage},
};

/// Longest arguments in an approval question, in letters.
const MAX_SHOWN: usize = 80;

impl RemoteTools {
    /// Asks the user about a call that waits for approval, sends the answer, and waits for the outcome.
    pub(super) async fn settle_approval(&self, tool: &TurnTool, awaited: &AwaitedApproval) -> CallOutcome {
        let about = &tool.about;
        let with = format_arguments(&awaited.summary.lines);
        let call = AskedCall {
            tool: about.title.as_deref().unwrap_or(&about.name),
            app: about.app.as_deref().unwrap_or_default(),
            with: &with,
        };
        let yes_by = match awaited.risk {
            RiskLevel::Low | RiskLevel::Medium => YesMethod::Speech,
            RiskLevel::High if self.glasses.device().has_button => {
                YesMethod::Button { after: self.press_after }
            }
            RiskLevel::High => {
                return self.end_with(LocalizedMessage::AnswerElsewhere(call).to_text(self.language));
            }
        };
        let reply = tokio::select! {
            biased;
            reply = self.ask_twice(call, yes_by) => reply,
            outcome = self.answered_elsewhere(awaited) => return outcome,
        };
        let yes_surface = match yes_by {
            YesMethod::Speech => ApprovalSurface::Voice,
            YesMethod::Button { .. } => ApprovalSurface::Button,
        };
        match reply {
            PromptReply::Yes => {
                let answer = ApprovalAnswer::Approve;
                self.platform.answer_approval(&self.user, &awaited.id, answer, yes_surface).await?;
                self.platform.approved_outcome(&self.user, awaited).await?
            }
            PromptReply::No => {
                let (answer, surface) = (ApprovalAnswer::Deny, ApprovalSurface::Voice);
                if let Err(error) =
                    self.platform.answer_approval(&self.user, &awaited.id, answer, surface).await
                {
                    tracing::warn!(%error, "refusal not stored");
                }
                let text =
                    "The user said no, so it was not run. Do not try again; say that nothing was changed.";
                Err(ToolError::new(ErrorCode::Denied, text))
            }
            PromptReply::Unclear | PromptReply::Silence => {
                self.end_with(LocalizedMessage::AnswerLater(call).to_text(self.language))
            }
        }
    }

    /// Asks the user, and once more after an unclear answer.
    async fn ask_twice(&self, call: AskedCall<'_>, yes_by: YesMethod) -> PromptReply {
        let question = match yes_by {
            YesMethod::Speech => LocalizedMessage::MayI(call),
            YesMethod::Button { .. } => LocalizedMessage::MayIByButton(call),
        };
        let question = question.to_text(self.language);
        let again = match yes_by {
            YesMethod::Speech => LocalizedMessage::NotUnderstood(&question),
            YesMethod::Button { .. } => LocalizedMessage::SpeechNotEnough(&question),
        };
        let again = again.to_text(self.language);
        match self.ask_once(question, yes_by).await {
            PromptReply::Unclear => self.ask_once(again, yes_by).await,
            reply => reply,
        }
    }

    async fn ask_once(&self, text: String, yes_by: YesMethod) -> PromptReply {
        let device = self.glasses.device();
        let is_spoken = device.should_speak(self.speak) || !device.has_display;
        let words = text.clone();
        let put = async {
            if device.has_display {
                self.glasses.show_text(&words, self.approval_wait).await;
            }
            if is_spoken {
                self.glasses.speak_text(&words).await;
            }
        };
        let question = ApprovalQuestion { text, yes_by, is_spoken };
        self.approvals.ask_user(question, put, self.approval_wait).await
    }

    /// The outcome, if the user answers on another surface. Each request waits in the server.
    async fn answered_elsewhere(&self, awaited: &AwaitedApproval) -> CallOutcome {
        loop {
            match self.platform.approved_outcome(&self.user, awaited).await {
                Ok(Ok(CallReply::AwaitingApproval(_))) => {}
                Ok(outcome) => return outcome,
                Err(error) => {
                    tracing::warn!(%error, "cannot wait for answers on other surfaces");
                    return pending().await;
                }
            }
        }
    }
}

/// The values of the arguments for people, such as ` (milk, 2)`. Long ones are truncated.
fn format_arguments(lines: &[SummaryLine]) -> String {
    let values: Vec<&str> = lines.iter().map(|line| line.value.as_str()).collect();
    let text = values.join(", ").replace('\n', " ");
    if text.is_empty() {
        return text;
    }
    let short: String = text.chars().take(MAX_SHOWN).collect();
    let dots = if short.len() < text.len() { " ..." } else { "" };
    format!(" ({short}{dots})")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with(values: &[&str]) -> String {
        let line = |value: &&str| SummaryLine { label: "x".to_owned(), value: (*value).to_owned() };
        format_arguments(&values.iter().map(line).collect::<Vec<_>>())
    }

    #[test]
    fn approval_questions_show_the_arguments() {
        assert_eq!(with(&["7", "true"]), " (7, true)");
        assert_eq!(with(&[]), "");
        assert!(with(&[&"x".repeat(500)]).len() < 100);
    }
}
