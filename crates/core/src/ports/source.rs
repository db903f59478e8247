//! Ports for everything that runs tools.

use std::sync::Arc;

use async_trait::async_trait;
use serde_json::value::RawValue;
use tokio::sync::{mpsc, oneshot};
use toolyard_protocol::{
    ErrorCode,
    call::CallProgress,
    mcp::{PAGE_SCHEME, RpcError, method},
    raw::RawFields,
};

use crate::{
    catalog::{AppHead, CatalogView, Tool},
    error::ToolError,
    executor::{AwaitedInput, AwaitedSignIn, CallContext, CallReply},
    redaction::CallRedaction,
    schema::ValidArguments,
};

/// Where a tool comes from and runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum SourceKind {
    /// An app, over HTTP.
    App,
    /// An external MCP server.
    Upstream,
    /// Built into this server.
    Builtin,
    /// A user's plugin, in the sandbox.
    Plugin,
}

impl SourceKind {
    /// Every kind.
    pub const ALL: [Self; 4] = [Self::App, Self::Upstream, Self::Builtin, Self::Plugin];

    /// The name in the ledger.
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
    /// Returns once the tool can run: its app is awake, its connection is open. Can be called concurrently.
    async fn make_ready<'a>(
        &'a self,
        cx: &'a CallContext,
        tool: &'a Tool,
    ) -> Result<Box<dyn ReadyTool + 'a>, ToolError>;

    /// Handles a request about prompts and resources. Most kinds have none.
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

/// A tool that is ready to run, with the resources that its source prepared.
#[async_trait]
pub trait ReadyTool: Send + Sync {
    /// Runs the tool, or returns what input it needs. Dropping the future cancels the call.
    async fn invoke(self: Box<Self>, arguments: &ValidArguments) -> Result<CallReply, ToolError>;
}

/// The methods about prompts and resources.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ForwardedMethod {
    /// The messages of a prompt.
    GetPrompt,
    /// The contents of a resource.
    ReadResource,
    /// Values for an argument of a prompt or a template.
    Complete,
    /// Subscribe to changes of a resource.
    Subscribe,
    /// Unsubscribe from changes of a resource.
    Unsubscribe,
}

impl ForwardedMethod {
    /// The MCP method name.
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

/// A request about prompts and resources, with the names that the source uses.
#[derive(Debug, Clone)]
pub struct ForwardedRequest {
    /// The method.
    pub method: ForwardedMethod,
    /// The prompt or the URI.
    pub name: String,
    /// The params, raw.
    pub params: Box<RawValue>,
}

impl ForwardedRequest {
    /// Whether the reply has text for the model. Pages are shown to people.
    pub(crate) fn is_for_model(&self) -> bool {
        match self.method {
            ForwardedMethod::GetPrompt => true,
            ForwardedMethod::ReadResource => !self.name.starts_with(PAGE_SCHEME),
            ForwardedMethod::Complete | ForwardedMethod::Subscribe | ForwardedMethod::Unsubscribe => false,
        }
    }
}

/// The reply to such a request.
#[derive(Debug, Clone)]
pub enum ForwardedReply {
    /// The result, raw.
    Done(Box<RawValue>),
    /// The source needs input first.
    AwaitingInput(AwaitedInput),
    /// The user has to sign in at the upstream first.
    AwaitingSignIn(Arc<AwaitedSignIn>),
}

/// Finds tools by words, among those that a caller can see.
#[async_trait]
pub trait ToolSearch: Send + Sync {
    /// The best matches first, at most `most`.
    async fn search_tools(&self, view: &CatalogView, words: &str, most: usize) -> Vec<Arc<Tool>>;
}

/// A notice that a source sends during a call.
#[derive(Debug, Clone)]
pub enum CallNotice {
    /// Progress of the call.
    Progress(CallProgress),
    /// A line for the caller's log: the params of MCP's `notifications/message`, raw.
    Log(Box<RawValue>),
    /// The call waits for this sign-in. From doors whose callers stay connected, never from a source.
    SignIn(Arc<AwaitedSignIn>),
}

/// Sends notices from a source to the caller. Notices may be dropped; a source never waits for a slow caller.
#[derive(Debug, Clone, Default)]
pub struct NoticeSink {
    queue: Option<mpsc::Sender<CallNotice>>,
    redaction: Option<Arc<CallRedaction>>,
}

impl NoticeSink {
    /// A sink that writes to a bounded queue.
    pub fn new(queue: mpsc::Sender<CallNotice>) -> Self {
        Self { queue: Some(queue), redaction: None }
    }

