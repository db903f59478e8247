//! What OpenAI's clients send to `POST /v1/responses`, and what they read.
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

/// A response: whole, or as far as it is in the first and last event of a stream.
#[derive(Debug, Clone, Serialize)]
pub struct ResponseBody {
    /// Its id. Nothing is stored under it.
    pub id: String,
    /// `response`
    pub object: &'static str,
    /// Seconds since 1970.
    pub created_at: i64,
    /// How far it is.
    pub status: ResponseStatus,
    /// Always false.
    pub background: bool,
    /// Why there is none.
    pub error: Option<ResponseError>,
    /// Why it is not whole.
    pub incomplete_details: Option<IncompleteDetails>,
    /// The model.
    pub model: String,
    /// What was said and called.
    pub output: Vec<OutputItem>,
    /// Always null: nothing is stored.
    pub previous_response_id: Option<String>,
    /// Always false: nothing is stored.
    pub store: bool,
    /// Always `disabled`.
    pub truncation: &'static str,
    /// What it cost, at its end.
    pub usage: Option<ResponseUsage>,
    /// The parameters of the request.
    #[serde(flatten)]
    pub echo: RequestEcho,
}

/// How far a response or a part of it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ResponseStatus {
    /// More comes.
    InProgress,
    /// It is whole.
    Completed,
    /// It ended before it was whole.
    Incomplete,
    /// There is none.
    Failed,
}

/// Why there is no response.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ResponseError {
    /// `server_error` or `rate_limit_exceeded`
    pub code: &'static str,
    /// For people.
    pub message: String,
}

/// Why a response is not whole.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct IncompleteDetails {
    /// `max_output_tokens`, `content_filter`, and of this server `steps` and `time`.
    pub reason: &'static str,
}

/// What a response cost.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct ResponseUsage {
    /// Tokens that the model read.
    pub input_tokens: u64,
    /// Not known, so 0.
    pub input_tokens_details: InputTokens,
    /// Tokens that it wrote.
    pub output_tokens: u64,
    /// Not known, so 0.
    pub output_tokens_details: OutputTokens,
    /// Both.
    pub total_tokens: u64,
}

/// Of the tokens that were read.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct InputTokens {
    /// Read before.
    pub cached_tokens: u64,
}

/// Of the tokens that were written.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct OutputTokens {
    /// Thoughts.
    pub reasoning_tokens: u64,
}

impl ResponseUsage {
    /// Of these tokens.
    pub fn new(input_tokens: u64, output_tokens: u64) -> Self {
        let total_tokens = input_tokens.saturating_add(output_tokens);
        Self { input_tokens, output_tokens, total_tokens, ..Self::default() }
    }
}

/// The parameters of a request, as they come back with its response.
#[derive(Debug, Clone, Default, Serialize)]
pub struct RequestEcho {
    /// How the model shall behave.
    pub instructions: Option<String>,
    /// Most tokens of the answer.
    pub max_output_tokens: Option<u32>,
    /// The caller's own notes.
    pub metadata: Map<String, Value>,
    /// Whether several tools may be called at once.
    pub parallel_tool_calls: bool,
    /// How long the model thinks.
    pub reasoning: Value,
    /// Between 0 and 2.
    pub temperature: Option<f64>,
    /// What form the text has.
    pub text: Value,
    /// Whether tools may be called, and which.
    pub tool_choice: Value,
    /// What the caller runs itself.
    pub tools: Vec<Value>,
    /// Between 0 and 1.
    pub top_p: Option<f64>,
}

impl RequestEcho {
    /// `reasoning` of a response.
    pub(super) fn echo_reasoning(effort: Option<ReasoningEffort>) -> Value {
        json!({ "effort": effort.map(ReasoningEffort::as_str), "summary": null })
    }

    /// `text` of a response.
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

/// Something that was said or called.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum OutputItem {
    /// Words.
    Message {
        /// Its id.
        id: String,
        /// How far it is.
        status: ResponseStatus,
        /// `assistant`
        role: &'static str,
        /// The words; none at its beginning.
        content: Vec<OutputText>,
    },
    /// A call that the caller runs.
    FunctionCall {
        /// Its id.
        id: String,
        /// How far it is.
        status: ResponseStatus,
        /// Ties the result to it.
        call_id: String,
        /// What is called.
        name: String,
        /// JSON, as a text.
        arguments: String,
    },
}

/// Words of a message.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct OutputText {
    /// `output_text`
    pub r#type: &'static str,
    /// The words.
    pub text: String,
    /// Always none.
    pub annotations: [(); 0],
    /// Always none.
    pub logprobs: [(); 0],
}

impl OutputText {
    /// These words.
    pub fn new(text: impl Into<String>) -> Self {
        Self { r#type: "output_text", text: text.into(), annotations: [], logprobs: [] }
    }
}
