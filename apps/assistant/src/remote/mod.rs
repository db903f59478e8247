//! The user's tools: listed and run by the platform over its public API, with the user's approval if required.
//!
//! | look for | in |
//! | --- | --- |
//! | requests and responses | [`platform`] |
//! | a listing, prepared for a model | [`list`] |
//! | from a model's call to the request | [`RemoteTools`] |
//! | calls that the user has to approve | `approval` |

mod approval;
pub mod list;
pub mod platform;
mod sign_in;

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use async_trait::async_trait;
use parking_lot::Mutex;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;
use toolyard_agent::{
    message::ModelToolCall,
    tools::{FrozenTools, ToolProvider, ToolView, TurnTool},
};
use toolyard_app_sdk::UserId;
use toolyard_core::{CallReply, ToolError, executor::CallOutcome, ports::NoticeSink};
use toolyard_protocol::{
    ErrorCode,
    result::{McpResult, ToolResult},
};

use self::{
    list::{ToolRunPolicy, UserTools},
    platform::{ListingError, PlatformClient},
};
use crate::{
    approval::ApprovalPrompt,
    choices::SpeechMode,
    glasses::Glasses,
    localization::{LocalizedMessage, SpokenLanguage},
};

/// Notes of the tools for the presenter, beside the events of the turn.
#[derive(Debug, Default)]
pub struct AnswerNotes {
    /// The complete answer, if a tool gave it and the model has nothing to add.
    last_words: Mutex<Option<String>>,
    /// A remark after the answer.
    remark: Mutex<Option<String>>,
    /// Whether a call waits for the user, who was told so.
    waits_for_user: AtomicBool,
}

impl AnswerNotes {
    /// Sets a remark to present after the answer.
    pub fn set_remark(&self, words: String) {
        *self.remark.lock() = Some(words);
    }

    /// Takes the remark.
    pub fn take_remark(&self) -> Option<String> {
        self.remark.lock().take()
    }

    /// The complete answer, if a tool gave it.
    pub fn last_words(&self) -> Option<String> {
        self.last_words.lock().clone()
    }

    /// Whether a call waits for the user. Meanwhile nothing says that the answer takes longer.
    pub fn waits_for_user(&self) -> bool {
        self.waits_for_user.load(Ordering::Acquire)
    }

    fn set_waiting(&self, waits: bool) {
        self.waits_for_user.store(waits, Ordering::Release);
    }

    pub(crate) fn set_last_words(&self, words: String) {
        *self.last_words.lock() = Some(words);
    }
}

/// The tools of one question.
pub struct RemoteTools {
    /// The platform that runs them.
    pub platform: Arc<PlatformClient>,
    /// The user.
    pub user: UserId,
    /// The first part of the user's language tag.
    pub tag: String,
    /// The language of the assistant's own sentences.
    pub language: SpokenLanguage,
    /// The user's glasses, for approval questions.
    pub glasses: Arc<dyn Glasses>,
    /// Whether questions are spoken.
    pub speak: SpeechMode,
    /// The open approval question.
    pub approvals: Arc<ApprovalPrompt>,
    /// Timeout of an approval.
    pub approval_wait: Duration,
    /// From when a press of the button confirms a call of high risk.
    pub press_after: Duration,
    /// How long a call waits for the user's sign-in at the service behind it.
    pub sign_in_wait: Duration,
    /// Timeout of a call.
    pub call_wait: Duration,
    /// Notes for the presenter.
    pub notes: Arc<AnswerNotes>,
    /// A listing for the first step.
    pub listing: Mutex<Option<Arc<UserTools>>>,
}

impl RemoteTools {
    /// Sets a listing that was just fetched, so that the first step does not fetch it again.
    pub fn set_listing(&self, tools: Arc<UserTools>) {
        *self.listing.lock() = Some(tools);
    }

    fn refuse_call(&self, tool: &TurnTool, reason: &str) -> CallOutcome {
        let title = tool.about.title.as_deref().unwrap_or(&tool.about.name);
        self.end_with(LocalizedMessage::Needs { tool: title, parts: reason }.to_text(self.language))
    }

    async fn run_call(
        &self,
        tool: &TurnTool,
        call: &ModelToolCall,
        news: &NoticeSink,
        cancel: &CancellationToken,
    ) -> CallOutcome {
        let running = self.platform.execute_tool(&self.user, &tool.about.name, &call.arguments, news);
        tokio::select! {
            // Checked first, so that a cancelled call is not sent.
            biased;
            () = cancel.cancelled() => Err(cancelled_error()),
            outcome = timeout(self.call_wait, running) => outcome.unwrap_or_else(|_| Err(timeout_error())),
        }
    }

