//! Parses one line into one chunk. Fields are looked up one by one, so that older names and unknown fields are accepted.

use bytes::Bytes;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};
use toolyard_protocol::chat::ui::{NoticeData, ProgressData, ToolData};

use super::{StreamError, shorten};
use crate::tool::{ToolCall, first_text};

/// UTF-8 byte order mark.
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// Why a response ended, as the AI SDK names it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StreamFinish {
    /// The model finished.
    Stop,
    /// The token limit was reached.
    Length,
    /// The vendor filtered the content.
    ContentFilter,
    /// The client has to run tools.
    ToolCalls,
    /// An error occurred.
    Error,
    /// Any other reason.
    Other(String),
}

impl StreamFinish {
    fn parse(word: &str) -> Self {
        match word {
            "stop" => Self::Stop,
            "length" => Self::Length,
            "content-filter" => Self::ContentFilter,
            "tool-calls" | "tool_calls" => Self::ToolCalls,
            "error" => Self::Error,
            other => Self::Other(other.to_owned()),
        }
    }
}

/// The tokens that were used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct TokenUsage {
    /// Input tokens.
    pub input_tokens: u64,
    /// Output tokens.
    pub output_tokens: u64,
}

/// A chunk of the response stream.
#[derive(Debug, Clone, PartialEq)]
pub enum StreamChunk {
    /// The answer begins or continues.
    Start {
        /// The id of the message.
        message_id: Option<String>,
    },
    /// The model is called.
    StartStep,
    /// The model has answered, and its server-side calls are done.
    FinishStep,
    /// A text begins.
    TextStart {
        /// Its id in the stream.
        id: String,
    },
    /// More of a text.
    TextDelta {
        /// Its id in the stream.
        id: String,
        /// The text to append.
        delta: String,
    },
    /// A text ends.
    TextEnd {
        /// Its id in the stream.
        id: String,
    },
    /// Reasoning begins.
    ReasoningStart {
        /// Its id in the stream.
        id: String,
    },
    /// More reasoning.
    ReasoningDelta {
        /// Its id in the stream.
        id: String,
        /// The text to append.
        delta: String,
    },
    /// Reasoning ends.
    ReasoningEnd {
        /// Its id in the stream.
        id: String,
    },
    /// The input of a call begins.
    CallStart {
        /// The call.
        id: String,
        /// The tool.
        tool: String,
        /// Whether the server runs it.
        of_server: bool,
    },
    /// More of the input.
    CallDelta {
        /// The call.
        id: String,
    },
    /// A complete call.
    Call(ToolCall),
    /// A call with invalid input.
    CallError {
        /// The call.
        call: ToolCall,
        /// What is wrong.
        error: String,
    },
    /// The result of a call, or a preliminary result.
    Output {
        /// The call.
        id: String,
        /// The result.
        output: Value,
        /// Whether another result follows.
        preliminary: bool,
    },
    /// A call failed.
    OutputError {
        /// The call.
        id: String,
        /// Why.
        error: String,
    },
    /// A call was denied.
    OutputDenied {
        /// The call.
        id: String,
    },
    /// Which app a call belongs to.
    Tool(ToolData),
    /// Progress of a server-side call.
    Progress(ProgressData),
    /// Why the answer ends early.
    Notice(NoticeData),
    /// The answer failed and ends here.
    Error {
        /// The error message.
        text: String,
    },
    /// The server aborted the answer.
    Abort,
    /// The answer ends.
    Finish {
        /// The reason, if the server reports it.
        reason: Option<StreamFinish>,
        /// The tokens used, if the server reports them.
        usage: Option<TokenUsage>,
    },
    /// Anything else.
    Other {
        /// Its type.
        kind: String,
    },
}

/// The JSON of a line. `None` if the line is not data or not a chunk, such as `[DONE]`.
pub(super) fn chunk_json(line: Bytes) -> Option<Bytes> {
    let text = line.strip_prefix(BYTE_ORDER_MARK).unwrap_or(&line);
    let data = text.strip_prefix(b"data:")?.trim_ascii();
    data.starts_with(b"{").then(|| line.slice_ref(data))
}

impl StreamChunk {
    pub(super) fn parse(json: &[u8]) -> Result<Self, StreamError> {
        let no_json = || StreamError::InvalidJson { shown: shorten(&String::from_utf8_lossy(json)) };
        let fields: Map<String, Value> = serde_json::from_slice(json).map_err(|_| no_json())?;
        let kind = first_text(&fields, &["type"]).unwrap_or_default().to_owned();
        ChunkFields(&fields)
            .to_chunk(&kind)
            .map_err(|why| StreamError::BadChunk { kind: shorten(&kind), why })
    }

