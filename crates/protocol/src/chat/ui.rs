//! The UI message stream of AI SDK 5 and later: server-sent events with one chunk each.
//!
//! Clients of many versions reject a chunk with an unknown key. So only chunks and keys that all of them know are used;
//! our own data goes into `data-…` chunks.

use serde::{Deserialize, Serialize};
use serde_json::{Value, value::RawValue};

use super::FinishReason;
use crate::{line::JsonLine, raw::to_raw};

/// The last event of a stream.
pub const DONE: &str = "data: [DONE]\n\n";
/// Keeps an idle stream open; clients ignore it.
pub const HEARTBEAT: &str = ": keep-alive\n\n";

/// One chunk.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "kebab-case", rename_all_fields = "camelCase")]
pub enum UiChunk {
    /// The first chunk.
    Start {
        /// The message that the response creates or continues.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        message_id: Option<String>,
    },
    /// A request to the model starts. Without it, clients would repeat the request forever.
    StartStep,
    /// The model responded and its calls are done.
    FinishStep,
    /// A text starts.
    TextStart {
        /// The text.
        id: String,
    },
    /// More of a text.
    TextDelta {
        /// The text.
        id: String,
        /// The addition.
        delta: String,
    },
    /// A text ends.
    TextEnd {
        /// The text.
        id: String,
    },
    /// Reasoning starts.
    ReasoningStart {
        /// The reasoning.
        id: String,
    },
    /// More reasoning.
    ReasoningDelta {
        /// The reasoning.
        id: String,
        /// The addition.
        delta: String,
    },
    /// Reasoning ends.
    ReasoningEnd {
        /// The reasoning.
        id: String,
    },
    /// The model starts to write a call.
    ToolInputStart {
        /// The call.
        tool_call_id: String,
        /// The tool name that the model used.
        tool_name: String,
        /// Whether the server runs it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        provider_executed: Option<bool>,
    },
    /// More of its arguments.
    ToolInputDelta {
        /// The call.
        tool_call_id: String,
        /// Part of a JSON string, split anywhere.
        input_text_delta: String,
    },
    /// A call is complete.
    ToolInputAvailable {
        /// The call.
        tool_call_id: String,
        /// The tool name that the model used.
        tool_name: String,
        /// Its arguments.
        input: Box<RawValue>,
        /// Whether the server runs it; if not, the client does.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        provider_executed: Option<bool>,
    },
    /// The result of a call.
    ToolOutputAvailable {
        /// The call.
        tool_call_id: String,
        /// Its result.
        output: Box<RawValue>,
        /// Whether the server ran it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        provider_executed: Option<bool>,
    },
    /// A call failed.
    ToolOutputError {
        /// The call.
        tool_call_id: String,
        /// Why.
        error_text: String,
        /// Whether the server ran it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        provider_executed: Option<bool>,
    },
    /// Which app a call belongs to.
    #[serde(rename = "data-tool")]
    DataTool {
        /// The call.
        id: String,
        /// The app and the tool, to display.
        data: ToolData,
    },
    /// Progress of a call. Transient: not part of the message.
    #[serde(rename = "data-progress")]
    DataProgress {
        /// Always.
        transient: bool,
        /// The call and its progress.
        data: ProgressData,
    },
    /// Why the response ends early.
    #[serde(rename = "data-notice")]
    DataNotice {
        /// A code and a message.
        data: NoticeData,
    },
    /// An error; clients ignore the rest of the stream.
    Error {
        /// The error message.
        error_text: String,
    },
    /// The last chunk.
    Finish {
        /// Why.
        finish_reason: FinishReason,
    },
}

/// Which app a call belongs to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ToolData {
    /// The call.
    pub tool_call_id: String,
    /// `package:tool`
    pub name: String,
    /// Human-readable title.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// The app's name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub app: Option<String>,
    /// URL of its icon.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub icon: Option<String>,
}

/// Progress of a call.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ProgressData {
    /// The call.
    pub tool_call_id: String,
    /// Progress so far, in the unit of `total`.
    pub progress: f64,
    /// The total, if known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub total: Option<f64>,
    /// Human-readable message.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
}

/// Why a response ends early.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NoticeData {
    /// `steps`, `tokens`, `time`
    pub code: String,
    /// Human-readable message.
    pub message: String,
}

impl UiChunk {
    /// The chunk as a server-sent event.
    pub fn to_event(&self) -> String {
        JsonLine::new(self).to_event()
    }
}

/// A tool result as clients receive it and send it back for the model: the text, unless it only repeats the
/// structured content as MCP recommends; else the structured content, else the blocks.
pub fn client_output(
    text: Option<&str>,
    structured: Option<&RawValue>,
    blocks: &[&RawValue],
) -> Box<RawValue> {
    match (text, structured) {
        (Some(text), Some(structured)) if !is_same_json(text, structured) => to_raw(text),
        (_, Some(structured)) => structured.to_owned(),
        (Some(text), None) => to_raw(text),
        (None, None) => to_raw(blocks),
    }
}

fn is_same_json(text: &str, structured: &RawValue) -> bool {
    let value = |text: &str| serde_json::from_str::<Value>(text).ok();
    value(text).is_some_and(|said| Some(said) == value(structured.get()))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn chunks_have_the_keys_that_every_client_knows() {
        let call = UiChunk::ToolInputAvailable {
            tool_call_id: "c".to_owned(),
            tool_name: "t".to_owned(),
            input: to_raw(&json!({ "a": 1 })),
            provider_executed: None,
        };
        assert_eq!(
            call.to_event(),
            "data: {\"type\":\"tool-input-available\",\"toolCallId\":\"c\",\"toolName\":\"t\",\"input\":{\"a\":1}}\n\n"
        );
        assert_eq!(UiChunk::StartStep.to_event(), "data: {\"type\":\"start-step\"}\n\n");
        assert_eq!(
            UiChunk::Finish { finish_reason: FinishReason::ToolCalls }.to_event(),
            "data: {\"type\":\"finish\",\"finishReason\":\"tool-calls\"}\n\n"
        );
        let progress =
            ProgressData { tool_call_id: "c".to_owned(), progress: 0.5, total: None, message: None };
        assert_eq!(
            UiChunk::DataProgress { transient: true, data: progress }.to_event(),
            "data: {\"type\":\"data-progress\",\"transient\":true,\"data\":{\"toolCallId\":\"c\",\"progress\":0.5}}\n\n"
        );
    }

    #[test]
    fn a_text_says_more_than_what_it_does_not_repeat() {
        let structured = to_raw(&json!({ "n": 1 }));
        let output = |text: Option<&str>| client_output(text, Some(&structured), &[]).get().to_owned();
        assert_eq!(output(Some("{ \"n\" : 1 }")), r#"{"n":1}"#);
        assert_eq!(output(Some("One of them.")), r#""One of them.""#);
        assert_eq!(output(None), r#"{"n":1}"#);
        assert_eq!(client_output(None, None, &[&structured]).get(), r#"[{"n":1}]"#);
    }
}
