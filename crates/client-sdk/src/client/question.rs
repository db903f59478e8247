//! What is asked.

use std::fmt;

use serde_json::Value;

use crate::{
    message::Message,
    tool::{CallRun, OnToolCall, ToolError},
};

/// What is asked: messages, and what differs from the client's own settings. A text or messages alone are a question, too.
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
    pub(crate) chunks: bool,
}

impl ChatQuestion {
    /// These messages.
    pub fn new(messages: impl IntoIterator<Item = Message>) -> Self {
        Self { messages: messages.into_iter().collect(), ..Self::default() }
    }

    /// Of this model.
    #[must_use]
    pub fn model(mut self, model: impl Into<String>) -> Self {
        self.model = Some(model.into());
        self
    }

    /// Which shall behave like this.
    #[must_use]
    pub fn system(mut self, text: impl Into<String>) -> Self {
        self.system = Some(text.into());
        self
    }

    /// With tools of the server in these categories only.
    #[must_use]
    pub fn categories<T: Into<String>>(mut self, categories: impl IntoIterator<Item = T>) -> Self {
        self.categories = categories.into_iter().map(Into::into).collect();
        self
    }

    /// With at most so many questions to the model in one response, within the server's own bound.
    #[must_use]
    pub fn max_steps(mut self, steps: u32) -> Self {
        self.max_steps = Some(steps);
        self
    }

    /// In a chat of this id, whose answer goes on for a while without a reader: see [`Client::resume`](crate::Client::resume).
    #[must_use]
    pub fn resumable(mut self, chat_id: impl Into<String>) -> Self {
        (self.chat_id, self.resumable) = (Some(chat_id.into()), true);
        self
    }

    /// Asked about each call, in place of the client's own function.
    #[must_use]
    pub fn on_tool_call<F, Fut>(mut self, function: F) -> Self
    where
        F: Fn(CallRun) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<Value, ToolError>> + Send + 'static,
    {
        self.on_tool_call = Some(boxed_handler(function));
        self
    }

    /// With [`Event::Chunk`](crate::Event::Chunk) for each chunk of the stream.
    #[must_use]
    pub fn with_chunks(mut self) -> Self {
        self.chunks = true;
        self
    }

    /// What is not said here is as the client has it.
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

/// A function without its types.
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
