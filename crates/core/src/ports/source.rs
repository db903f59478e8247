//! The port of everything that runs tools.

use std::sync::Arc;

use async_trait::async_trait;
use serde_json::value::RawValue;
use tokio::sync::{mpsc, oneshot};
use toolyard_protocol::{
    ErrorCode,
    call::CallProgress,
    mcp::{RpcError, method},
    raw::RawFields,
};

use crate::{
    catalog::{AppHead, CatalogView, Tool},
    error::ToolError,
    executor::{AwaitedInput, CallContext, CallReply},
    schema::ValidArguments,
};

/// Where a tool comes from and runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum SourceKind {
    /// An app, over HTTP.
    App,
    /// An MCP server in the world.
    Upstream,
    /// This program itself.
    Builtin,
    /// A plugin of the user's, in the sandbox.
    Plugin,
}

impl SourceKind {
    /// Every kind.
    pub const ALL: [Self; 4] = [Self::App, Self::Upstream, Self::Builtin, Self::Plugin];

    /// As the ledger writes it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::App => "app",
            Self::Upstream => "upstream",
            Self::Builtin => "builtin",
            Self::Plugin => "plugin",
        }
    }
}

/// Runs the tools of one kind.
#[async_trait]
pub trait ToolSource: Send + Sync {
    /// Returns once the tool can run: its app is awake, its connection is open. Safe from many tasks at once.
    async fn make_ready<'a>(
        &'a self,
        cx: &'a CallContext,
        tool: &'a Tool,
    ) -> Result<Box<dyn ReadyTool + 'a>, ToolError>;

    /// Answers a request about prompts and resources. Most kinds have none.
    async fn forward_request(
        &self,
        _cx: &CallContext,
        app: &AppHead,
        _request: &ForwardedRequest,
    ) -> Result<ForwardedReply, ToolError> {
        let text = format!("{} has neither prompts nor resources.", app.package());
        Err(ToolError::new(ErrorCode::ToolNotFound, text))
    }
}

/// A tool that can run now, with what its source opened or looked up for it.
#[async_trait]
pub trait ReadyTool: Send + Sync {
    /// Runs the tool, or says what it waits for. Dropping the future cancels the call.
    async fn invoke(self: Box<Self>, arguments: &ValidArguments) -> Result<CallReply, ToolError>;
}

/// What can be asked about prompts and resources.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ForwardedMethod {
    /// The messages of a prompt.
    GetPrompt,
    /// The contents of a resource.
    ReadResource,
    /// Values for an argument of a prompt or a template.
    Complete,
    /// To be told when a resource changes.
    Subscribe,
    /// To be told no longer.
    Unsubscribe,
}

impl ForwardedMethod {
    /// As MCP calls it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::GetPrompt => method::PROMPTS_GET,
            Self::ReadResource => method::RESOURCES_READ,
            Self::Complete => method::COMPLETE,
            Self::Subscribe => method::RESOURCES_SUBSCRIBE,
            Self::Unsubscribe => method::RESOURCES_UNSUBSCRIBE,
        }
    }
}

/// A request about prompts and resources, in the names that the source knows.
#[derive(Debug, Clone)]
pub struct ForwardedRequest {
    /// What is asked.
    pub method: ForwardedMethod,
    /// The prompt or the URI.
    pub name: String,
    /// The params, raw.
    pub params: Box<RawValue>,
}

/// What such a request comes to.
#[derive(Debug, Clone)]
pub enum ForwardedReply {
    /// The result, raw.
    Done(Box<RawValue>),
    /// It wants to know more first.
    AwaitingInput(AwaitedInput),
}

/// Finds tools by words, among those that a caller can see.
#[async_trait]
pub trait ToolSearch: Send + Sync {
    /// The best ones first, at most so many.
    async fn search_tools(&self, view: &CatalogView, words: &str, most: usize) -> Vec<Arc<Tool>>;
}

/// Something that a source tells while a call runs.
#[derive(Debug, Clone)]
pub enum CallNotice {
    /// How far it is.
    Progress(CallProgress),
    /// A line for the caller's log: the params of MCP's `notifications/message`, raw.
    Log(Box<RawValue>),
}

/// Takes news from a source to the caller. Losing some is fine; waiting for a slow caller is not.
#[derive(Debug, Clone, Default)]
pub struct NoticeSink(Option<mpsc::Sender<CallNotice>>);

impl NoticeSink {
    /// A sink into a bounded queue.
    pub fn new(queue: mpsc::Sender<CallNotice>) -> Self {
        Self(Some(queue))
    }

    /// Whether anybody listens.
    pub fn has_listener(&self) -> bool {
        self.0.as_ref().is_some_and(|queue| !queue.is_closed())
    }

    /// Tells the caller how far it is.
    pub fn send_progress(&self, progress: CallProgress) {
        self.send(CallNotice::Progress(progress));
    }

    /// Tells the caller.
    pub fn send(&self, notice: CallNotice) {
        if let Some(queue) = &self.0 {
            let _ = queue.try_send(notice);
        }
    }
}

/// A question from a source to the caller, in MCP form, and where the answer goes.
#[derive(Debug)]
pub struct SourceQuestion {
    /// `elicitation/create`, `sampling/createMessage`, `roots/list`.
    pub method: String,
    /// Its params, raw.
    pub params: Option<Box<RawValue>>,
    /// The answer, raw, or the caller's refusal. Dropped where there is none.
    pub answer: oneshot::Sender<Result<Box<RawValue>, RpcError>>,
}

/// What the caller can do for a source while a call runs.
#[derive(Debug, Clone, Default)]
pub struct CallerAbilities {
    /// What the caller declared that a source may ask of it, in MCP form: `{"elicitation":{}}`. None is nothing.
    pub declared: Option<Arc<RawValue>>,
    /// The way to ask the caller back while the call runs, where the door has one.
    pub ask: Option<mpsc::Sender<SourceQuestion>>,
    /// Whether the caller understands the reply that a source awaits input, and comes back with it.
    pub can_resume: bool,
    /// From which level on the caller wants log lines, if at all.
    pub log_level: Option<Arc<str>>,
}

impl CallerAbilities {
    /// Whether the caller declared this one: `elicitation`, `sampling`, `roots`.
    pub fn has_declared(&self, name: &str) -> bool {
        let declared = self.declared.as_deref().map(|raw| serde_json::from_str::<RawFields>(raw.get()));
        matches!(declared, Some(Ok(fields)) if fields.get(name).is_some())
    }
}

/// Sources by kind.
#[derive(Clone)]
pub(crate) struct SourceTable(Vec<(SourceKind, Arc<dyn ToolSource>)>);

impl SourceTable {
    pub(crate) fn new(sources: Vec<(SourceKind, Arc<dyn ToolSource>)>) -> Self {
        Self(sources)
    }

    pub(crate) fn get(&self, kind: SourceKind) -> Option<&Arc<dyn ToolSource>> {
        self.0.iter().find(|(known, _)| *known == kind).map(|(_, source)| source)
    }
}
