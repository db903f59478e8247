//! A complete answer.

use serde_json::Value;

use crate::{
    message::Message,
    stream::{FinishReason, TokenUsage},
    tool::ToolCall,
};

/// Why a chat ended.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum ChatFinish {
    /// The model finished.
    Stop,
    /// The token limit was reached.
    Length,
    /// The vendor filtered the content.
    ContentFilter,
    /// It waits for client tools. If a complete answer ends with this, none of the pending calls was sent to this client.
    ToolCalls,
    /// It waits for tools of this client, which did not run because the limit of rounds was reached.
    ToolRounds,
    /// An error occurred.
    Error,
    /// Any other reason, such as a budget of the server.
    Other(String),
    /// It has not ended yet.
    Unfinished,
}

impl From<Option<FinishReason>> for ChatFinish {
    fn from(reason: Option<FinishReason>) -> Self {
        match reason {
            Some(FinishReason::Stop) => Self::Stop,
            Some(FinishReason::Length) => Self::Length,
            Some(FinishReason::ContentFilter) => Self::ContentFilter,
            Some(FinishReason::ToolCalls) => Self::ToolCalls,
            Some(FinishReason::Error) => Self::Error,
            Some(FinishReason::Other) => Self::Other("other".to_owned()),
            Some(FinishReason::Unknown(word)) => Self::Other(word),
            None => Self::Other(String::new()),
        }
    }
}

/// The result of a tool call.
#[derive(Debug, Clone, PartialEq)]
pub struct CallResult {
    /// The id of the call.
    pub call_id: String,
    /// The tool.
    pub tool: String,
    /// The result, or `{"error": …}` if the call failed.
    pub output: Value,
    /// Whether it failed.
    pub is_error: bool,
    /// Whether the server ran it.
    pub of_server: bool,
}

/// A complete answer.
#[derive(Debug, Clone, PartialEq)]
pub struct ChatAnswer {
    /// The text, each text part on its own line.
    pub text: String,
    /// All calls in order, those of the server and those of this client.
    pub calls: Vec<ToolCall>,
    /// The results. A call without a result is still open.
    pub results: Vec<CallResult>,
    /// Why it ended.
    pub finish: ChatFinish,
    /// The tokens used, if the server reports them.
    pub usage: Option<TokenUsage>,
    /// The conversation including this answer: every message, call and result. Store it and send it with the next question.
    pub history: Vec<Message>,
    /// How many requests it took.
    pub rounds: u32,
    /// The model that answered, if the server reports it.
    pub model: Option<String>,
}

impl ChatAnswer {
    /// Calls without a result.
    pub fn open_calls(&self) -> impl Iterator<Item = &ToolCall> {
        self.calls.iter().filter(|call| !self.results.iter().any(|result| result.call_id == call.id))
    }

    /// The history with another user message appended.
    pub fn and_then(&self, text: impl Into<String>) -> Vec<Message> {
        self.history.iter().cloned().chain([Message::user(text)]).collect()
    }
}