    /// Its type on the wire.
    pub fn kind(&self) -> &str {
        match self {
            Self::Start { .. } => "start",
            Self::StartStep => "start-step",
            Self::FinishStep => "finish-step",
            Self::TextStart { .. } => "text-start",
            Self::TextDelta { .. } => "text-delta",
            Self::TextEnd { .. } => "text-end",
            Self::ReasoningStart { .. } => "reasoning-start",
            Self::ReasoningDelta { .. } => "reasoning-delta",
            Self::ReasoningEnd { .. } => "reasoning-end",
            Self::CallStart { .. } => "tool-input-start",
            Self::CallDelta { .. } => "tool-input-delta",
            Self::Call(_) => "tool-input-available",
            Self::CallError { .. } => "tool-input-error",
            Self::Output { .. } => "tool-output-available",
            Self::OutputError { .. } => "tool-output-error",
            Self::OutputDenied { .. } => "tool-output-denied",
            Self::Tool(_) => "data-tool",
            Self::Progress(_) => "data-progress",
            Self::Notice(_) => "data-notice",
            Self::Error { .. } => "error",
            Self::Abort => "abort",
            Self::Finish { .. } => "finish",
            Self::Other { kind } => kind,
        }
    }
}

struct ChunkFields<'a>(&'a Map<String, Value>);

impl ChunkFields<'_> {
    fn to_chunk(&self, kind: &str) -> Result<StreamChunk, String> {
        Ok(match kind {
            "" => return Err("`type` is missing".to_owned()),
            "start" => {
                StreamChunk::Start { message_id: first_text(self.0, &["messageId"]).map(str::to_owned) }
            }
            "start-step" => StreamChunk::StartStep,
            "finish-step" => StreamChunk::FinishStep,
            "text-start" => StreamChunk::TextStart { id: self.required_text("id")? },
            "text-delta" => {
                StreamChunk::TextDelta { id: self.required_text("id")?, delta: self.required_text("delta")? }
            }
            "text-end" => StreamChunk::TextEnd { id: self.required_text("id")? },
            "reasoning-start" => StreamChunk::ReasoningStart { id: self.required_text("id")? },
            "reasoning-delta" => StreamChunk::ReasoningDelta {
                id: self.required_text("id")?,
                delta: self.required_text("delta")?,
            },
            "reasoning-end" => StreamChunk::ReasoningEnd { id: self.required_text("id")? },
            "tool-input-start" => {
                let ToolCall { id, tool, of_server, .. } = ToolCall::from_fields(self.0)?;
                StreamChunk::CallStart { id, tool, of_server }
            }
            "tool-input-delta" => StreamChunk::CallDelta { id: self.call_id()? },
            "tool-input-available" | "tool-call" => StreamChunk::Call(ToolCall::from_fields(self.0)?),
            "tool-input-error" => StreamChunk::CallError {
                call: ToolCall::from_fields(self.0)?,
                error: self.required_text("errorText")?,
            },
            "tool-output-available" | "tool-result" => self.output_chunk()?,
            "tool-output-error" => {
                StreamChunk::OutputError { id: self.call_id()?, error: self.required_text("errorText")? }
            }
            "tool-output-denied" => StreamChunk::OutputDenied { id: self.call_id()? },
            "data-tool" => self.data_chunk(kind, StreamChunk::Tool),
            "data-progress" => self.data_chunk(kind, StreamChunk::Progress),
            "data-notice" => self.data_chunk(kind, StreamChunk::Notice),
            // Other servers use other field names.
            "error" => {
                let text = first_text(self.0, &["errorText", "message", "detail", "error"]);
                StreamChunk::Error { text: text.unwrap_or("the server gave no reason").to_owned() }
            }
            "abort" => StreamChunk::Abort,
            "finish" => StreamChunk::Finish {
                reason: first_text(self.0, &["finishReason", "reason"]).map(StreamFinish::parse),
                usage: read_usage(self.0.get("messageMetadata")),
            },
            other => StreamChunk::Other { kind: other.to_owned() },
        })
    }

    /// A string, which may be empty.
    fn required_text(&self, name: &str) -> Result<String, String> {
        let text = self.0.get(name).and_then(Value::as_str);
        text.map(str::to_owned).ok_or_else(|| format!("`{name}` is missing or not a string"))
    }

    fn call_id(&self) -> Result<String, String> {
        let id = first_text(self.0, &["toolCallId", "id"]).map(str::to_owned);
        id.ok_or_else(|| "`toolCallId` is missing".to_owned())
    }

    fn output_chunk(&self) -> Result<StreamChunk, String> {
        let output = self.0.get("output").or_else(|| self.0.get("result")).cloned().unwrap_or_default();
        let preliminary = self.0.get("preliminary") == Some(&Value::Bool(true));
        Ok(StreamChunk::Output { id: self.call_id()?, output, preliminary })
    }

    /// Data types are not reserved: data of another shape belongs to another vendor and is not an error.
    fn data_chunk<T: DeserializeOwned>(
        &self,
        kind: &str,
        make: impl FnOnce(T) -> StreamChunk,
    ) -> StreamChunk {
        let data = self.0.get("data").cloned().unwrap_or_default();
        serde_json::from_value(data).map_or_else(|_| StreamChunk::Other { kind: kind.to_owned() }, make)
    }
}

