//! The context of a call: built at the door, then passed by reference.

use std::{
    fmt,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use serde_json::value::RawValue;
use tokio_util::sync::CancellationToken;
use toolyard_protocol::{
    ApprovalId, CallId, ErrorCode, InvalidName, PackageName, TokenId, ToolName, ToolRef, UserId,
    approval::{ApprovalSummary, RiskLevel},
    id::InvalidId,
    result::ToolResult,
    trace::TraceParent,
};

use crate::{
    catalog::CatalogView,
    error::ToolError,
    ports::{ApprovalRecord, CallerAbilities, NoticeSink},
    redaction::CallRedaction,
};

/// A way in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Door {
    /// `POST /api/tools/execute`
    Rest,
    /// The legacy endpoint.
    Legacy,
    /// MCP, over HTTP, WebSocket or stdio.
    Mcp,
    /// A tool call of a chat turn.
    Chat,
}

impl Door {
    /// Every door.
    pub const ALL: [Self; 4] = [Self::Rest, Self::Legacy, Self::Mcp, Self::Chat];

    /// The name in the ledger.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Rest => "rest",
            Self::Legacy => "legacy",
            Self::Mcp => "mcp",
            Self::Chat => "chat",
        }
    }
}

/// Who makes the call on behalf of the user.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Caller {
    /// The user, or a program that holds the user's token.
    User,
    /// A client that the user connected, by its grant.
    Client(TokenId),
    /// An app, with its key.
    App(PackageName),
    /// Another person who acts for the user with their own token: an operator.
    Person(Arc<str>),
}

/// Who owns a result: a user together with the caller. A caller cannot read what another caller started, even if both
/// act for the same user.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct CallOwner {
    /// The user.
    pub user: UserId,
    /// The caller.
    pub caller: Caller,
}

impl fmt::Display for Caller {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::User => f.write_str("user"),
            Self::Client(grant) => write!(f, "client:{grant}"),
            Self::App(package) => write!(f, "app:{package}"),
            Self::Person(name) => write!(f, "person:{name}"),
        }
    }
}

impl std::str::FromStr for Caller {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text.split_once(':') {
            Some(("client", grant)) => {
                grant.parse().map(Self::Client).map_err(|error: InvalidId| error.to_string())
            }
            Some(("app", package)) => {
                package.parse().map(Self::App).map_err(|error: InvalidName| error.to_string())
            }
            Some(("person", name)) => Ok(Self::Person(name.into())),
            _ => Ok(Self::User),
        }
    }
}

/// The position of a call in a trace.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TraceContext {
    /// The trace id: the caller's, or a new one.
    pub trace_id: u128,
    /// The caller's span.
    pub parent: Option<u64>,
    /// The span of this call, which the app receives as its parent.
    pub span_id: u64,
    /// Whether the trace is recorded.
    pub sampled: bool,
}

impl TraceContext {
    /// Continues the caller's trace, or starts a new one.
    pub fn new(parent: Option<TraceParent>, new_trace: impl FnOnce() -> u128, span_id: u64) -> Self {
        match parent {
            Some(p) => Self { trace_id: p.trace_id, parent: Some(p.span_id), span_id, sampled: p.sampled },
            None => Self { trace_id: new_trace().max(1), parent: None, span_id, sampled: false },
        }
    }

    /// The header that is sent to the app.
    pub fn to_header(self) -> TraceParent {
        TraceParent { trace_id: self.trace_id, span_id: self.span_id, sampled: self.sampled }
    }
}

/// Everything about a call except the tool and its arguments.
#[derive(Debug, Clone)]
pub struct CallContext {
    /// The call's id.
    pub id: CallId,
    /// The user the call is for.
    pub user: UserId,
    /// Who makes the call.
    pub caller: Caller,
    /// The door it came through.
    pub door: Door,
    /// The tools that the caller can see.
    pub view: CatalogView,
    /// Fires when the caller disconnects.
    pub cancel: CancellationToken,
    /// Receives progress and log lines.
    pub notices: NoticeSink,
    /// What the caller can do for a source during the call.
    pub abilities: CallerAbilities,
    /// The caller's answers, if it resumes a call that awaited input.
    pub input: Option<CallerInput>,
    /// The position in a trace.
    pub trace: TraceContext,
    /// Other trace headers, unchanged: `tracestate`, `baggage`.
    pub baggage: Vec<(&'static str, Arc<str>)>,
    /// The caller's idempotency key, if any.
    pub key: Option<Arc<str>>,
    /// The client program, if it named itself. Shown to the user, never trusted.
    pub client: Option<Arc<str>>,
    /// The conversation or MCP session that the call belongs to, if any.
    pub conversation: Option<Arc<str>>,
    /// What stands in for a conversation if none is named: everything that one credential of a caller does. None for people
    /// who call a tool themselves.
    pub session: Option<Arc<str>>,
    /// What the user wrote in the chat, in lower case, if the door knows it.
    pub user_text: Option<Arc<str>>,
    /// The approval that this call redeems. Set by the executor.
    pub approval: Option<ApprovalId>,
    /// The deadline. Set by the executor.
    pub deadline: tokio::time::Instant,
    /// Whether the request was sent, if the source reports it.
    pub delivery: DeliveryMark,
}

/// Whether a call was sent to its tool. A source that has to connect first marks the call as pending. If the deadline
/// passes while it is pending, the tool surely did not run. Without a mark, an invoked call counts as sent.
#[derive(Debug, Clone, Default)]
pub struct DeliveryMark(Arc<AtomicBool>);

impl DeliveryMark {
    /// Marks the call as not sent yet.
    pub fn set_pending(&self) {
        self.0.store(true, Ordering::Release);
    }

