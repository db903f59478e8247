//! One line to one chunk. Members are looked up one by one, so that old spellings and new members do no harm.

use bytes::Bytes;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};
use toolyard_protocol::chat::ui::{NoticeData, ProgressData, ToolData};

use super::{StreamError, shown};
use crate::tool::{Call, first_text};

/// Starts a file that has one.
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// Why a response ended, in the words of the AI SDK.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FinishWord {
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
    /// Another word.
    Other(String),
}

impl FinishWord {
    fn read(word: &str) -> Self {
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

/// How many tokens were read and written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Usage {
    /// Read.
    pub input_tokens: u64,
    /// Written.
    pub output_tokens: u64,
}

/// What a server says while it answers.
#[derive(Debug, Clone, PartialEq)]
pub enum Chunk {
    /// The answer begins, or goes on.
    Start {
        /// The message that it is.
        message_id: Option<String>,
    },
    /// The model is asked.
    StartStep,
    /// It has answered, and what it called is done.
    FinishStep,
    /// A text begins.
    TextStart {
        /// Which.
        id: String,
    },
    /// It goes on.
    TextDelta {
        /// Which.
        id: String,
        /// More words.
        delta: String,
    },
    /// It ends.
    TextEnd {
        /// Which.
        id: String,
    },
    /// Thoughts begin.
    ReasoningStart {
        /// Which.
        id: String,
    },
    /// They go on.
    ReasoningDelta {
        /// Which.
        id: String,
        /// More of them.
        delta: String,
    },
    /// They end.
    ReasoningEnd {
        /// Which.
        id: String,
    },
    /// A call begins to be written.
    CallStart {
        /// The call.
        id: String,
        /// The tool.
        tool: String,
        /// Whether the server runs it.
        of_server: bool,
    },
    /// More of its arguments.
    CallDelta {
        /// The call.
        id: String,
    },
    /// A call is whole.
    Call(Call),
    /// A call that cannot be made.
    CallError {
        /// The call.
        call: Call,
        /// Why not.
        error: String,
    },
    /// What a call came to, or has come to so far.
    Output {
        /// The call.
        id: String,
        /// Its result.
        output: Value,
        /// Whether another one follows.
        preliminary: bool,
    },
    /// A call failed.
    OutputError {
        /// The call.
        id: String,
        /// Why.
        error: String,
    },
    /// Somebody said no to a call.
    OutputDenied {
        /// The call.
        id: String,
    },
    /// Which app a call belongs to.
    Tool(ToolData),
    /// How far a call of the server is.
    Progress(ProgressData),
    /// Why the answer ends before it is through.
    Notice(NoticeData),
    /// Something went wrong; the rest is not told.
    Error {
        /// What.
        text: String,
    },
    /// The server ended it.
    Abort,
    /// The end.
    Finish {
        /// Why, where the server says so.
        reason: Option<FinishWord>,
        /// What it cost, where the server says so.
        usage: Option<Usage>,
    },
    /// Anything else.
    Other {
        /// Its type.
        kind: String,
    },
}

/// What a line carries; none where it is no data, or data that is no chunk, such as `[DONE]`.
pub(super) fn data(line: Bytes) -> Option<Bytes> {
    let text = line.strip_prefix(BYTE_ORDER_MARK).unwrap_or(&line);
    let data = text.strip_prefix(b"data:")?.trim_ascii();
    data.starts_with(b"{").then(|| line.slice_ref(data))
}

impl Chunk {
    pub(super) fn read(json: &[u8]) -> Result<Self, StreamError> {
        let no_json = || StreamError::NoJson { shown: shown(&String::from_utf8_lossy(json)) };
        let fields: Map<String, Value> = serde_json::from_slice(json).map_err(|_| no_json())?;
        let kind = first_text(&fields, &["type"]).unwrap_or_default().to_owned();
        Fields(&fields).chunk(&kind).map_err(|why| StreamError::BadChunk { kind: shown(&kind), why })
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

struct Fields<'a>(&'a Map<String, Value>);

impl Fields<'_> {
    fn chunk(&self, kind: &str) -> Result<Chunk, String> {
        Ok(match kind {
            "" => return Err("`type` is missing".to_owned()),
            "start" => Chunk::Start { message_id: first_text(self.0, &["messageId"]).map(str::to_owned) },
            "start-step" => Chunk::StartStep,
            "finish-step" => Chunk::FinishStep,
            "text-start" => Chunk::TextStart { id: self.text("id")? },
            "text-delta" => Chunk::TextDelta { id: self.text("id")?, delta: self.text("delta")? },
            "text-end" => Chunk::TextEnd { id: self.text("id")? },
            "reasoning-start" => Chunk::ReasoningStart { id: self.text("id")? },
            "reasoning-delta" => Chunk::ReasoningDelta { id: self.text("id")?, delta: self.text("delta")? },
            "reasoning-end" => Chunk::ReasoningEnd { id: self.text("id")? },
            "tool-input-start" => {
                let Call { id, tool, of_server, .. } = Call::read(self.0)?;
                Chunk::CallStart { id, tool, of_server }
            }
            "tool-input-delta" => Chunk::CallDelta { id: self.call_id()? },
            "tool-input-available" | "tool-call" => Chunk::Call(Call::read(self.0)?),
            "tool-input-error" => {
                Chunk::CallError { call: Call::read(self.0)?, error: self.text("errorText")? }
            }
            "tool-output-available" | "tool-result" => self.output()?,
            "tool-output-error" => Chunk::OutputError { id: self.call_id()?, error: self.text("errorText")? },
            "tool-output-denied" => Chunk::OutputDenied { id: self.call_id()? },
            "data-tool" => self.data(kind, Chunk::Tool),
            "data-progress" => self.data(kind, Chunk::Progress),
            "data-notice" => self.data(kind, Chunk::Notice),
            // Other servers have other words for it.
            "error" => {
                let text = first_text(self.0, &["errorText", "message", "detail", "error"]);
                Chunk::Error { text: text.unwrap_or("the server does not say why").to_owned() }
            }
            "abort" => Chunk::Abort,
            "finish" => Chunk::Finish {
                reason: first_text(self.0, &["finishReason", "reason"]).map(FinishWord::read),
                usage: usage(self.0.get("messageMetadata")),
            },
            other => Chunk::Other { kind: other.to_owned() },
        })
    }

