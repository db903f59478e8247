//! A conversation as models see it. Each door translates what its clients send into this form once.

use std::sync::Arc;

use serde_json::{Value, value::RawValue};

/// One message. The system text is kept separately, not as a message.
#[derive(Debug, Clone)]
pub enum ModelMessage {
    /// From the user.
    User(Vec<UserPart>),
    /// From the model: text and calls.
    Assistant(AssistantMessage),
    /// The results of all calls of the previous message.
    Tools(Vec<ToolAnswer>),
}

impl ModelMessage {
    /// A user message with this text.
    pub fn from_user_text(text: impl Into<String>) -> Self {
        Self::User(vec![UserPart::Text(text.into())])
    }
}

/// A part of a user message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum UserPart {
    /// Text.
    Text(String),
    /// An image or another file.
    File {
        /// Such as `image/png`.
        media_type: String,
        /// Its content.
        data: FileData,
    },
}

/// The content of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FileData {
    /// A URL, which the vendor fetches.
    Url(String),
    /// Inline, as base64.
    Base64(Arc<str>),
}

/// What a model returned in one step.
#[derive(Debug, Clone, Default)]
pub struct AssistantMessage {
    /// Text for the user.
    pub text: String,
    /// The calls it made.
    pub calls: Vec<ModelToolCall>,
    /// What the vendor wants back unchanged with this message, such as signed reasoning. Lives as long as the turn.
    pub vendor_state: Option<Arc<Value>>,
}

/// A tool call as the model made it.
#[derive(Debug, Clone)]
pub struct ModelToolCall {
    /// Links the result to the call.
    pub id: String,
    /// The name as the model saw it.
    pub name: String,
    /// The raw arguments. An object, unless the model made a mistake.
    pub arguments: Box<RawValue>,
}

/// The result of one call, as the model reads it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolAnswer {
    /// The call's id.
    pub id: String,
    /// The tool, as the model called it.
    pub name: String,
    /// The result, or the error.
    pub text: String,
    /// Whether it is an error.
    pub is_error: bool,
}
