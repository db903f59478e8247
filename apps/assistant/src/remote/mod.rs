//! The tools of a turn, far away: listed and run by the platform over its public API, with the user asked where that is due.
//!
//! | look for | in |
//! | --- | --- |
//! | requests and answers | [`cloud`] |
//! | a listing, made ready for a model | [`list_tools`] |
//! | what happens between a model's call and the request | [`RemoteTools`] |

pub mod list;
pub mod platform;

use std::{sync::Arc, time::Duration};

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
    approval::{ApprovalAnswer, ApprovalPrompt},
    choices::SpeechMode,
    glasses::Glasses,
    localization::{LocalizedMessage, SpokenLanguage},
};

/// Longest arguments that a user is read before they say yes, in letters.
const MAX_SHOWN: usize = 80;

/// What a turn has to know that its events do not tell.
#[derive(Debug, Default)]
pub struct AnswerNotes {
    /// The whole answer, where a tool gave it: nothing is left for a model to say.
    last_words: Mutex<Option<String>>,
    /// Said beside the answer.
    remark: Mutex<Option<String>>,
}

impl AnswerNotes {
    /// To be said beside the answer.
    pub fn set_remark(&self, words: String) {
        *self.remark.lock() = Some(words);
    }

    /// What is to be said beside the answer; once.
    pub fn take_remark(&self) -> Option<String> {
        self.remark.lock().take()
    }

    /// The whole answer, where a tool gave it.
    pub fn last_words(&self) -> Option<String> {
        self.last_words.lock().clone()
    }

    pub(crate) fn set_last_words(&self, words: String) {
        *self.last_words.lock() = Some(words);
    }
}

/// The tools of one question.
pub struct RemoteTools {
    /// Who runs them.
    pub platform: Arc<PlatformClient>,
    /// For whom.
    pub user: UserId,
    /// The first part of the user's language tag.
    pub tag: String,
    /// For sentences.
    pub language: SpokenLanguage,
    /// Who is asked, and on what.
    pub glasses: Arc<dyn Glasses>,
    /// Whether questions are spoken.
    pub speak: SpeechMode,
    /// The open question.
    pub approvals: Arc<ApprovalPrompt>,
    /// How long it is open.
    pub approval_wait: Duration,
    /// Longest call.
    pub call_wait: Duration,
    /// What the turn has to know.
    pub notes: Arc<AnswerNotes>,
    /// What was listed already, for the first step.
    pub listing: Mutex<Option<Arc<UserTools>>>,
}

impl RemoteTools {
    /// A listing that was just made: the first step needs no other.
    pub fn set_listing(&self, tools: Arc<UserTools>) {
        *self.listing.lock() = Some(tools);
    }

    /// Asks the user. The wait begins when the question is on the glasses.
    async fn ask_permission(&self, tool: &TurnTool, call: &ModelToolCall) -> Result<(), ToolError> {
        let about = &tool.about;
        let (title, app) =
            (about.title.as_deref().unwrap_or(&about.name), about.app.as_deref().unwrap_or_default());
        let with = format_arguments(call);
        let question = LocalizedMessage::MayI { tool: title, app, with: &with }.to_text(self.language);
        let device = self.glasses.device();
        let put = async {
            if device.has_display {
                self.glasses.show_text(&question, self.approval_wait).await;
            }
            if device.should_speak(self.speak) || !device.has_display {
                self.glasses.speak_text(&question).await;
            }
        };
        let text = match self.approvals.ask_user(put, self.approval_wait).await {
            ApprovalAnswer::Yes => return Ok(()),
            ApprovalAnswer::No => {
                "The user said no, so it was not run. Do not try again; say that nothing was changed."
            }
            ApprovalAnswer::Silence => {
                "The user did not answer, so it was not run. Do not try again; say that nothing was changed."
            }
        };
        Err(ToolError::new(ErrorCode::Denied, text))
    }

    fn refuse_call(&self, tool: &TurnTool, reason: &str) -> CallOutcome {
        let title = tool.about.title.as_deref().unwrap_or(&tool.about.name);
        let words = LocalizedMessage::Needs { tool: title, parts: reason }.to_text(self.language);
        self.notes.set_last_words(words.clone());
        Ok(CallReply::Done(ToolResult::from_mcp(McpResult::from_error_text(&words))))
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

/// The tools of one step, as the server listed them.
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
            ToolRunPolicy::Ask => tokio::select! {
                biased;
                () = cancel.cancelled() => return Err(cancelled_error()),
                allowed = remote.ask_permission(tool, call) => allowed?,
            },
            ToolRunPolicy::Refuse(reason) => return remote.refuse_call(tool, &reason),
        }
        let running = remote.platform.execute_tool(&remote.user, &tool.about.name, &call.arguments, &news);
        let outcome = tokio::select! {
            // Looked at first: what is not wanted any more is not sent.
            biased;
            () = cancel.cancelled() => Err(cancelled_error()),
            outcome = timeout(remote.call_wait, running) => outcome.unwrap_or_else(|_| Err(timeout_error())),
        };
        outcome.map_err(|error| explain_error(error, tool.about.app.as_deref().unwrap_or("The app")))
    }
}

fn cancelled_error() -> ToolError {
    ToolError::new(ErrorCode::Cancelled, "Nobody waits for it any more.")
}

fn timeout_error() -> ToolError {
    ToolError::new(ErrorCode::Timeout, "The tool did not answer in time; whether it ran is not known.")
}

/// Whether an app is down, as far as a user cares: it was asked, and nothing came of it.
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

/// An error with what a model shall do about it.
fn explain_error(mut error: ToolError, app: &str) -> ToolError {
    if is_app_down(error.code) {
        tracing::warn!(app, %error, "an app does not answer");
        let maybe = if error.code == ErrorCode::Timeout { " It may have run all the same." } else { "" };
        error.for_model = format!(
            "{app} does not answer right now.{maybe} Tell the user so in plain words, without technical terms, and do not call it \
             again in this answer."
        );
    }
    error
}

/// The arguments as people read them: `: milk, 2`. Names are left out, and long texts cut.
fn format_arguments(call: &ModelToolCall) -> String {
    let values: Vec<String> = match serde_json::from_str(call.arguments.get()) {
        Ok(serde_json::Value::Object(fields)) => fields
            .values()
            .map(|value| value.as_str().map_or_else(|| value.to_string(), str::to_owned))
            .collect(),
        _ => Vec::new(),
    };
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
    use serde_json::json;
    use toolyard_protocol::raw::to_raw;

    use super::*;

    fn with(arguments: serde_json::Value) -> String {
        format_arguments(&ModelToolCall {
            id: "c".to_owned(),
            name: "n".to_owned(),
            arguments: to_raw(&arguments),
        })
    }

    #[test]
    fn people_read_what_would_be_done() {
        assert_eq!(with(json!({ "todo_id": "7", "all": true })), " (7, true)");
        assert_eq!(with(json!({})), "");
        assert_eq!(with(json!("odd")), "");
        assert!(with(json!({ "text": "x".repeat(500) })).len() < 100);
    }

    #[test]
    fn what_is_down_is_told_without_technical_terms() {
        let error = explain_error(
            ToolError::new(ErrorCode::AppNotAvailable, "connect ECONNREFUSED 127.0.0.1"),
            "Todo",
        );
        assert!(error.for_model.starts_with("Todo does not answer right now. Tell the user so"));
        assert!(!error.for_model.contains("127"));
        let own = explain_error(ToolError::new(ErrorCode::ExecutionError, "There is no todo 7."), "Todo");
        assert_eq!(own.for_model, "There is no todo 7.");
    }
}