    /// A text, which may be empty.
    fn text(&self, name: &str) -> Result<String, String> {
        let text = self.0.get(name).and_then(Value::as_str);
        text.map(str::to_owned).ok_or_else(|| format!("`{name}` is missing or no text"))
    }

    fn call_id(&self) -> Result<String, String> {
        let id = first_text(self.0, &["toolCallId", "id"]).map(str::to_owned);
        id.ok_or_else(|| "`toolCallId` is missing".to_owned())
    }

    fn output(&self) -> Result<Chunk, String> {
        let output = self.0.get("output").or_else(|| self.0.get("result")).cloned().unwrap_or_default();
        let preliminary = self.0.get("preliminary") == Some(&Value::Bool(true));
        Ok(Chunk::Output { id: self.call_id()?, output, preliminary })
    }

    /// Names of data are anybody's, so what has another shape is somebody else's.
    fn data<T: DeserializeOwned>(&self, kind: &str, make: impl FnOnce(T) -> Chunk) -> Chunk {
        let data = self.0.get("data").cloned().unwrap_or_default();
        serde_json::from_value(data).map_or_else(|_| Chunk::Other { kind: kind.to_owned() }, make)
    }
}

/// Servers put it into the metadata of a message, in the words of the AI SDK's versions.
fn usage(metadata: Option<&Value>) -> Option<Usage> {
    let metadata = metadata?;
    let usage = metadata.get("totalUsage").or_else(|| metadata.get("usage"))?;
    let count = |names: [&str; 2]| names.iter().find_map(|name| usage.get(*name)?.as_u64());
    Some(Usage {
        input_tokens: count(["inputTokens", "promptTokens"])?,
        output_tokens: count(["outputTokens", "completionTokens"])?,
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn read(chunk: Value) -> Result<Chunk, String> {
        Chunk::read(chunk.to_string().as_bytes()).map_err(|error| error.to_string())
    }

    #[test]
    fn older_names_of_calls_and_results_are_read() {
        let call = Call::new("c", "t", json!({ "a": 1 }));
        for chunk in [
            json!({ "type": "tool-input-available", "toolCallId": "c", "toolName": "t", "input": { "a": 1 } }),
            json!({ "type": "tool-call", "toolCallId": "c", "toolName": "t", "args": { "a": 1 } }),
            json!({ "type": "tool-call", "id": "c", "name": "t", "arguments": { "a": 1 } }),
        ] {
            assert_eq!(read(chunk), Ok(Chunk::Call(call.clone())));
        }
        let output = Chunk::Output { id: "c".to_owned(), output: json!(1), preliminary: false };
        assert_eq!(
            read(json!({ "type": "tool-output-available", "toolCallId": "c", "output": 1 })),
            Ok(output.clone())
        );
        assert_eq!(read(json!({ "type": "tool-result", "toolCallId": "c", "result": 1 })), Ok(output));
        for word in ["tool-calls", "tool_calls"] {
            let finish = Chunk::Finish { reason: Some(FinishWord::ToolCalls), usage: None };
            assert_eq!(read(json!({ "type": "finish", "finishReason": word })), Ok(finish));
        }
    }

    #[test]
    fn what_a_known_chunk_needs_is_named() {
        for (chunk, why) in [
            (
                json!({ "type": "text-delta", "id": "t" }),
                "a chunk `text-delta` cannot be read: `delta` is missing or no text",
            ),
            (json!({ "type": "text-start", "id": 5 }), "`id` is missing"),
            (json!({ "type": "tool-input-available", "toolName": "t" }), "`toolCallId` is missing"),
            (json!({ "type": "tool-output-error", "toolCallId": "c" }), "`errorText` is missing"),
            (json!({ "type": 5 }), "`type` is missing"),
        ] {
            let told = read(chunk).unwrap_err();
            assert!(told.contains(why), "{why}: {told}");
        }
    }

    #[test]
    fn what_an_answer_cost_is_read_where_it_is_told() {
        let of = |metadata: Value| match read(json!({ "type": "finish", "messageMetadata": metadata })) {
            Ok(Chunk::Finish { usage, .. }) => usage,
            other => panic!("{other:?}"),
        };
        let usage = Some(Usage { input_tokens: 3, output_tokens: 4 });
        assert_eq!(of(json!({ "usage": { "inputTokens": 3, "outputTokens": 4 } })), usage);
        assert_eq!(of(json!({ "totalUsage": { "promptTokens": 3, "completionTokens": 4 } })), usage);
        assert_eq!(of(json!({ "usage": { "inputTokens": 3 } })), None);
        assert_eq!(of(json!("odd")), None);
    }

    #[test]
    fn an_error_has_some_words() {
        assert_eq!(
            read(json!({ "type": "error", "errorText": "no" })),
            Ok(Chunk::Error { text: "no".to_owned() })
        );
        assert_eq!(
            read(json!({ "type": "error", "message": "no" })),
            Ok(Chunk::Error { text: "no".to_owned() })
        );
        assert!(matches!(read(json!({ "type": "error" })), Ok(Chunk::Error { .. })));
    }
}
