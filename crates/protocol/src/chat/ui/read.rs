//! Reads a chunk. Unknown fields are ignored, names of older servers are accepted, and an unknown type is not an error.

use serde::de::DeserializeOwned;
use serde_json::value::RawValue;

use super::{DataChunk, OtherChunk, UiChunk};
use crate::{
    raw::{RawFields, to_raw},
    text::truncate_chars,
};

/// How much of a type an error shows, in characters.
const SHOWN_CHARS: usize = 100;
/// The text of an error chunk that has none.
const NO_REASON: &str = "the server gave no reason";

const CALL_ID: &[&str] = &["toolCallId", "id"];
const TOOL_NAME: &[&str] = &["toolName", "name"];
const TOOL_INPUT: &[&str] = &["input", "args", "arguments"];
const TOOL_OUTPUT: &[&str] = &["output", "result"];
const ERROR_TEXT: &[&str] = &["errorText", "message", "detail", "error"];
const FINISH_REASON: &[&str] = &["finishReason", "reason"];

/// Why a chunk cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum UiChunkError {
    /// It is not a JSON object.
    #[error("a chunk is not a JSON object")]
    NotAnObject,
    /// A field is missing or has the wrong type.
    #[error("a chunk `{kind}` cannot be read: {why}")]
    InvalidField {
        /// The type of the chunk; empty if that is what is missing.
        kind: String,
        /// The field, and what is wrong with it.
        why: String,
    },
}

impl UiChunk {
    /// Reads the JSON of one chunk.
    pub fn parse(json: &[u8]) -> Result<Self, UiChunkError> {
        let fields: RawFields = serde_json::from_slice(json).map_err(|_| UiChunkError::NotAnObject)?;
        let kind = ChunkFields(&fields).text(&["type"]).unwrap_or_default();
        match ChunkFields(&fields).to_chunk(&kind) {
            Ok(Some(chunk)) => Ok(chunk),
            Ok(None) => Ok(Self::Other(OtherChunk::new(kind, fields))),
            Err(why) => {
                Err(UiChunkError::InvalidField { kind: truncate_chars(&kind, SHOWN_CHARS).into_owned(), why })
            }
        }
    }
}

/// Fields are looked up one by one, so that one wrong optional field does not lose the chunk.
struct ChunkFields<'a>(&'a RawFields);

