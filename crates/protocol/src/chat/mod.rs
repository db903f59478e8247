//! Chat on the wire: what clients send to `POST /api/chat`, and the two stream formats they understand.
//!
//! | look for | in |
//! | --- | --- |
//! | the request, from any client | [`request`] |
//! | its messages, and the shapes of tool results | [`message`] |
//! | client tools and their rules | [`client_tool`] |
//! | the stream of AI SDK 5 and later | [`ui`] |
//! | the stream of AI SDK 4 and hustle-incognito | [`v1`] |
//! | OpenAI compatible APIs | [`openai`], [`responses`] |
//! | sampling and output format | [`sampling`] |

pub mod client_tool;
pub mod message;
pub mod openai;
pub mod request;
pub mod responses;
pub mod sampling;
pub mod ui;
pub mod v1;

pub use client_tool::{ClientTool, ClientToolLimits, ToolDialect};
pub use message::{CallApproval, CallState, ChatCall, ChatMessage, ChatPart, ChatRole};
pub use request::{ChatProtocol, ChatRequest};
pub use sampling::SamplingParams;

use crate::problem::Problem;

/// Query parameter for the stream format: `ui` or `v1`.
pub const PROTOCOL_QUERY: &str = "protocol";
/// Marks a stream of AI SDK 5 and later.
pub const UI_STREAM_HEADER: &str = "x-vercel-ai-ui-message-stream";
/// Marks a stream of AI SDK 4.
pub const DATA_STREAM_HEADER: &str = "x-vercel-ai-data-stream";
/// Set to `true` by clients that do not want platform tools.
pub const MCP_MODE_HEADER: &str = "x-mcp-mode";
/// Set to `1` by clients that show approval requests and send the user's answers.
pub const APPROVALS_HEADER: &str = "x-toolyard-approvals";

/// Why a response ended, in the terms of the AI SDK.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum FinishReason {
    /// The model is done.
    Stop,
    /// The token limit was reached.
    Length,
    /// The vendor filtered the content.
    ContentFilter,
    /// The client must run tools.
    ToolCalls,
    /// An error occurred.
    Error,
    /// Anything else, such as an exceeded budget.
    Other,
    /// A reason that is not in this list. Only read, never written by this server.
    #[serde(untagged)]
    Unknown(String),
}

impl From<&str> for FinishReason {
    fn from(word: &str) -> Self {
        match word {
            "stop" => Self::Stop,
            "length" => Self::Length,
            "content-filter" => Self::ContentFilter,
            "tool-calls" | "tool_calls" => Self::ToolCalls,
            "error" => Self::Error,
            "other" => Self::Other,
            word => Self::Unknown(word.to_owned()),
        }
    }
}

/// Parses a body, or reports where it is invalid.
fn read_body<T: serde::de::DeserializeOwned>(body: &[u8]) -> Result<T, Vec<Problem>> {
    let mut from = serde_json::Deserializer::from_slice(body);
    let read = serde_path_to_error::deserialize(&mut from).map_err(|error| {
        let path = error.path().to_string();
        vec![Problem::new(if path == "." { "" } else { &path }, error.into_inner().to_string())]
    })?;
    from.end()
        .map_err(|error| vec![Problem::new("", format!("unexpected content after the JSON: {error}"))])?;
    Ok(read)
}

/// Parses the remaining fields of a body, or reports where they are invalid.
fn read_fields<T: serde::de::DeserializeOwned>(
    fields: serde_json::Map<String, serde_json::Value>,
) -> Result<T, Vec<Problem>> {
    serde_path_to_error::deserialize(serde_json::Value::Object(fields)).map_err(|error| {
        let path = error.path().to_string();
        vec![Problem::new(path, error.into_inner().to_string())]
    })
}
