//! A question to the server.

use std::fmt;

use serde_json::Value;

use crate::{
    chat::{ApprovalDecision, ApprovalRequest, OnApproval, boxed_approver},
    message::Message,
    tool::{CallRun, OnToolCall, ToolError},
};

/// A question: messages, and settings that differ from the client's defaults. A text or messages convert into a question.
#[derive(Clone, Default)]
pub struct ChatQuestion {
    pub(crate) messages: Vec<Message>,
    pub(crate) model: Option<String>,
    pub(crate) system: Option<String>,
    pub(crate) categories: Vec<String>,
    pub(crate) chat_id: Option<String>,
    pub(crate) resumable: bool,
    pub(crate) max_steps: Option<u32>,
    pub(crate) on_tool_call: Option<OnToolCall>,
    pub(crate) on_approval: Option<OnApproval>,
    pub(crate) chunks: bool,
}

impl ChatQuestion {
    /// A question with these messages.
    pub fn new(messages: impl IntoIterator<Item = Message>) -> Self {
        Self { messages: messages.into_iter().collect(), ..Self::default() }
    }

    /// Selects the model.
    #[must_use]
    pub fn model(mut self, model: impl Into<String>) -> Self {
        self.model = Some(model.into());
        self
    }

    /// Sets the instructions for the model.
    #[must_use]
    pub fn system(mut self, text: impl Into<String>) -> Self {
        self.system = Some(text.into());
        self
    }

    /// Offers only server tools in these categories.
    #[must_use]
    pub fn categories<T: Into<String>>(mut self, categories: impl IntoIterator<Item = T>) -> Self {
        self.categories = categories.into_iter().map(Into::into).collect();
        self
    }

    /// Limits the model calls in one response. The server has its own limit.
    #[must_use]
    pub fn max_steps(mut self, steps: u32) -> Self {
        self.max_steps = Some(steps);
        self
    }

    /// Makes the chat resumable under this id: the server keeps its response for a while, also after the connection is lost. See
    /// [`Client::resume`](crate::Client::resume).
    #[must_use]
    pub fn resumable(mut self, chat_id: impl Into<String>) -> Self {
        (self.chat_id, self.resumable) = (Some(chat_id.into()), true);
        self
    }

    /// Runs each call, in place of the client's own handler.
    #[must_use]
    pub fn on_tool_call<F, Fut>(mut self, function: F) -> Self
    where
        F: Fn(CallRun) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<Value, ToolError>> + Send + 'static,
    {
        self.on_tool_call = Some(boxed_handler(function));
        self
    }

    /// Asks the user about calls of server tools, in place of the client's own handler. See
    /// [`ClientBuilder::on_approval`](crate::ClientBuilder::on_approval).
    #[must_use]
    pub fn on_approval<F, Fut>(mut self, function: F) -> Self
    where
        F: Fn(ApprovalRequest) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = ApprovalDecision> + Send + 'static,
    {
        self.on_approval = Some(boxed_approver(function));
        self
    }

    /// Adds a [`ChatEvent::Chunk`](crate::ChatEvent::Chunk) for each chunk of the stream.
    #[must_use]
    pub fn with_chunks(mut self) -> Self {
        self.chunks = true;
        self
    }

    /// Fills in what is not set from the client's defaults.
    pub(crate) fn with_defaults(self, defaults: &Self) -> Self {
        let categories =
            if self.categories.is_empty() { defaults.categories.clone() } else { self.categories };
        Self {
            model: self.model.or_else(|| defaults.model.clone()),
            system: self.system.or_else(|| defaults.system.clone()),
            max_steps: self.max_steps.or(defaults.max_steps),
            categories,
            ..self
        }
    }
}

/// Erases the types of a handler.
pub(super) fn boxed_handler<F, Fut>(function: F) -> OnToolCall
where
    F: Fn(CallRun) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = Result<Value, ToolError>> + Send + 'static,
{
    std::sync::Arc::new(move |run| Box::pin(function(run)))
}

impl From<&str> for ChatQuestion {
    fn from(text: &str) -> Self {
        Self::new([Message::user(text)])
    }
}

impl From<String> for ChatQuestion {
    fn from(text: String) -> Self {
        Self::new([Message::user(text)])
    }
}

impl From<Message> for ChatQuestion {
    fn from(message: Message) -> Self {
        Self::new([message])
    }
}

impl From<Vec<Message>> for ChatQuestion {
    fn from(messages: Vec<Message>) -> Self {
        Self::new(messages)
    }
}

impl<const N: usize> From<[Message; N]> for ChatQuestion {
    fn from(messages: [Message; N]) -> Self {
        Self::new(messages)
    }
}

impl fmt::Debug for ChatQuestion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Question").field("messages", &self.messages.len()).finish_non_exhaustive()
    }
}