impl ChunkFields<'_> {
    /// `None` if the type is unknown.
    fn to_chunk(&self, kind: &str) -> Result<Option<UiChunk>, String> {
        Ok(Some(match kind {
            "" => return Err("`type` is missing or not a string".to_owned()),
            "start" => UiChunk::Start {
                message_id: self.text(&["messageId"]),
                message_metadata: self.raw(&["messageMetadata"]),
            },
            "start-step" => UiChunk::StartStep,
            "finish-step" => UiChunk::FinishStep,
            "text-start" => UiChunk::TextStart { id: self.string("id")? },
            "text-delta" => UiChunk::TextDelta { id: self.string("id")?, delta: self.string("delta")? },
            "text-end" => UiChunk::TextEnd { id: self.string("id")? },
            "reasoning-start" => UiChunk::ReasoningStart { id: self.string("id")? },
            "reasoning-delta" => {
                UiChunk::ReasoningDelta { id: self.string("id")?, delta: self.string("delta")? }
            }
            "reasoning-end" => UiChunk::ReasoningEnd { id: self.string("id")? },
            "source-url" => UiChunk::SourceUrl {
                source_id: self.string("sourceId")?,
                url: self.string("url")?,
                title: self.text(&["title"]),
            },
            "source-document" => UiChunk::SourceDocument {
                source_id: self.string("sourceId")?,
                media_type: self.string("mediaType")?,
                title: self.string("title")?,
                filename: self.text(&["filename"]),
            },
            "file" => UiChunk::File { url: self.string("url")?, media_type: self.string("mediaType")? },
            "message-metadata" => UiChunk::MessageMetadata {
                message_metadata: self
                    .raw(&["messageMetadata"])
                    .ok_or_else(|| "`messageMetadata` is missing".to_owned())?,
            },
            "error" => {
                UiChunk::Error { error_text: self.text(ERROR_TEXT).unwrap_or_else(|| NO_REASON.to_owned()) }
            }
            "abort" => UiChunk::Abort { reason: self.text(&["reason"]) },
            "finish" => UiChunk::Finish {
                finish_reason: self.text(FINISH_REASON).map(|word| word.as_str().into()),
                message_metadata: self.raw(&["messageMetadata"]),
            },
            data if data.starts_with("data-") => self.to_data_chunk(data),
            _ => return self.to_tool_chunk(kind),
        }))
    }

    fn to_tool_chunk(&self, kind: &str) -> Result<Option<UiChunk>, String> {
        let provider_executed = || self.parse::<bool>("providerExecuted");
        Ok(Some(match kind {
            "tool-input-start" => UiChunk::ToolInputStart {
                tool_call_id: self.required_text(CALL_ID)?,
                tool_name: self.required_text(TOOL_NAME)?,
                provider_executed: provider_executed(),
            },
            "tool-input-delta" => UiChunk::ToolInputDelta {
                tool_call_id: self.required_text(CALL_ID)?,
                input_text_delta: self.string("inputTextDelta")?,
            },
            "tool-input-available" | "tool-call" => UiChunk::ToolInputAvailable {
                tool_call_id: self.required_text(CALL_ID)?,
                tool_name: self.required_text(TOOL_NAME)?,
                input: self.raw(TOOL_INPUT).unwrap_or_else(|| to_raw(&serde_json::Map::new())),
                provider_executed: provider_executed(),
            },
            "tool-input-error" => UiChunk::ToolInputError {
                tool_call_id: self.required_text(CALL_ID)?,
                tool_name: self.required_text(TOOL_NAME)?,
                input: self.raw(TOOL_INPUT).unwrap_or_else(|| to_raw(&serde_json::Map::new())),
                error_text: self.string("errorText")?,
                provider_executed: provider_executed(),
            },
            "tool-approval-request" => UiChunk::ToolApprovalRequest {
                approval_id: self.required_text(&["approvalId"])?,
                tool_call_id: self.required_text(&["toolCallId"])?,
                reason: self.text(&["reason"]),
                is_automatic: self.parse("isAutomatic"),
                signature: self.text(&["signature"]),
                approval_descriptor: self.raw(&["approvalDescriptor"]),
                input_schema_input: self.raw(&["inputSchemaInput"]),
            },
            "tool-approval-response" => UiChunk::ToolApprovalResponse {
                approval_id: self.required_text(&["approvalId"])?,
                approved: self
                    .parse("approved")
                    .ok_or_else(|| "`approved` is missing or not a boolean".to_owned())?,
                reason: self.text(&["reason"]),
                provider_executed: provider_executed(),
            },
            "tool-output-available" | "tool-result" => UiChunk::ToolOutputAvailable {
                tool_call_id: self.required_text(CALL_ID)?,
                output: self.raw(TOOL_OUTPUT).unwrap_or_else(|| RawValue::NULL.to_owned()),
                provider_executed: provider_executed(),
                preliminary: self.parse("preliminary"),
            },
            "tool-output-error" => UiChunk::ToolOutputError {
                tool_call_id: self.required_text(CALL_ID)?,
                error_text: self.string("errorText")?,
                provider_executed: provider_executed(),
            },
            "tool-output-denied" => UiChunk::ToolOutputDenied { tool_call_id: self.required_text(CALL_ID)? },
            _ => return Ok(None),
        }))
    }

    /// Data types are not reserved: data of another shape under one of our types belongs to another vendor.
    fn to_data_chunk(&self, kind: &str) -> UiChunk {
        let ours = match kind {
            "data-tool" => self.parse("data").map(|data: super::ToolData| UiChunk::DataTool {
                id: self.text(&["id"]).unwrap_or_else(|| data.tool_call_id.clone()),
                data,
            }),
            "data-approval" => {
                let id = self.text(&["id"]);
                id.zip(self.parse("data")).map(|(id, data)| UiChunk::DataApproval { id, data })
            }
            "data-sign-in" => self.parse("data").map(|data: super::SignInData| UiChunk::DataSignIn {
                id: self.text(&["id"]).unwrap_or_else(|| data.tool_call_id.clone()),
                transient: self.parse("transient").unwrap_or_default(),
                data,
            }),
            "data-progress" => {
                let transient = self.parse("transient").unwrap_or_default();
                self.parse("data").map(|data| UiChunk::DataProgress { transient, data })
            }
            "data-notice" => self.parse("data").map(|data| UiChunk::DataNotice { data }),
            _ => None,
        };
        ours.unwrap_or_else(|| self.to_vendor_data(kind))
    }

    fn to_vendor_data(&self, kind: &str) -> UiChunk {
        UiChunk::Data(DataChunk {
            kind: kind.to_owned(),
            id: self.text(&["id"]),
            transient: self.parse("transient"),
            data: self.raw(&["data"]).unwrap_or_else(|| RawValue::NULL.to_owned()),
        })
    }

    /// The first of these fields that exists, as raw JSON.
    fn raw(&self, names: &[&str]) -> Option<Box<RawValue>> {
        names.iter().find_map(|name| self.0.get(name)).map(RawValue::to_owned)
    }

    /// A field, if it exists and has this type.
    fn parse<T: DeserializeOwned>(&self, name: &str) -> Option<T> {
        self.0.parse_field(name)?.ok()
    }

    /// The first of these fields that is a string, unless it is empty.
    fn text(&self, names: &[&str]) -> Option<String> {
        names.iter().find_map(|name| self.parse::<String>(name)).filter(|text| !text.is_empty())
    }

    fn required_text(&self, names: &[&str]) -> Result<String, String> {
        self.text(names).ok_or_else(|| format!("`{}` is missing or not a string", names[0]))
    }

    /// A string, which may be empty.
    fn string(&self, name: &str) -> Result<String, String> {
        self.parse(name).ok_or_else(|| format!("`{name}` is missing or not a string"))
    }
}
