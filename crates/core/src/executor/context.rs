//! What travels with a call: built at the door, passed by reference, asked by everybody below.

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
    CallId, ErrorCode, PackageName, ToolRef, UserId, result::ToolResult, trace::TraceParent,
};

use crate::{
    catalog::CatalogView,
    error::ToolError,
    ports::{CallerAbilities, NoticeSink},
};

/// A way in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Door {
    /// `POST /api/tools/execute`
    Rest,
    /// The endpoint of the first generation.
    Legacy,
    /// MCP, over HTTP, WebSocket or stdio.
    Mcp,
    /// The turn of a chat.
    Chat,
}

impl Door {
    /// Every door.
    pub const ALL: [Self; 4] = [Self::Rest, Self::Legacy, Self::Mcp, Self::Chat];

    /// As the ledger writes it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Rest => "rest",
            Self::Legacy => "legacy",
            Self::Mcp => "mcp",
            Self::Chat => "chat",
        }
    }
}

/// Who makes the call, for the user.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Caller {
    /// The user, or a client that holds the user's token.
    User,
    /// An app, with its key.
    App(PackageName),
    /// Somebody else who may act for the user, with a token of their own: an operator.
    Person(Arc<str>),
}

/// To whom a result belongs: a user, and whoever asked for that user. What one caller started is no other caller's to
/// read, even where both act for the same user.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct CallOwner {
    /// For whom.
    pub user: UserId,
    /// By whom.
    pub caller: Caller,
}

impl fmt::Display for Caller {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::User => f.write_str("user"),
            Self::App(package) => write!(f, "app:{package}"),
            Self::Person(name) => write!(f, "person:{name}"),
        }
    }
}

impl std::str::FromStr for Caller {
    type Err = toolyard_protocol::InvalidName;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text.split_once(':') {
            Some(("app", package)) => package.parse().map(Self::App),
            Some(("person", name)) => Ok(Self::Person(name.into())),
            _ => Ok(Self::User),
        }
    }
}

/// Where a call stands in a trace.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TraceContext {
    /// The trace, the caller's or a new one.
    pub trace_id: u128,
    /// The caller's span.
    pub parent: Option<u64>,
    /// The span of this call; what the app is called under.
    pub span_id: u64,
    /// Whether the trace is recorded.
    pub sampled: bool,
}

impl TraceContext {
    /// Goes on with the caller's trace, or begins one.
    pub fn new(parent: Option<TraceParent>, new_trace: impl FnOnce() -> u128, span_id: u64) -> Self {
        match parent {
            Some(p) => Self { trace_id: p.trace_id, parent: Some(p.span_id), span_id, sampled: p.sampled },
            None => Self { trace_id: new_trace().max(1), parent: None, span_id, sampled: false },
        }
    }

    /// The header that goes on to the app.
    pub fn to_header(self) -> TraceParent {
        TraceParent { trace_id: self.trace_id, span_id: self.span_id, sampled: self.sampled }
    }
}

/// Everything about a call but what is called.
#[derive(Debug, Clone)]
pub struct CallContext {
    /// The call's id.
    pub id: CallId,
    /// For whom.
    pub user: UserId,
    /// By whom.
    pub caller: Caller,
    /// Through which door.
    pub door: Door,
    /// What the caller can see.
    pub view: CatalogView,
    /// Fires when the caller went away.
    pub cancel: CancellationToken,
    /// Where progress and log lines go.
    pub notices: NoticeSink,
    /// What the caller can do for a source while the call runs.
    pub abilities: CallerAbilities,
    /// What the caller brings where it was sent away to find out more.
    pub input: Option<CallerInput>,
    /// Where the call stands in a trace.
    pub trace: TraceContext,
    /// More of the trace, as it came: `tracestate`, `baggage`.
    pub baggage: Vec<(&'static str, Arc<str>)>,
    /// The caller's key, if the call is to be made once.
    pub key: Option<Arc<str>>,
    /// When the time is up. Set by the executor.
    pub deadline: tokio::time::Instant,
    /// Whether the request has left, where the source knows.
    pub delivery: DeliveryMark,
}

/// Whether a call has left for its tool. A source that has to connect first says so, and a deadline that ends the wait for
/// the connection is then known to have ended nothing else. Without a word from the source, an invoked call counts as sent.
#[derive(Debug, Clone, Default)]
pub struct DeliveryMark(Arc<AtomicBool>);

impl DeliveryMark {
    /// Nothing has been sent yet.
    pub fn set_pending(&self) {
        self.0.store(true, Ordering::Release);
    }

    /// From here on the tool may run.
    pub fn set_sent(&self) {
        self.0.store(false, Ordering::Release);
    }

    /// Whether the source waits, and the tool surely did not run.
    pub fn is_pending(&self) -> bool {
        self.0.load(Ordering::Acquire)
    }
}

impl CallContext {
    /// To whom the outcome belongs.
    pub fn owner(&self) -> CallOwner {
        CallOwner { user: self.user.clone(), caller: self.caller.clone() }
    }

    /// The error of a call whose connection broke after it was sent. Under a key it is an outcome that is kept and not run
    /// again, so it says that nobody knows what came of it.
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

/// What is called.
#[derive(Debug, Clone)]
pub struct ToolCall {
    /// Canonical name or alias.
    pub name: ToolRef,
    /// The arguments, raw; missing is the same as empty.
    pub arguments: Option<Box<RawValue>>,
}

/// What a call comes to, if it does not fail. Waiting is a reply, not an error.
#[derive(Debug, Clone)]
pub enum CallReply {
    /// The tool ran.
    Done(ToolResult),
    /// The tool wants to know more first.
    AwaitingInput(AwaitedInput),
}

/// What a source wants to know before it can go on.
#[derive(Debug, Clone)]
pub struct AwaitedInput {
    /// What is asked: MCP's `inputRequests`, raw. Missing where the caller only has to come back.
    pub requests: Option<Arc<RawValue>>,
    /// What the source needs to go on. The door seals it for the caller, and brings it back.
    pub state: Option<Arc<str>>,
}

/// The answers of a caller that was sent away to find out more.
#[derive(Debug, Clone)]
pub struct CallerInput {
    /// MCP's `inputResponses`, raw.
    pub responses: Option<Arc<RawValue>>,
    /// The state that the source gave.
    pub state: Option<Arc<str>>,
}
