//! Models, as the turn sees them: a conversation and tools in, a stream of events out.
//!
//! | look for | in |
//! | --- | --- |
//! | the port | here: [`Model`] |
//! | which models there are | [`ModelCatalog`], [`look`] |
//! | how a model is named | [`ModelName`] |
//! | servers that speak as OpenAI does: OpenAI, Ollama, llama-server, vLLM, OpenRouter | `compat` |
//! | Anthropic and Gemini, in their own protocols | `vendor`, on the crate `genai` |
//! | files, in this process | `files`, `local` |
//! | what a vendor does not take of a tool | [`limits`] |
//! | asking again, and when not | `retry` |
//! | errors in words that help | `trouble` |

mod calls;
mod compat;
pub mod discovery;
pub(crate) mod errors;
mod files;
pub(crate) mod ids;
pub mod limits;
mod name;
mod registry;
mod retry;
mod settings;
mod vendor;
pub(crate) mod web;

use std::{fmt, sync::Arc, time::Duration};

use async_trait::async_trait;
use futures_util::stream::BoxStream;
use serde::{Deserialize, Serialize};
use serde_json::{Value, value::RawValue};
use toolyard_protocol::chat::sampling::{SamplingOption, SamplingParams};

use crate::message::{ModelMessage, ModelToolCall};

pub use name::{InvalidModelName, ModelName};
pub use registry::ModelCatalog;
pub use settings::{
    FileModel, KeyEnvironment, LocalServer, ModelEndpoint, ModelSettings, RequestPolicy, ServerKind,
};

/// Something that answers. Asking does not block; dropping the stream ends the answer.
#[async_trait]
pub trait Model: Send + Sync + fmt::Debug {
    /// What it is.
    fn info(&self) -> &ModelInfo;

    /// Whether it honours a part of [`ModelRequest::sampling`]. A caller who asks for one that it does not learns so before
    /// anything is asked.
    fn supports(&self, _option: SamplingOption) -> bool {
        false
    }

    /// Asks it. An error here is one before the first token; later ones come in the stream, as its last item.
    async fn ask(&self, request: ModelRequest) -> Result<ModelStream, ModelError>;
}

/// An answer as it comes. The last item is [`ModelEvent::End`] or an error.
pub type ModelStream = BoxStream<'static, Result<ModelEvent, ModelError>>;

/// What a model is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModelInfo {
    /// The string by which callers choose it, such as `openai/gpt-5-mini`.
    pub id: String,
    /// How it calls tools.
    pub calling: CallingMode,
}

/// How a model calls tools.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum CallingMode {
    /// In the vendor's own way.
    Native,
    /// By text, as the system prompt asks it to.
    Prompted,
    /// One tool or none, chosen for it: for models of a few hundred million parameters.
    Small,
}

impl CallingMode {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Native, Self::Prompted, Self::Small];
}

/// What a model is asked.
#[derive(Debug, Clone, Default)]
pub struct ModelRequest {
    /// How it shall behave.
    pub system: Option<String>,
    /// The conversation.
    pub messages: Vec<ModelMessage>,
    /// What it may call, in a stable order. Vendors want them as long as the conversation has calls, so keep them and
    /// set the choice to [`ToolChoice::None`] where it shall not call.
    pub tools: Vec<Arc<ToolSpec>>,
    /// Whether it may, must or must not call.
    pub choice: ToolChoice,
    /// Where the system text asks for calls by text: whom, for models that can be held to it. Others pass it over.
    pub by_text: TextCalls,
    /// Most tokens of the answer.
    pub max_tokens: Option<u32>,
    /// Between 0 and 2.
    pub temperature: Option<f64>,
    /// How the answer is written, as far as the model [supports](Model::supports) it.
    pub sampling: SamplingParams,
}

/// Calls by text, as the system text asks for them: `<tool>{"name":…,"arguments":…}</tool>`.
#[derive(Debug, Clone, Default)]
pub struct TextCalls {
    /// What may be called.
    pub tools: Vec<Arc<ToolSpec>>,
    /// Whether something must be.
    pub required: bool,
}

