//! What a prompt's handler gives back: messages to begin a conversation with.

use serde::Serialize;
use serde_json::{Value, json};

/// Who says a message of a prompt.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum PromptRole {
    /// The user.
    User,
    /// The assistant.
    Assistant,
}

/// The messages of a prompt. A text alone is one message of the user.
///
/// ```
/// use toolyard_app_sdk::PromptReply;
///
/// let reply = PromptReply::new().user("Plan my day.").assistant("What comes first?").description("A planned day");
/// ```
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct PromptReply {
    #[serde(skip_serializing_if = "Option::is_none")]
    description: Option<String>,
    messages: Vec<PromptMessage>,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
struct PromptMessage {
    role: PromptRole,
    content: Value,
}

impl PromptReply {
    /// No message yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a text of the user.
    pub fn user(self, text: impl Into<String>) -> Self {
        self.content(PromptRole::User, json!({ "type": "text", "text": text.into() }))
    }

    /// Adds a text of the assistant.
    pub fn assistant(self, text: impl Into<String>) -> Self {
        self.content(PromptRole::Assistant, json!({ "type": "text", "text": text.into() }))
    }

    /// Adds any MCP content block: an image, an embedded resource.
    pub fn content(mut self, role: PromptRole, content: Value) -> Self {
        self.messages.push(PromptMessage { role, content });
        self
    }

    /// Says what the messages are for.
    pub fn description(mut self, description: impl Into<String>) -> Self {
        self.description = Some(description.into());
        self
    }
}

impl From<String> for PromptReply {
    fn from(text: String) -> Self {
        Self::new().user(text)
    }
}

impl From<&str> for PromptReply {
    fn from(text: &str) -> Self {
        Self::new().user(text)
    }
}
