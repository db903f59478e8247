//! What OpenAI's clients send to `POST /v1/chat/completions`, and what they read.
//!
//! | look for | in |
//! | --- | --- |
//! | the request | `request` |
//! | which tools may be called | `choice` |
//! | parameters that are refused | `params` |

mod choice;
pub(super) mod params;
mod request;

use serde::Serialize;

use super::FinishReason;

pub use choice::{ToolChoiceMode, ToolSelection};
pub use request::CompletionRequest;

/// The last event of a stream.
pub const DONE: &str = "data: [DONE]\n\n";

/// One event of a stream.
#[derive(Debug, Clone, Serialize)]
pub struct CompletionChunk<'a> {
    /// The same for all events of an answer.
    pub id: &'a str,
    /// `chat.completion.chunk`
    pub object: &'static str,
    /// Seconds since 1970.
    pub created: i64,
    /// The model.
    pub model: &'a str,
    /// One, or none in the event with the usage.
    pub choices: Vec<ChunkChoice>,
    /// What it cost, in an event of its own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub usage: Option<CompletionUsage>,
}

/// What an event adds.
#[derive(Debug, Clone, Serialize)]
pub struct ChunkChoice {
    /// Always 0.
    pub index: u32,
    /// What is added.
    pub delta: ChunkDelta,
    /// Why it ends, in the last one.
    pub finish_reason: Option<&'static str>,
}

/// What is added.
#[derive(Debug, Clone, Default, Serialize)]
pub struct ChunkDelta {
    /// In the first one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub role: Option<&'static str>,
    /// Words.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub content: Option<String>,
    /// Calls that the caller runs.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tool_calls: Vec<CompletionToolCall>,
}

/// A call that the caller runs.
#[derive(Debug, Clone, Serialize)]
pub struct CompletionToolCall {
    /// Its place, in a stream.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub index: Option<usize>,
    /// Ties the answer to it.
    pub id: String,
    /// `function`
    pub r#type: &'static str,
    /// What is called.
    pub function: CompletionFunction,
}

/// What is called.
#[derive(Debug, Clone, Serialize)]
pub struct CompletionFunction {
    /// Its name.
    pub name: String,
    /// JSON, as a text.
    pub arguments: String,
}

/// An answer in one piece.
#[derive(Debug, Clone, Serialize)]
pub struct ChatCompletion<'a> {
    /// Its id.
    pub id: &'a str,
    /// `chat.completion`
    pub object: &'static str,
    /// Seconds since 1970.
    pub created: i64,
    /// The model.
    pub model: &'a str,
    /// One.
    pub choices: Vec<CompletionChoice>,
    /// What it cost.
    pub usage: CompletionUsage,
}

/// The answer.
#[derive(Debug, Clone, Serialize)]
pub struct CompletionChoice {
    /// Always 0.
    pub index: u32,
    /// What is said.
    pub message: CompletionMessage,
    /// Why it ended.
    pub finish_reason: &'static str,
}

/// What is said.
#[derive(Debug, Clone, Serialize)]
pub struct CompletionMessage {
    /// `assistant`
    pub role: &'static str,
    /// Words; null where there are none.
    pub content: Option<String>,
    /// Calls that the caller runs.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tool_calls: Vec<CompletionToolCall>,
}

/// What an answer cost.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct CompletionUsage {
    /// Tokens that the model read.
    pub prompt_tokens: u64,
    /// Tokens that it wrote.
    pub completion_tokens: u64,
    /// Both.
    pub total_tokens: u64,
}

impl CompletionUsage {
    /// Of these tokens.
    pub const fn new(prompt_tokens: u64, completion_tokens: u64) -> Self {
        Self {
            prompt_tokens,
            completion_tokens,
            total_tokens: prompt_tokens.saturating_add(completion_tokens),
        }
    }
}

/// Why an answer ended, in OpenAI's words.
pub const fn openai_finish_reason(reason: FinishReason) -> &'static str {
    match reason {
        FinishReason::Stop | FinishReason::Error | FinishReason::Other => "stop",
        FinishReason::Length => "length",
        FinishReason::ContentFilter => "content_filter",
        FinishReason::ToolCalls => "tool_calls",
    }
}

/// An error as OpenAI's clients read it.
#[derive(Debug, Clone, Serialize)]
pub struct OpenAiError {
    /// What went wrong.
    pub error: OpenAiErrorBody,
}

/// What went wrong.
#[derive(Debug, Clone, Serialize)]
pub struct OpenAiErrorBody {
    /// For people.
    pub message: String,
    /// `invalid_request_error`, `authentication_error`, `rate_limit_error`, `server_error`
    pub r#type: &'static str,
    /// Where.
    pub param: Option<String>,
    /// A code.
    pub code: Option<String>,
}
