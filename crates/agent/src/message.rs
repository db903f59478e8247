//! A conversation as models see it. Doors translate whatever their clients send into this, once.

use std::sync::Arc;

use serde_json::{Value, value::RawValue};

/// One message. The system text stands beside the messages, not among them.
#[derive(Debug, Clone)]
pub enum ModelMessage {
    /// From the user.
    User(Vec<UserPart>),
    /// From the model: text, and what it called.
    Assistant(AssistantMessage),
    /// What the calls of the message before came to, all of them.
    Tools(Vec<ToolAnswer>),
}

impl ModelMessage {
    /// A user's text.
    pub fn from_user_text(text: impl Into<String>) -> Self {
        Self::User(vec![UserPart::Text(text.into())])
    }
}

/// A part of what a user sends.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum UserPart {
    /// Words.
    Text(String),
    /// An image or another file.
    File {
        /// Such as `image/png`.
        media_type: String,
        /// Where it is.
        data: FileData,
    },
}

/// Where a file is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FileData {
    /// The vendor fetches it.
    Url(String),
    /// Here, base64.
    Base64(Arc<str>),
}

/// What a model said in one step.
#[derive(Debug, Clone, Default)]
pub struct AssistantMessage {
    /// Words for the user.
    pub text: String,
    /// What it called.
    pub calls: Vec<ModelToolCall>,
    /// What the vendor wants back unchanged with this message, such as signed thoughts. Lives as long as the turn.
    pub vendor_state: Option<Arc<Value>>,
}

/// A call of a tool, as the model made it.
#[derive(Debug, Clone)]
pub struct ModelToolCall {
    /// Ties the answer to it.
    pub id: String,
    /// The name as the model saw it.
    pub name: String,
    /// An object, unless the model got it wrong; raw.
    pub arguments: Box<RawValue>,
}

/// What one call came to, as the model reads it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolAnswer {
    /// The call.
    pub id: String,
    /// The tool, as the model called it.
    pub name: String,
    /// The result, or what went wrong.
    pub text: String,
    /// Whether it went wrong.
    pub is_error: bool,
}
