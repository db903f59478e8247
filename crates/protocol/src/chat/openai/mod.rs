//! What OpenAI clients send to `POST /v1/chat/completions`, and what they read.
//!
//! | look for | in |
//! | --- | --- |
//! | the request | `request` |
//! | which tools may be called | `choice` |
//! | unsupported parameters | `params` |

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
    /// The same for all events of a response.
    pub id: &'a str,
    /// `chat.completion.chunk`
    pub object: &'static str,
    /// Unix time in seconds.
    pub created: i64,
    /// The model.
    pub model: &'a str,
    /// One; none in the event with the usage.
    pub choices: Vec<ChunkChoice>,
    /// Token usage, in a separate event.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub usage: Option<CompletionUsage>,
}

/// The content of an event.
#[derive(Debug, Clone, Serialize)]
pub struct ChunkChoice {
    /// Always 0.
    pub index: u32,
    /// The addition.
    pub delta: ChunkDelta,
    /// Why it ended, in the last event.
    pub finish_reason: Option<&'static str>,
}

/// What an event adds.
#[derive(Debug, Clone, Default, Serialize)]
pub struct ChunkDelta {
    /// In the first event.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub role: Option<&'static str>,
    /// Text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub content: Option<String>,
    /// Calls that the caller runs.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tool_calls: Vec<CompletionToolCall>,
}

/// A call that the caller runs.
#[derive(Debug, Clone, Serialize)]
pub struct CompletionToolCall {
    /// Its index, in a stream.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub index: Option<usize>,
    /// The call id.
    pub id: String,
    /// `function`
    pub r#type: &'static str,
    /// The function.
    pub function: CompletionFunction,
}

/// The called function.
#[derive(Debug, Clone, Serialize)]
pub struct CompletionFunction {
    /// Its name.
    pub name: String,
    /// JSON as a string.
    pub arguments: String,
}

/// A response that is not streamed.
#[derive(Debug, Clone, Serialize)]
pub struct ChatCompletion<'a> {
    /// Its id.
    pub id: &'a str,
    /// `chat.completion`
    pub object: &'static str,
    /// Unix time in seconds.
    pub created: i64,
    /// The model.
    pub model: &'a str,
    /// One.
    pub choices: Vec<CompletionChoice>,
    /// Token usage.
    pub usage: CompletionUsage,
}

/// The response.
#[derive(Debug, Clone, Serialize)]
pub struct CompletionChoice {
    /// Always 0.
    pub index: u32,
    /// The message.
    pub message: CompletionMessage,
    /// Why it ended.
    pub finish_reason: &'static str,
}

/// The message of a response.
#[derive(Debug, Clone, Serialize)]
pub struct CompletionMessage {
    /// `assistant`
    pub role: &'static str,
    /// Text; null if there is none.
    pub content: Option<String>,
    /// Calls that the caller runs.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tool_calls: Vec<CompletionToolCall>,
}

/// Token usage.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct CompletionUsage {
    /// Tokens in the prompt.
    pub prompt_tokens: u64,
    /// Tokens in the completion.
    pub completion_tokens: u64,
    /// The sum.
    pub total_tokens: u64,
}

impl CompletionUsage {
    /// Usage from both counts.
    pub const fn new(prompt_tokens: u64, completion_tokens: u64) -> Self {
        Self {
            prompt_tokens,
            completion_tokens,
            total_tokens: prompt_tokens.saturating_add(completion_tokens),
        }
    }
}

/// Why a response ended, in OpenAI's terms.
pub const fn openai_finish_reason(reason: &FinishReason) -> &'static str {
    match reason {
        FinishReason::Stop | FinishReason::Error | FinishReason::Other | FinishReason::Unknown(_) => "stop",
        FinishReason::Length => "length",
        FinishReason::ContentFilter => "content_filter",
        FinishReason::ToolCalls => "tool_calls",
    }
}

/// An error as OpenAI clients read it.
#[derive(Debug, Clone, Serialize)]
pub struct OpenAiError {
    /// The error.
    pub error: OpenAiErrorBody,
}

/// The content of an error.
#[derive(Debug, Clone, Serialize)]
pub struct OpenAiErrorBody {
    /// Human-readable message.
    pub message: String,
    /// `invalid_request_error`, `authentication_error`, `rate_limit_error`, `server_error`
    pub r#type: &'static str,
    /// The parameter that caused it.
    pub param: Option<String>,
    /// An error code.
    pub code: Option<String>,
}
