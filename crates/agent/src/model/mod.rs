//! Models, as the turn sees them: a conversation and tools in, a stream of events out.
//!
//! | look for | in |
//! | --- | --- |
//! | the port | here: [`Model`] |
//! | which models there are | [`ModelCatalog`], [`discovery`] |
//! | how a model is named | [`ModelName`] |
//! | servers with OpenAI's protocol: OpenAI, Ollama, llama-server, vLLM, OpenRouter | `compat` |
//! | Anthropic and Gemini, in their own protocols | `vendor`, on the crate `genai` |
//! | models from files, in this process | `files`, `local` |
//! | which parts of a tool a vendor does not accept | [`limits`] |
//! | retries | `retry` |
//! | error texts | `errors` |

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

/// A model. Asking does not block. Dropping the stream cancels the response.
#[async_trait]
pub trait Model: Send + Sync + fmt::Debug {
    /// Its id, and how it calls tools.
    fn info(&self) -> &ModelInfo;

    /// Whether it supports an option of [`ModelRequest::sampling`]. A caller who sets an unsupported one gets an error
    /// before the model is asked.
    fn supports(&self, _option: SamplingOption) -> bool {
        false
    }

    /// Sends a request. An error returned here happened before the first token. Later errors are the last item of the
    /// stream.
    async fn ask(&self, request: ModelRequest) -> Result<ModelStream, ModelError>;
}

/// A response as it arrives. The last item is [`ModelEvent::End`] or an error.
pub type ModelStream = BoxStream<'static, Result<ModelEvent, ModelError>>;

/// What is known about a model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModelInfo {
    /// The id by which callers choose it, such as `openai/gpt-5-mini`.
    pub id: String,
    /// How it calls tools.
    pub calling: CallingMode,
}

/// How a model calls tools.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum CallingMode {
    /// With the vendor's own tool calls.
    Native,
    /// By text, as the system prompt asks.
    Prompted,
    /// At most one tool, chosen by scoring: for models of a few hundred million parameters.
    Small,
}

impl CallingMode {
    /// All modes.
    pub const ALL: [Self; 3] = [Self::Native, Self::Prompted, Self::Small];
}

/// A request to a model.
#[derive(Debug, Clone, Default)]
pub struct ModelRequest {
    /// The system text.
    pub system: Option<String>,
    /// The conversation.
    pub messages: Vec<ModelMessage>,
    /// The tools it may call, in a stable order. Vendors require them as long as the conversation has calls, so keep
    /// them and set the choice to [`ToolChoice::None`] if the model must not call.
    pub tools: Vec<Arc<ToolSpec>>,
    /// Whether it may, must or must not call a tool.
    pub choice: ToolChoice,
    /// The tools that the system text asks the model to call by text. Models that support a grammar are held to it,
    /// others ignore it.
    pub by_text: TextCalls,
    /// The most tokens of the response.
    pub max_tokens: Option<u32>,
    /// Between 0 and 2.
    pub temperature: Option<f64>,
    /// Sampling options, as far as the model [supports](Model::supports) them.
    pub sampling: SamplingParams,
}

/// Calls by text, as the system text asks for them: `<tool>{"name":…,"arguments":…}</tool>`.
#[derive(Debug, Clone, Default)]
pub struct TextCalls {
    /// The tools that may be called.
    pub tools: Vec<Arc<ToolSpec>>,
    /// Whether the model must call one.
    pub required: bool,
}

/// Whether a model may call tools.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum ToolChoice {
    /// The model decides.
    #[default]
    Auto,
    /// At least one.
    Required,
    /// No call: the model must answer in text.
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

/// An event of a response.
#[derive(Debug, Clone)]
pub enum ModelEvent {
    /// Text for the user.
    Text(String),
    /// Reasoning, if the vendor shows it.
    Reasoning(String),
    /// A call begins. Optional. The same id occurs again in [`ModelEvent::Call`].
    CallBegins {
        /// The call's id.
        id: String,
        /// The tool, as the model calls it.
        name: String,
    },
    /// The next part of a call's arguments. Only after the call began.
    CallText {
        /// The call's id.
        id: String,
        /// Part of the JSON text, cut anywhere.
        text: String,
    },
    /// A complete call. Its name need not be one of the tools.
    Call(ModelToolCall),
    /// A call that cannot be run. The model is told why and may try again.
    BadCall(BadCall),
    /// The end of the response.
    End(ResponseEnd),
}

/// A call that cannot be run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BadCall {
    /// The call's id, made by us.
    pub id: String,
    /// The tool, if the name could be read.
    pub name: Option<String>,
    /// What the model wrote, truncated.
    pub text: String,
    /// What is wrong with it, for the model.
    pub problem: String,
}

/// How a response ended.
#[derive(Debug, Clone, Default)]
pub struct ResponseEnd {
    /// Why it ended.
    pub stop: ModelStopReason,
    /// The tokens it used, if the vendor reports them.
    pub usage: Option<ModelUsage>,
    /// What the vendor wants back with the message, see
    /// [`AssistantMessage::vendor_state`](crate::message::AssistantMessage::vendor_state).
    pub vendor_state: Option<Arc<Value>>,
}

/// Why a response ended.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum ModelStopReason {
    /// The model finished.
    #[default]
    Done,
    /// The model needs the results of its calls.
    Calls,
    /// The token limit was reached.
    Length,
    /// The vendor withheld content.
    Filtered,
    /// Some other reason.
    Other,
}

/// Token counts.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ModelUsage {
    /// Tokens in the prompt.
    pub input: u64,
    /// Tokens in the response.
    pub output: u64,
}

impl std::ops::AddAssign for ModelUsage {
    fn add_assign(&mut self, other: Self) {
        self.input = self.input.saturating_add(other.input);
        self.output = self.output.saturating_add(other.output);
    }
}

/// Why there is no response, or only a part of it.
#[derive(Debug, Clone, thiserror::Error)]
#[error("{text}")]
pub struct ModelError {
    /// The kind of error.
    pub kind: ModelErrorKind,
    /// For the caller: what is wrong and what to do. Contains no secrets and no unchecked text of a vendor.
    pub text: String,
    /// For the log.
    pub cause: Option<String>,
    /// When to retry, if the vendor says so.
    pub retry_after: Option<Duration>,
}

/// Kinds of model errors.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ModelErrorKind {
    /// There is no such model.
    Unknown,
    /// The server cannot be reached.
    Unreachable,
    /// The key is missing or invalid.
    Unauthorized,
    /// Too many requests.
    RateLimited,
    /// No credit left with the vendor. A retry does not help.
    NoCredit,
    /// The vendor is overloaded, or failed.
    Unavailable,
    /// The vendor rejects the request: it is too long, or has something unsupported in it.
    Refused,
    /// The response broke off.
    Broken,
}

impl ModelErrorKind {
    /// Whether a retry may help, as long as nothing was received yet.
    pub const fn is_transient(self) -> bool {
        matches!(self, Self::Unreachable | Self::RateLimited | Self::Unavailable | Self::Broken)
    }
}

/// Arguments of a call as raw JSON. Empty text is an empty object, as vendors mean it.
pub fn parse_raw_arguments(text: &str) -> Result<Box<RawValue>, serde_json::Error> {
    let text = if text.trim().is_empty() { "{}" } else { text };
    serde_json::from_str(text)
}
