//! An answer, whole.

use serde_json::Value;

use crate::{
    message::Message,
    stream::{StreamFinish, TokenUsage},
    tool::ToolCall,
};

/// Why a chat ended.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum ChatFinish {
    /// Everything is said.
    Stop,
    /// No room for more.
    Length,
    /// The vendor held something back.
    ContentFilter,
    /// It waits for tools of a client. Of a whole answer: for none that this client was told of.
    ToolCalls,
    /// It waits for tools of this client, which were not run because the limit of rounds was reached.
    ToolRounds,
    /// Something went wrong.
    Error,
    /// Anything else: a budget of the server, or a word of a later one.
    Other(String),
    /// It is not over.
    Unfinished,
}

impl From<Option<StreamFinish>> for ChatFinish {
    fn from(word: Option<StreamFinish>) -> Self {
        match word {
            Some(StreamFinish::Stop) => Self::Stop,
            Some(StreamFinish::Length) => Self::Length,
            Some(StreamFinish::ContentFilter) => Self::ContentFilter,
            Some(StreamFinish::ToolCalls) => Self::ToolCalls,
            Some(StreamFinish::Error) => Self::Error,
            Some(StreamFinish::Other(word)) => Self::Other(word),
            None => Self::Other(String::new()),
        }
    }
}

/// What a call came to.
#[derive(Debug, Clone, PartialEq)]
pub struct CallResult {
    /// The call.
    pub call_id: String,
    /// The tool.
    pub tool: String,
    /// Its result; of a call that failed, `{"error": …}`.
    pub output: Value,
    /// Whether it failed.
    pub is_error: bool,
    /// Whether the server ran it.
    pub of_server: bool,
}

/// An answer, whole.
#[derive(Debug, Clone, PartialEq)]
pub struct ChatAnswer {
    /// Its words, each text on a line of its own.
    pub text: String,
    /// All calls, of the server and of this client, in order.
    pub calls: Vec<ToolCall>,
    /// What they came to. Calls without a result are open.
    pub results: Vec<CallResult>,
    /// Why it ended.
    pub finish: ChatFinish,
    /// What it cost, where the server says so.
    pub usage: Option<TokenUsage>,
    /// The conversation with this answer in it: every message, every call and result. Store it, and send it again with the next
    /// question.
    pub history: Vec<Message>,
    /// How many requests it took.
    pub rounds: u32,
    /// The model that answered, where the server says so.
    pub model: Option<String>,
}

impl ChatAnswer {
    /// Calls that nobody answered.
    pub fn open_calls(&self) -> impl Iterator<Item = &ToolCall> {
        self.calls.iter().filter(|call| !self.results.iter().any(|result| result.call_id == call.id))
    }

    /// The history with one more message of the user.
    pub fn and_then(&self, text: impl Into<String>) -> Vec<Message> {
        self.history.iter().cloned().chain([Message::user(text)]).collect()
    }
}
