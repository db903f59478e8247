//! A request before it is sent, which hooks may change.

use toolyard_protocol::chat::ClientTool;

use crate::message::Message;

/// A request before it is sent. Changes affect only this request: the history of the chat stays the same, and the next request
/// starts from it again.
///
/// It contains neither the token nor the user. Tools can be hidden but not added: a tool without an executor must not be offered.
#[derive(Debug, Clone, PartialEq)]
pub struct RequestDraft {
    /// The conversation.
    pub messages: Vec<Message>,
    /// The instructions for the model.
    pub system: Option<String>,
    /// The model. With `None` the server chooses.
    pub model: Option<String>,
    /// Only server tools in these categories are offered. If empty, all of them.
    pub categories: Vec<String>,
    round: u32,
    tools: Vec<ClientTool>,
}

impl RequestDraft {
    /// A draft with these messages, for tests of a plugin.
    pub fn new(messages: Vec<Message>) -> Self {
        Self { messages, system: None, model: None, categories: Vec::new(), round: 1, tools: Vec::new() }
    }

    pub(crate) fn with_round(mut self, round: u32, tools: Vec<ClientTool>) -> Self {
        (self.round, self.tools) = (round, tools);
        self
    }

    /// The number of the request in this chat, from 1.
    pub fn round(&self) -> u32 {
        self.round
    }

    /// The tools of this client that are offered.
    pub fn tools(&self) -> &[ClientTool] {
        &self.tools
    }

    /// Does not offer a tool in this request. If the model calls it anyway, it still runs.
    pub fn hide_tool(&mut self, name: &str) {
        self.tools.retain(|tool| tool.name != name);
    }
}
