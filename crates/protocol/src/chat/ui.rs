//! The UI message stream of AI SDK 5 and later: server-sent events with one chunk each.
//!
//! Clients of many versions refuse a chunk with one key that they do not know, so these are the chunks and keys that all of
//! them know, and nothing else. What is ours goes into `data-…` chunks.

use serde::{Deserialize, Serialize};
use serde_json::{Value, value::RawValue};

use super::FinishReason;
use crate::{line::JsonLine, raw::to_raw};

/// The last event of a stream.
pub const DONE: &str = "data: [DONE]\n\n";
/// Keeps a silent stream open; every client skips it.
pub const HEARTBEAT: &str = ": keep-alive\n\n";

/// One chunk.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "kebab-case", rename_all_fields = "camelCase")]
pub enum UiChunk {
    /// The first one.
    Start {
        /// The message that the answer is, or goes on with.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        message_id: Option<String>,
    },
    /// The model is asked. Without it every client asks again for ever.
    StartStep,
    /// It has answered, and what it called is done.
    FinishStep,
    /// A text begins.
    TextStart {
        /// The text.
        id: String,
    },
    /// It goes on.
    TextDelta {
        /// The text.
        id: String,
        /// More of it.
        delta: String,
    },
    /// It ends.
    TextEnd {
        /// The text.
        id: String,
    },
    /// Thoughts begin.
    ReasoningStart {
        /// The thoughts.
        id: String,
    },
    /// They go on.
    ReasoningDelta {
        /// The thoughts.
        id: String,
        /// More of them.
        delta: String,
    },
    /// They end.
    ReasoningEnd {
        /// The thoughts.
        id: String,
    },
    /// A call begins to be written.
    ToolInputStart {
        /// The call.
        tool_call_id: String,
        /// The tool, as the model calls it.
        tool_name: String,
        /// Whether the server runs it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        provider_executed: Option<bool>,
    },
    /// More of its arguments.
    ToolInputDelta {
        /// The call.
        tool_call_id: String,
        /// Text of JSON, cut anywhere.
        input_text_delta: String,
    },
    /// A call is whole.
    ToolInputAvailable {
        /// The call.
        tool_call_id: String,
        /// The tool, as the model calls it.
        tool_name: String,
        /// Its arguments.
        input: Box<RawValue>,
        /// Whether the server runs it; the client runs the others.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        provider_executed: Option<bool>,
    },
    /// What a call came to.
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
        /// The app and the tool, for people.
        data: ToolData,
    },
    /// How far a call is. Told, not kept.
    #[serde(rename = "data-progress")]
    DataProgress {
        /// Always.
        transient: bool,
        /// Which call, and how far.
        data: ProgressData,
    },
    /// Why the answer ends before it is through.
    #[serde(rename = "data-notice")]
    DataNotice {
        /// In a word and in words.
        data: NoticeData,
    },
    /// Something went wrong; the rest of the stream is not read.
    Error {
        /// What.
        error_text: String,
    },
    /// The last one.
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
    /// For people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// The app's name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub app: Option<String>,
    /// Where its picture is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub icon: Option<String>,
}

/// How far a call is.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ProgressData {
    /// The call.
    pub tool_call_id: String,
    /// How far, in the unit of `total`.
    pub progress: f64,
    /// How much there is, if known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub total: Option<f64>,
    /// For people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
}

/// Why an answer ends before it is through.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NoticeData {
    /// `steps`, `tokens`, `time`
    pub code: String,
    /// For people.
    pub message: String,
}

impl UiChunk {
    /// As it goes over the wire.
    pub fn to_event(&self) -> String {
        JsonLine::new(self).to_event()
    }
}

/// A result of a tool as clients get it, and as they send it back for the model to read: the text, unless it only repeats the
/// structured content as MCP asks for; else the structured content, else the blocks.
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
