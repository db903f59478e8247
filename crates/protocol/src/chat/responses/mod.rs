//! What OpenAI clients send to `POST /v1/responses`, and what they read.
//!
//! | look for | in |
//! | --- | --- |
//! | the request | `request` |
//! | its input: messages, calls, results | `input` |
//! | the response and its output | here |
//! | the events of a stream | `event` |

mod event;
mod input;
mod request;

use serde::Serialize;
use serde_json::{Map, Value, json};

pub use event::{ResponseEvent, SequencedEvent};
pub use request::ResponseRequest;

use super::sampling::{ReasoningEffort, ResponseFormat};

/// A response: complete, or partial in the first events of a stream.
#[derive(Debug, Clone, Serialize)]
pub struct ResponseBody {
    /// Its id. Nothing is stored under it.
    pub id: String,
    /// `response`
    pub object: &'static str,
    /// Unix time in seconds.
    pub created_at: i64,
    /// The status.
    pub status: ResponseStatus,
    /// Always false.
    pub background: bool,
    /// Why it failed.
    pub error: Option<ResponseError>,
    /// Why it is incomplete.
    pub incomplete_details: Option<IncompleteDetails>,
    /// The model.
    pub model: String,
    /// Messages and calls.
    pub output: Vec<OutputItem>,
    /// Always null: nothing is stored.
    pub previous_response_id: Option<String>,
    /// Always false: nothing is stored.
    pub store: bool,
    /// Always `disabled`.
    pub truncation: &'static str,
    /// Token usage, once it ended.
    pub usage: Option<ResponseUsage>,
    /// The parameters of the request.
    #[serde(flatten)]
    pub echo: RequestEcho,
}

/// The status of a response or of one item.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ResponseStatus {
    /// Not finished yet.
    InProgress,
    /// Complete.
    Completed,
    /// Ended early.
    Incomplete,
    /// Failed.
    Failed,
}

/// Why a response failed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ResponseError {
    /// `server_error` or `rate_limit_exceeded`
    pub code: &'static str,
    /// Human-readable message.
    pub message: String,
}

/// Why a response is incomplete.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct IncompleteDetails {
    /// `max_output_tokens`, `content_filter`; specific to this server: `steps` and `time`.
    pub reason: &'static str,
}

/// Token usage.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct ResponseUsage {
    /// Tokens in the input.
    pub input_tokens: u64,
    /// Unknown, so 0.
    pub input_tokens_details: InputTokens,
    /// Tokens in the output.
    pub output_tokens: u64,
    /// Unknown, so 0.
    pub output_tokens_details: OutputTokens,
    /// The sum.
    pub total_tokens: u64,
}

/// Details of the input tokens.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct InputTokens {
    /// Tokens read from a cache.
    pub cached_tokens: u64,
}

/// Details of the output tokens.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct OutputTokens {
    /// Tokens of reasoning.
    pub reasoning_tokens: u64,
}

impl ResponseUsage {
    /// Usage from both counts.
    pub fn new(input_tokens: u64, output_tokens: u64) -> Self {
        let total_tokens = input_tokens.saturating_add(output_tokens);
        Self { input_tokens, output_tokens, total_tokens, ..Self::default() }
    }
}

/// The parameters of a request, repeated in its response.
#[derive(Debug, Clone, Default, Serialize)]
pub struct RequestEcho {
    /// The system prompt.
    pub instructions: Option<String>,
    /// Maximum number of tokens in the response.
    pub max_output_tokens: Option<u32>,
    /// The caller's own key-value pairs.
    pub metadata: Map<String, Value>,
    /// Whether several tools may be called at once.
    pub parallel_tool_calls: bool,
    /// How much the model reasons.
    pub reasoning: Value,
    /// Between 0 and 2.
    pub temperature: Option<f64>,
    /// The output format.
    pub text: Value,
    /// Whether tools may be called, and which.
    pub tool_choice: Value,
    /// Client tools.
    pub tools: Vec<Value>,
    /// Between 0 and 1.
    pub top_p: Option<f64>,
}

impl RequestEcho {
    /// The `reasoning` member of a response.
    pub(super) fn echo_reasoning(effort: Option<ReasoningEffort>) -> Value {
        json!({ "effort": effort.map(ReasoningEffort::as_str), "summary": null })
    }

    /// The `text` member of a response.
    pub(super) fn echo_text(format: &ResponseFormat) -> Value {
        let format = match format {
            ResponseFormat::Text => json!({ "type": "text" }),
            ResponseFormat::JsonObject => json!({ "type": "json_object" }),
            ResponseFormat::JsonSchema(format) => json!({ "type": "json_schema", "name": format.name,
                "description": format.description, "schema": format.schema, "strict": format.strict }),
        };
        json!({ "format": format })
    }
}

/// A message or a call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum OutputItem {
    /// Text.
    Message {
        /// Its id.
        id: String,
        /// Its status.
        status: ResponseStatus,
        /// `assistant`
        role: &'static str,
        /// The text; empty at the start.
        content: Vec<OutputText>,
    },
    /// A call that the caller runs.
    FunctionCall {
        /// Its id.
        id: String,
        /// Its status.
        status: ResponseStatus,
        /// The call id; the result refers to it.
        call_id: String,
        /// The function.
        name: String,
        /// JSON as a string.
        arguments: String,
    },
}

/// Text of a message.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct OutputText {
    /// `output_text`
    pub r#type: &'static str,
    /// The text.
    pub text: String,
    /// Always empty.
    pub annotations: [(); 0],
    /// Always empty.
    pub logprobs: [(); 0],
}

impl OutputText {
    /// A text without annotations.
    pub fn new(text: impl Into<String>) -> Self {
        Self { r#type: "output_text", text: text.into(), annotations: [], logprobs: [] }
    }
}
