//! Chat on the wire: what clients send to `POST /api/chat`, and the two streams that they understand.
//!
//! | look for | in |
//! | --- | --- |
//! | the request, whoever sends it | [`request`] |
//! | its messages, and the shapes in which results of tools come back | [`message`] |
//! | tools that the caller's own client runs, and the rules for them | [`client_tool`] |
//! | the stream of AI SDK 5 and later | [`ui`] |
//! | the stream of AI SDK 4 and hustle-incognito | [`v1`] |
//! | what OpenAI's clients speak | [`openai`], [`responses`] |
//! | how an answer is written | [`sampling`] |

pub mod client_tool;
pub mod message;
pub mod openai;
pub mod request;
pub mod responses;
pub mod sampling;
pub mod ui;
pub mod v1;

pub use client_tool::{ClientTool, ClientToolLimits, ToolDialect};
pub use message::{CallState, ChatCall, ChatMessage, ChatPart, ChatRole};
pub use request::{ChatProtocol, ChatRequest};
pub use sampling::SamplingParams;

use crate::problem::Problem;

/// Names the stream that the client wants: `ui` or `v1`.
pub const PROTOCOL_QUERY: &str = "protocol";
/// The mark of a stream of AI SDK 5 and later.
pub const UI_STREAM_HEADER: &str = "x-vercel-ai-ui-message-stream";
/// The mark of a stream of AI SDK 4.
pub const DATA_STREAM_HEADER: &str = "x-vercel-ai-data-stream";
/// Clients that run no platform tools say so with `true`.
pub const MCP_MODE_HEADER: &str = "x-mcp-mode";

/// Why an answer ended, in the words of the AI SDK.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FinishReason {
    /// Everything is said.
    Stop,
    /// No room for more.
    Length,
    /// The vendor held something back.
    ContentFilter,
    /// The client has to run something.
    ToolCalls,
    /// Something went wrong.
    Error,
    /// Anything else, such as a budget.
    Other,
}

/// A body as a type, or where it is not one.
fn read_body<T: serde::de::DeserializeOwned>(body: &[u8]) -> Result<T, Vec<Problem>> {
    let mut from = serde_json::Deserializer::from_slice(body);
    let read = serde_path_to_error::deserialize(&mut from).map_err(|error| {
        let path = error.path().to_string();
        vec![Problem::new(if path == "." { "" } else { &path }, error.into_inner().to_string())]
    })?;
    from.end()
        .map_err(|error| vec![Problem::new("", format!("the body goes on after its JSON: {error}"))])?;
    Ok(read)
}

/// What is left of a body as a type, or where it is not one.
fn read_fields<T: serde::de::DeserializeOwned>(
    fields: serde_json::Map<String, serde_json::Value>,
) -> Result<T, Vec<Problem>> {
    serde_path_to_error::deserialize(serde_json::Value::Object(fields)).map_err(|error| {
        let path = error.path().to_string();
        vec![Problem::new(path, error.into_inner().to_string())]
    })
}
