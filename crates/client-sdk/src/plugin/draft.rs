//! A request before it goes out, as hooks may change it.

use toolyard_protocol::chat::ClientTool;

use crate::message::Message;

/// A request before it goes out. What is changed here holds for this one request: the history of the chat stays as it is, and
/// the next request begins from it again.
///
/// There is no secret in it: neither the token nor the user. Tools can be hidden, not added: what nobody would run must not be
/// offered.
#[derive(Debug, Clone, PartialEq)]
pub struct RequestDraft {
    /// The conversation.
    pub messages: Vec<Message>,
    /// How the model shall behave.
    pub system: Option<String>,
    /// Which model; none is the server's choice.
    pub model: Option<String>,
    /// Only tools of the server in these categories; none is all.
    pub categories: Vec<String>,
    round: u32,
    tools: Vec<ClientTool>,
}

impl RequestDraft {
    /// A draft, as in tests of a plugin.
    pub fn new(messages: Vec<Message>) -> Self {
        Self { messages, system: None, model: None, categories: Vec::new(), round: 1, tools: Vec::new() }
    }

    pub(crate) fn with_round(mut self, round: u32, tools: Vec<ClientTool>) -> Self {
        (self.round, self.tools) = (round, tools);
        self
    }

    /// Which request of the chat it is, from 1.
    pub fn round(&self) -> u32 {
        self.round
    }

    /// The tools of this client that are offered.
    pub fn tools(&self) -> &[ClientTool] {
        &self.tools
    }

    /// Does not offer a tool this time. A call of it all the same is run all the same.
    pub fn hide_tool(&mut self, name: &str) {
        self.tools.retain(|tool| tool.name != name);
    }
}
