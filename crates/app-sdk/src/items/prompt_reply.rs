//! The result of a prompt's handler: messages that start a conversation.

use serde::Serialize;
use serde_json::{Value, json};

/// The author of a prompt message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum PromptRole {
    /// The user.
    User,
    /// The assistant.
    Assistant,
}

/// The messages of a prompt. A text converts into one user message.
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
    /// A reply without messages.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a user message.
    pub fn user(self, text: impl Into<String>) -> Self {
        self.content(PromptRole::User, json!({ "type": "text", "text": text.into() }))
    }

    /// Adds an assistant message.
    pub fn assistant(self, text: impl Into<String>) -> Self {
        self.content(PromptRole::Assistant, json!({ "type": "text", "text": text.into() }))
    }

    /// Adds a message with any MCP content block, such as an image or an embedded resource.
    pub fn content(mut self, role: PromptRole, content: Value) -> Self {
        self.messages.push(PromptMessage { role, content });
        self
    }

    /// Describes the messages.
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