/// Reads the usage from the message metadata, with the field names of all AI SDK versions.
fn read_usage(metadata: Option<&Value>) -> Option<TokenUsage> {
    let metadata = metadata?;
    let usage = metadata.get("totalUsage").or_else(|| metadata.get("usage"))?;
    let count = |names: [&str; 2]| names.iter().find_map(|name| usage.get(*name)?.as_u64());
    Some(TokenUsage {
        input_tokens: count(["inputTokens", "promptTokens"])?,
        output_tokens: count(["outputTokens", "completionTokens"])?,
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn read(chunk: Value) -> Result<StreamChunk, String> {
        StreamChunk::parse(chunk.to_string().as_bytes()).map_err(|error| error.to_string())
    }

    #[test]
    fn older_names_of_calls_and_results_are_read() {
        let call = ToolCall::new("c", "t", json!({ "a": 1 }));
        for chunk in [
            json!({ "type": "tool-input-available", "toolCallId": "c", "toolName": "t", "input": { "a": 1 } }),
            json!({ "type": "tool-call", "toolCallId": "c", "toolName": "t", "args": { "a": 1 } }),
            json!({ "type": "tool-call", "id": "c", "name": "t", "arguments": { "a": 1 } }),
        ] {
            assert_eq!(read(chunk), Ok(StreamChunk::Call(call.clone())));
        }
        let output = StreamChunk::Output { id: "c".to_owned(), output: json!(1), preliminary: false };
        assert_eq!(
            read(json!({ "type": "tool-output-available", "toolCallId": "c", "output": 1 })),
            Ok(output.clone())
        );
        assert_eq!(read(json!({ "type": "tool-result", "toolCallId": "c", "result": 1 })), Ok(output));
        for word in ["tool-calls", "tool_calls"] {
            let finish = StreamChunk::Finish { reason: Some(StreamFinish::ToolCalls), usage: None };
            assert_eq!(read(json!({ "type": "finish", "finishReason": word })), Ok(finish));
        }
    }

    #[test]
    fn an_error_names_the_missing_field_of_a_chunk() {
        for (chunk, why) in [
            (
                json!({ "type": "text-delta", "id": "t" }),
                "a chunk `text-delta` cannot be read: `delta` is missing or not a string",
            ),
            (json!({ "type": "text-start", "id": 5 }), "`id` is missing"),
            (json!({ "type": "tool-input-available", "toolName": "t" }), "`toolCallId` is missing"),
            (json!({ "type": "tool-output-error", "toolCallId": "c" }), "`errorText` is missing"),
            (json!({ "type": 5 }), "`type` is missing"),
        ] {
            let error = read(chunk).unwrap_err();
            assert!(error.contains(why), "{why}: {error}");
        }
    }

    #[test]
    fn token_usage_is_read_from_the_metadata() {
        let of = |metadata: Value| match read(json!({ "type": "finish", "messageMetadata": metadata })) {
            Ok(StreamChunk::Finish { usage, .. }) => usage,
            other => panic!("{other:?}"),
        };
        let usage = Some(TokenUsage { input_tokens: 3, output_tokens: 4 });
        assert_eq!(of(json!({ "usage": { "inputTokens": 3, "outputTokens": 4 } })), usage);
        assert_eq!(of(json!({ "totalUsage": { "promptTokens": 3, "completionTokens": 4 } })), usage);
        assert_eq!(of(json!({ "usage": { "inputTokens": 3 } })), None);
        assert_eq!(of(json!("odd")), None);
    }

    #[test]
    fn an_error_always_has_a_text() {
        assert_eq!(
            read(json!({ "type": "error", "errorText": "no" })),
            Ok(StreamChunk::Error { text: "no".to_owned() })
        );
        assert_eq!(
            read(json!({ "type": "error", "message": "no" })),
            Ok(StreamChunk::Error { text: "no".to_owned() })
        );
        assert!(matches!(read(json!({ "type": "error" })), Ok(StreamChunk::Error { .. })));
    }
}