    /// Marks the call as sent: the tool may run from now on.
    pub fn set_sent(&self) {
        self.0.store(false, Ordering::Release);
    }

    /// Whether the call is still pending, so the tool surely did not run.
    pub fn is_pending(&self) -> bool {
        self.0.load(Ordering::Acquire)
    }
}

impl CallContext {
    /// Who owns the outcome.
    pub fn owner(&self) -> CallOwner {
        CallOwner { user: self.user.clone(), caller: self.caller.clone() }
    }

    /// Replaces the secrets in everything that the source sends to the caller during the call.
    pub(crate) fn redact_with(&mut self, redaction: &Arc<CallRedaction>) {
        self.notices.redact_with(redaction);
        if let Some(ask) = &mut self.abilities.ask {
            ask.redact_with(redaction);
        }
    }

    /// The error of a call whose connection broke after it was sent. Under an idempotency key this outcome is stored
    /// and the call never runs again, so the error says that the outcome is unknown.
    pub fn connection_lost(&self, text: String) -> ToolError {
        match self.key {
            None => ToolError::new(ErrorCode::InvalidResponse, text),
            Some(_) => {
                let text = format!("{text} The call is not run again under this idempotency key.");
                ToolError::new(ErrorCode::OutcomeUnknown, text)
            }
        }
    }
}

/// The tool to call and its arguments.
#[derive(Debug, Clone)]
pub struct ToolCall {
    /// Canonical name or alias.
    pub name: ToolRef,
    /// The raw arguments; missing is the same as empty.
    pub arguments: Option<Box<RawValue>>,
}

/// The reply of a call that did not fail. Waiting for input is a reply, not an error.
#[derive(Debug, Clone)]
pub enum CallReply {
    /// The tool ran.
    Done(ToolResult),
    /// The tool needs input first.
    AwaitingInput(AwaitedInput),
    /// The user has to approve the call first.
    AwaitingApproval(AwaitedApproval),
    /// The user has to sign in at the upstream first. The call did not run and is made again after that.
    AwaitingSignIn(Arc<super::AwaitedSignIn>),
}

/// The approval that a call waits for.
#[derive(Debug, Clone)]
pub struct AwaitedApproval {
    /// The approval.
    pub id: ApprovalId,
    /// The tool.
    pub tool: ToolName,
    /// What the user is asked.
    pub summary: Arc<ApprovalSummary>,
    /// How much a wrong yes can cost.
    pub risk: RiskLevel,
    /// Until when it can be answered.
    pub expires_at: jiff::Timestamp,
    /// The page where a person answers.
    pub url: String,
}

impl AwaitedApproval {
    pub(crate) fn new(record: &ApprovalRecord, summary: ApprovalSummary, url: String) -> Self {
        Self {
            id: record.id.clone(),
            tool: record.subject.tool.clone(),
            summary: Arc::new(summary),
            risk: record.risk,
            expires_at: record.expires_at,
            url,
        }
    }

    /// What a model reads about a call that waits.
    pub fn to_model_text(&self) -> String {
        format!(
            "{} did not run yet: the user has to approve this call first. Tell the user to answer at {} . Then make the \
             same call again, with the same arguments, to get its result. Do not try to reach the goal another way.",
            self.tool, self.url
        )
    }
}

/// The input that a source needs before it can continue.
#[derive(Debug, Clone)]
pub struct AwaitedInput {
    /// MCP's `inputRequests`, raw. Missing if the caller only has to come back.
    pub requests: Option<Arc<RawValue>>,
    /// What the source needs to continue. The door seals it for the caller, who returns it.
    pub state: Option<Arc<str>>,
}

/// The answers of a caller that resumes a call.
#[derive(Debug, Clone)]
pub struct CallerInput {
    /// MCP's `inputResponses`, raw.
    pub responses: Option<Arc<RawValue>>,
    /// The state that the source returned with its request for input.
    pub state: Option<Arc<str>>,
}
