//! One piece of an answer, read tolerantly: what is not known, or cannot be read, is passed over.

use serde::Deserialize;
use serde_json::Value;
use toolyard_protocol::chat::ui::{NoticeData, ProgressData, ToolData};

/// What a server says while it answers.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(tag = "type", rename_all = "kebab-case", rename_all_fields = "camelCase")]
pub(super) enum Chunk {
    /// The answer begins, or goes on.
    Start {
        #[serde(default)]
        message_id: Option<String>,
    },
    /// The model is asked.
    StartStep,
    /// More words.
    TextDelta { delta: String },
    /// The words are through.
    TextEnd,
    /// The model thinks.
    ReasoningDelta,
    /// A call is whole.
    ToolInputAvailable {
        tool_call_id: String,
        tool_name: String,
        #[serde(default)]
        input: Value,
        /// Whether the server runs it; else this client should.
        #[serde(default)]
        provider_executed: bool,
    },
    /// A call that cannot be made.
    ToolInputError {
        tool_call_id: String,
        tool_name: String,
        #[serde(default)]
        input: Value,
        error_text: String,
    },
    /// What a call came to, or has come to so far.
    ToolOutputAvailable {
        tool_call_id: String,
        #[serde(default)]
        output: Value,
        #[serde(default)]
        preliminary: bool,
    },
    /// A call failed.
    ToolOutputError { tool_call_id: String, error_text: String },
    /// Somebody said no to a call.
    ToolOutputDenied { tool_call_id: String },
    /// Which app a call belongs to.
    #[serde(rename = "data-tool")]
    Tool { data: ToolData },
    /// How far a call is.
    #[serde(rename = "data-progress")]
    Progress { data: ProgressData },
    /// Why the answer ends before it is through.
    #[serde(rename = "data-notice")]
    Notice { data: NoticeData },
    /// Something went wrong.
    Error { error_text: String },
    /// The server ended it.
    Abort,
    /// The end.
    Finish,
    /// Anything else.
    #[serde(other)]
    Other,
}

/// What a line of the stream carries; none where it is no data, or cannot be read.
pub(super) fn data(line: &[u8]) -> Option<&[u8]> {
    let data = line.strip_prefix(b"data:")?.trim_ascii();
    data.starts_with(b"{").then_some(data)
}

/// Reads the data of a line.
pub(super) fn read(data: &[u8]) -> Chunk {
    serde_json::from_slice(data).unwrap_or(Chunk::Other)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn unknown_chunks_and_keys_are_passed_over() {
        let delta = read(br#"{"type":"text-delta","id":"t1","delta":"hi","providerMetadata":{"x":1}}"#);
        assert_eq!(delta, Chunk::TextDelta { delta: "hi".to_owned() });
        assert_eq!(read(br#"{"type":"reset-step"}"#), Chunk::Other);
        assert_eq!(read(br#"{"type":"text-delta","delta":5}"#), Chunk::Other);
        assert_eq!(read(br#"{"type":"finish","finishReason":"interrupted","new":1}"#), Chunk::Finish);
        assert_eq!(read(br#"{"type":"text-end","id":"t1"}"#), Chunk::TextEnd);
        assert_eq!(read(b"{"), Chunk::Other);
    }

    #[test]
    fn a_call_may_come_without_arguments() {
        let call = read(br#"{"type":"tool-input-available","toolCallId":"c","toolName":"t"}"#);
        let Chunk::ToolInputAvailable { input, provider_executed, .. } = call else { panic!("{call:?}") };
        assert_eq!((input, provider_executed), (json!(null), false));
    }

    #[test]
    fn only_lines_with_data_count() {
        assert_eq!(data(b"data: {\"type\":\"x\"}"), Some(&b"{\"type\":\"x\"}"[..]));
        assert_eq!(data(b"data:{}"), Some(&b"{}"[..]));
        for line in [&b": keep-alive"[..], b"data: [DONE]", b"event: x", b"id: 1", b""] {
            assert_eq!(data(line), None);
        }
    }
}