/// Whether a model may call tools.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum ToolChoice {
    /// As it likes.
    #[default]
    Auto,
    /// At least one.
    Required,
    /// None: it shall come to an end in words.
    None,
}

/// A tool as a model sees it.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolSpec {
    /// Letters, digits, `_` and `-`, at most 64.
    pub name: String,
    /// What it does.
    pub description: String,
    /// JSON Schema of its arguments, an object.
    pub schema: Value,
}

/// What comes of asking.
#[derive(Debug, Clone)]
pub enum ModelEvent {
    /// Words for the user.
    Text(String),
    /// Thoughts, where the vendor shows them.
    Reasoning(String),
    /// A call begins. Optional; the same id comes again in [`ModelEvent::Call`].
    CallBegins {
        /// The call's id.
        id: String,
        /// The tool, as the model calls it.
        name: String,
    },
    /// The next piece of a call's arguments. Only after it began.
    CallText {
        /// The call's id.
        id: String,
        /// Text of JSON, cut anywhere.
        text: String,
    },
    /// A call, whole. Its name need not be one of the tools.
    Call(ModelToolCall),
    /// Something that was meant as a call and cannot be run. The model is told, and may try again.
    BadCall(BadCall),
    /// The end.
    End(ResponseEnd),
}

/// A call that cannot be run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BadCall {
    /// The call's id, ours.
    pub id: String,
    /// The tool, where it could be read.
    pub name: Option<String>,
    /// What the model wrote, cut.
    pub text: String,
    /// What is wrong with it, for the model.
    pub problem: String,
}

/// How an answer ended.
#[derive(Debug, Clone, Default)]
pub struct ResponseEnd {
    /// Why.
    pub stop: ModelStopReason,
    /// What it cost, where the vendor tells.
    pub usage: Option<ModelUsage>,
    /// What the vendor wants back with the message: see [`crate::message::Assistant::kept`].
    pub vendor_state: Option<Arc<Value>>,
}

/// Why an answer ended.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum ModelStopReason {
    /// It has said everything.
    #[default]
    Done,
    /// It wants to see what its calls come to.
    Calls,
    /// There was no room for more.
    Length,
    /// The vendor held something back.
    Filtered,
    /// Some other reason.
    Other,
}

/// Tokens.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ModelUsage {
    /// Read by the model.
    pub input: u64,
    /// Written by it.
    pub output: u64,
}

impl std::ops::AddAssign for ModelUsage {
    fn add_assign(&mut self, other: Self) {
        self.input = self.input.saturating_add(other.input);
        self.output = self.output.saturating_add(other.output);
    }
}

/// Why there is no answer, or no more of it.
#[derive(Debug, Clone, thiserror::Error)]
#[error("{text}")]
pub struct ModelError {
    /// Which kind of trouble.
    pub kind: ModelErrorKind,
    /// For whoever asked: what is wrong and what to do. No secrets, nothing that a vendor sent unread.
    pub text: String,
    /// For the log.
    pub cause: Option<String>,
    /// When to try again, where the vendor says so.
    pub retry_after: Option<Duration>,
}

/// Kinds of trouble with models.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ModelErrorKind {
    /// There is no such model here.
    Unknown,
    /// Nobody answers there.
    Unreachable,
    /// The key is missing or not good.
    Unauthorized,
    /// Too many requests.
    RateLimited,
    /// No credit left with the vendor: asking again does not help.
    NoCredit,
    /// The vendor is too busy, or failed.
    Unavailable,
    /// The vendor does not take the request: too long, or something in it.
    Refused,
    /// It broke off.
    Broken,
}

impl ModelErrorKind {
    /// Whether asking again may help, as long as nothing was heard yet.
    pub const fn is_transient(self) -> bool {
        matches!(self, Self::Unreachable | Self::RateLimited | Self::Unavailable | Self::Broken)
    }
}

/// Arguments of a call as raw JSON; nothing at all is an empty object, as vendors mean it.
pub fn parse_raw_arguments(text: &str) -> Result<Box<RawValue>, serde_json::Error> {
    let text = if text.trim().is_empty() { "{}" } else { text };
    serde_json::from_str(text)
}
