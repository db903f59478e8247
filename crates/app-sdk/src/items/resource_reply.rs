//! The result of a resource's handler.

use base64::{Engine as _, engine::general_purpose::STANDARD};
use serde::Serialize;
use serde_json::{Value, value::RawValue};
use toolyard_protocol::raw::to_raw;

use crate::tool::CallFailure;

/// The contents of a resource: text, bytes, or not found. A [`Value`] becomes JSON, and `None` becomes not found.
#[derive(Debug, Clone, PartialEq)]
pub struct ResourceReply {
    content: ReplyContent,
    mime_type: Option<String>,
}

#[derive(Debug, Clone, PartialEq)]
enum ReplyContent {
    Text(String),
    Bytes(Vec<u8>),
    NotFound,
}

impl ResourceReply {
    /// Text.
    pub fn text(text: impl Into<String>) -> Self {
        Self { content: ReplyContent::Text(text.into()), mime_type: None }
    }

    /// Bytes, such as an image.
    pub fn bytes(bytes: impl Into<Vec<u8>>) -> Self {
        Self { content: ReplyContent::Bytes(bytes.into()), mime_type: None }
    }

    /// The resource does not exist for this user.
    pub fn not_found() -> Self {
        Self { content: ReplyContent::NotFound, mime_type: None }
    }

    /// Sets the MIME type, if it differs from the definition.
    pub fn mime_type(mut self, mime_type: impl Into<String>) -> Self {
        self.mime_type = Some(mime_type.into());
        self
    }

    /// The body of the response.
    pub(super) fn into_contents(
        self,
        uri: String,
        usual: Option<&str>,
    ) -> Result<Box<RawValue>, CallFailure> {
        let mime_type = self.mime_type.as_deref().or(usual);
        let (text, blob) = match self.content {
            ReplyContent::Text(text) => (Some(text), None),
            ReplyContent::Bytes(bytes) => (None, Some(STANDARD.encode(bytes))),
            ReplyContent::NotFound => {
                return Err(CallFailure::not_found(format!("there is no resource {uri}")));
            }
        };
        Ok(to_raw(&ResourceContents { contents: [ContentBlock { uri, mime_type, text, blob }] }))
    }
}

#[derive(Serialize)]
struct ResourceContents<'a> {
    contents: [ContentBlock<'a>; 1],
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ContentBlock<'a> {
    uri: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    mime_type: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    text: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    blob: Option<String>,
}

impl From<String> for ResourceReply {
    fn from(text: String) -> Self {
        Self::text(text)
    }
}

impl From<&str> for ResourceReply {
    fn from(text: &str) -> Self {
        Self::text(text)
    }
}

impl From<Value> for ResourceReply {
    fn from(content: Value) -> Self {
        Self::text(content.to_string()).mime_type("application/json")
    }
}

impl<R: Into<ResourceReply>> From<Option<R>> for ResourceReply {
    fn from(found: Option<R>) -> Self {
        found.map_or_else(Self::not_found, Into::into)
    }
}