    /// A call that did not run; these words are the whole answer if there is nothing else to do.
    fn end_with(&self, words: String) -> CallOutcome {
        let result = McpResult::from_error_text(&words);
        self.notes.set_last_words(words);
        Ok(CallReply::Done(ToolResult::from_mcp(result)))
    }
}

#[async_trait]
impl ToolProvider for RemoteTools {
    async fn freeze(&self) -> Result<Box<dyn FrozenTools + '_>, ToolError> {
        let given = self.listing.lock().take();
        let tools = match given {
            Some(tools) => tools,
            None => self.platform.list_tools(&self.user, &self.tag).await.map_err(|error| match error {
                ListingError::NotAllowed(_) => ToolError::new(ErrorCode::Denied, error.to_string()),
                ListingError::Down(_) => ToolError::new(ErrorCode::NetworkError, error.to_string()),
            })?,
        };
        Ok(Box::new(ListedTools { remote: self, tools }))
    }
}

/// The tools of one step.
struct ListedTools<'a> {
    remote: &'a RemoteTools,
    tools: Arc<UserTools>,
}

#[async_trait]
impl FrozenTools for ListedTools<'_> {
    fn view(&self) -> &Arc<ToolView> {
        &self.tools.view
    }

    async fn call(
        &self,
        tool: &TurnTool,
        call: &ModelToolCall,
        news: NoticeSink,
        cancel: CancellationToken,
    ) -> CallOutcome {
        let remote = self.remote;
        match self.tools.run_policy(&tool.spec.name) {
            ToolRunPolicy::Run => {}
            ToolRunPolicy::Refuse(reason) => return remote.refuse_call(tool, &reason),
        }
        let mut outcome = remote.run_call(tool, call, &news, &cancel).await;
        if let Ok(CallReply::AwaitingSignIn(awaited)) = &outcome {
            let settled = tokio::select! {
                biased;
                () = cancel.cancelled() => Some(Err(cancelled_error())),
                settled = remote.settle_sign_in(awaited) => settled,
            };
            outcome = match settled {
                Some(outcome) => outcome,
                None => remote.run_call(tool, call, &news, &cancel).await,
            };
        }
        let outcome = match outcome {
            Ok(CallReply::AwaitingApproval(awaited)) => tokio::select! {
                biased;
                () = cancel.cancelled() => Err(cancelled_error()),
                outcome = remote.settle_approval(tool, &awaited) => outcome,
            },
            outcome => outcome,
        };
        outcome.map_err(|error| explain_error(error, tool.about.app.as_deref().unwrap_or("The app")))
    }
}

fn cancelled_error() -> ToolError {
    ToolError::new(ErrorCode::Cancelled, "The call was cancelled.")
}

fn timeout_error() -> ToolError {
    ToolError::new(ErrorCode::Timeout, "The tool did not respond in time; whether it ran is not known.")
}

/// Whether an error means to the user that the app is down.
pub fn is_app_down(code: ErrorCode) -> bool {
    matches!(
        code,
        ErrorCode::AppNotAvailable
            | ErrorCode::NetworkError
            | ErrorCode::HttpError
            | ErrorCode::InvalidResponse
            | ErrorCode::Overloaded
            | ErrorCode::Timeout
            | ErrorCode::ToolNotHandled
    )
}

/// Adds instructions for the model to an error.
fn explain_error(mut error: ToolError, app: &str) -> ToolError {
    if is_app_down(error.code) {
        tracing::warn!(app, %error, "app does not respond");
        let maybe = if error.code == ErrorCode::Timeout { " It may have run all the same." } else { "" };
        error.for_model = format!(
            "{app} does not answer right now.{maybe} Tell the user so in plain words, without technical terms, and do not call it \
             again in this answer."
        );
    }
    error
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_app_that_is_down_is_reported_without_technical_terms() {
        let error = explain_error(
            ToolError::new(ErrorCode::AppNotAvailable, "connect ECONNREFUSED 127.0.0.1"),
            "Todo",
        );
        assert!(error.for_model.starts_with("Todo does not answer right now. Tell the user so"));
        assert!(!error.for_model.contains("127.0"));
        let own = explain_error(ToolError::new(ErrorCode::ExecutionError, "There is no todo 7."), "Todo");
        assert_eq!(own.for_model, "There is no todo 7.");
    }
}
