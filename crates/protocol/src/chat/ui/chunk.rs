//! One chunk, and how it is written.

use serde::Serialize;
use serde_json::value::RawValue;

use super::{ApprovalData, DataChunk, NoticeData, OtherChunk, ProgressData, SignInData, ToolData};
use crate::{chat::FinishReason, line::JsonLine};

/// One chunk.
///
/// It has the fields that the server writes or the client SDK reads. Some exist only in later versions of the AI SDK;
/// older clients reject them, so the server leaves them out unless the client asks for the feature.
#[derive(Debug, Clone, Serialize)]
#[serde(tag = "type", rename_all = "kebab-case", rename_all_fields = "camelCase")]
pub enum UiChunk {
    /// The first chunk.
    Start {
        /// The message that the response creates or continues.
        #[serde(skip_serializing_if = "Option::is_none")]
        message_id: Option<String>,
        /// Metadata of the message.
        #[serde(skip_serializing_if = "Option::is_none")]
        message_metadata: Option<Box<RawValue>>,
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
        #[serde(skip_serializing_if = "Option::is_none")]
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
        #[serde(skip_serializing_if = "Option::is_none")]
        provider_executed: Option<bool>,
    },
    /// A call has invalid arguments and does not run.
    ToolInputError {
        /// The call.
        tool_call_id: String,
        /// The tool name that the model used.
        tool_name: String,
        /// Its arguments, often as text because they are not valid JSON.
        input: Box<RawValue>,
        /// What is wrong with them.
        error_text: String,
        /// Whether the server would have run it.
        #[serde(skip_serializing_if = "Option::is_none")]
        provider_executed: Option<bool>,
    },
    /// A call waits for the user's approval. AI SDK 6 and later.
    ToolApprovalRequest {
        /// The request, which the response repeats.
        approval_id: String,
        /// The call.
        tool_call_id: String,
        /// Why approval is required. AI SDK 7.
        #[serde(skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
        /// Whether a policy decides instead of the user. AI SDK 7.
        #[serde(skip_serializing_if = "Option::is_none")]
        is_automatic: Option<bool>,
        /// Proves that the request is the server's; the response repeats it.
        #[serde(skip_serializing_if = "Option::is_none")]
        signature: Option<String>,
        /// Describes the request to the client, in a form that the server chooses.
        #[serde(skip_serializing_if = "Option::is_none")]
        approval_descriptor: Option<Box<RawValue>>,
        /// The arguments before the tool's schema transformed them.
        #[serde(skip_serializing_if = "Option::is_none")]
        input_schema_input: Option<Box<RawValue>>,
    },
    /// An approval request was decided. AI SDK 7.
    ToolApprovalResponse {
        /// The request.
        approval_id: String,
        /// The decision.
        approved: bool,
        /// Why.
        #[serde(skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
        /// Whether the server runs the call.
        #[serde(skip_serializing_if = "Option::is_none")]
        provider_executed: Option<bool>,
    },
    /// The result of a call.
    ToolOutputAvailable {
        /// The call.
        tool_call_id: String,
        /// Its result.
        output: Box<RawValue>,
        /// Whether the server ran it.
        #[serde(skip_serializing_if = "Option::is_none")]
        provider_executed: Option<bool>,
        /// Whether another result of the call follows.
        #[serde(skip_serializing_if = "Option::is_none")]
        preliminary: Option<bool>,
    },
    /// A call failed.
    ToolOutputError {
        /// The call.
        tool_call_id: String,
        /// Why.
        error_text: String,
        /// Whether the server ran it.
        #[serde(skip_serializing_if = "Option::is_none")]
        provider_executed: Option<bool>,
    },
    /// A call was denied and does not run. AI SDK 6 and later.
    ToolOutputDenied {
        /// The call.
        tool_call_id: String,
    },
    /// A web page that the model used.
    SourceUrl {
        /// The source.
        source_id: String,
        /// Its address.
        url: String,
        /// Its title.
        #[serde(skip_serializing_if = "Option::is_none")]
        title: Option<String>,
    },
    /// A document that the model used.
    SourceDocument {
        /// The source.
        source_id: String,
        /// Such as `application/pdf`.
        media_type: String,
        /// Its title.
        title: String,
        /// Its file name.
        #[serde(skip_serializing_if = "Option::is_none")]
        filename: Option<String>,
    },
    /// A file that the model created.
    File {
        /// Its URL, often a data URL.
        url: String,
        /// Such as `image/png`.
        media_type: String,
    },
    /// Which app a call belongs to.
    #[serde(rename = "data-tool")]
    DataTool {
        /// The call.
        id: String,
        /// The app and the tool, to display.
        data: ToolData,
    },
    /// What the user is asked before a call runs.
    #[serde(rename = "data-approval")]
    DataApproval {
        /// The approval.
        id: String,
        /// What will run, to display.
        data: ApprovalData,
    },
    /// A call waits until the user has signed in at its upstream. Transient: not part of the message.
    #[serde(rename = "data-sign-in")]
    DataSignIn {
        /// The call.
        id: String,
        /// Always.
        transient: bool,
        /// Where the user signs in.
        data: SignInData,
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
    /// Metadata of the message.
    MessageMetadata {
        /// Merged into the metadata so far.
        message_metadata: Box<RawValue>,
    },
    /// An error; clients ignore the rest of the stream.
    Error {
        /// The error message.
        error_text: String,
    },
    /// The server aborted the response.
    Abort {
        /// Why. AI SDK 6 and later.
        #[serde(skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
    },
    /// The last chunk.
    Finish {
        /// Why. Clients before AI SDK 5.0.92 do not know it.
        #[serde(skip_serializing_if = "Option::is_none")]
        finish_reason: Option<FinishReason>,
        /// Metadata of the message, such as the tokens used.
        #[serde(skip_serializing_if = "Option::is_none")]
        message_metadata: Option<Box<RawValue>>,
    },
    /// Data of another vendor: any other `data-…` type.
    #[serde(untagged)]
    Data(DataChunk),
    /// A type that is not in this list, unchanged. Readers ignore it.
    #[serde(untagged)]
    Other(OtherChunk),
}

/// Chunks are equal if they are written alike.
impl PartialEq for UiChunk {
    fn eq(&self, other: &Self) -> bool {
        JsonLine::new(self) == JsonLine::new(other)
    }
}

impl UiChunk {
    /// The chunk as a server-sent event.
    pub fn to_event(&self) -> String {
        JsonLine::new(self).to_event()
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
            Self::ToolInputStart { .. } => "tool-input-start",
            Self::ToolInputDelta { .. } => "tool-input-delta",
            Self::ToolInputAvailable { .. } => "tool-input-available",
            Self::ToolInputError { .. } => "tool-input-error",
            Self::ToolApprovalRequest { .. } => "tool-approval-request",
            Self::ToolApprovalResponse { .. } => "tool-approval-response",
            Self::ToolOutputAvailable { .. } => "tool-output-available",
            Self::ToolOutputError { .. } => "tool-output-error",
            Self::ToolOutputDenied { .. } => "tool-output-denied",
            Self::SourceUrl { .. } => "source-url",
            Self::SourceDocument { .. } => "source-document",
            Self::File { .. } => "file",
            Self::DataTool { .. } => "data-tool",
            Self::DataApproval { .. } => "data-approval",
            Self::DataSignIn { .. } => "data-sign-in",
            Self::DataProgress { .. } => "data-progress",
            Self::DataNotice { .. } => "data-notice",
            Self::MessageMetadata { .. } => "message-metadata",
            Self::Error { .. } => "error",
            Self::Abort { .. } => "abort",
            Self::Finish { .. } => "finish",
            Self::Data(data) => &data.kind,
            Self::Other(other) => other.kind(),
        }
    }
}