    /// Replaces the secrets in notices from now on.
    pub(crate) fn redact_with(&mut self, redaction: &Arc<CallRedaction>) {
        self.redaction = Some(redaction.clone());
    }

    /// Whether notices reach anybody at all: a caller that has left may have got some before.
    pub fn is_connected(&self) -> bool {
        self.queue.is_some()
    }

    /// Whether the caller still listens.
    pub fn has_listener(&self) -> bool {
        self.queue.as_ref().is_some_and(|queue| !queue.is_closed())
    }

    /// Sends progress to the caller.
    pub fn send_progress(&self, progress: CallProgress) {
        self.send(CallNotice::Progress(progress));
    }

    /// Sends a notice to the caller.
    pub fn send(&self, notice: CallNotice) {
        let Some(queue) = &self.queue else { return };
        let notice = match &self.redaction {
            Some(redaction) => redaction.redact_notice(notice),
            None => Some(notice),
        };
        if let Some(notice) = notice {
            let _ = queue.try_send(notice);
        }
    }
}

/// A question from a source to the caller, in MCP form, with the channel for the answer.
#[derive(Debug)]
pub struct SourceQuestion {
    /// `elicitation/create`, `sampling/createMessage`, `roots/list`.
    pub method: String,
    /// Its params, raw.
    pub params: Option<Box<RawValue>>,
    /// Receives the raw answer, or the caller's refusal. Dropped if there is no answer.
    pub answer: oneshot::Sender<Result<Box<RawValue>, RpcError>>,
}

/// Sends questions from a source to the caller.
#[derive(Debug, Clone)]
pub struct QuestionSender {
    queue: mpsc::Sender<SourceQuestion>,
    redaction: Option<Arc<CallRedaction>>,
}

impl QuestionSender {
    /// A sender that writes to a bounded queue.
    pub fn new(queue: mpsc::Sender<SourceQuestion>) -> Self {
        Self { queue, redaction: None }
    }

    /// Replaces the secrets in questions to models from now on.
    pub(crate) fn redact_with(&mut self, redaction: &Arc<CallRedaction>) {
        self.redaction = Some(redaction.clone());
    }

    /// Sends a question. False if it was not sent; then there is no answer.
    pub async fn send(&self, question: SourceQuestion) -> bool {
        let question = match &self.redaction {
            Some(redaction) => redaction.redact_question(question),
            None => Some(question),
        };
        match question {
            Some(question) => self.queue.send(question).await.is_ok(),
            None => false,
        }
    }
}

/// What the caller can do for a source during a call.
#[derive(Debug, Clone, Default)]
pub struct CallerAbilities {
    /// The client capabilities that the caller declared, in MCP form: `{"elicitation":{}}`.
    pub declared: Option<Arc<RawValue>>,
    /// The channel for questions to the caller during the call, if the door has one.
    pub ask: Option<QuestionSender>,
    /// Whether the caller understands a reply that awaits input, and resumes the call with it.
    pub can_resume: bool,
    /// The minimum level of log lines that the caller wants, if any.
    pub log_level: Option<Arc<str>>,
}

impl CallerAbilities {
    /// Whether the caller declared this capability: `elicitation`, `sampling`, `roots`.
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
