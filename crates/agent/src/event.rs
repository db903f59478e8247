//! The events of a turn. Each door translates them into the protocol of its clients.

use std::sync::Arc;

use toolyard_core::{
    ToolError,
    executor::{AwaitedApproval, AwaitedSignIn},
};
use toolyard_protocol::{call::CallProgress, result::ToolResult};

use crate::{
    message::ModelToolCall,
    model::{ModelError, ModelUsage},
    tools::TurnTool,
};

/// An event of a turn. Everything between [`TurnEvent::StepBegins`] and [`TurnEvent::StepEnds`] belongs to one request
/// to the model.
#[derive(Debug, Clone)]
pub enum TurnEvent {
    /// A request is sent to the model.
    StepBegins,
    /// Text for the user.
    Text(String),
    /// Reasoning of the model.
    Reasoning(String),
    /// The model begins to write a call. Optional.
    CallBegins {
        /// The call's id.
        id: String,
        /// The tool, as the model calls it.
        name: String,
        /// The tool, if there is one of that name.
        tool: Option<Arc<TurnTool>>,
    },
    /// The next part of the call's arguments.
    CallText {
        /// The call's id.
        id: String,
        /// Part of the JSON text, cut anywhere.
        text: String,
    },
    /// A call is complete. Every call gets a [`TurnEvent::CallEnds`], except a client's: it is sent last, when nothing
    /// prevents the client from running it.
    Called {
        /// The call.
        call: ModelToolCall,
        /// The tool, if there is one of that name.
        tool: Option<Arc<TurnTool>>,
    },
    /// Progress of a call.
    Progress {
        /// The call's id.
        id: String,
        /// How far the call is.
        progress: CallProgress,
    },
    /// A call waits for the user's approval. It gets no [`TurnEvent::CallEnds`]: the turn ends after this step, and the
    /// next request brings the answer. Only with [`Turn::pauses_for_approval`](crate::turn::Turn::pauses_for_approval).
    AwaitsApproval {
        /// The call's id.
        id: String,
        /// What the user is asked.
        approval: Arc<AwaitedApproval>,
    },
    /// A call waits until the user has signed in at its upstream. It runs after that, in the same turn.
    AwaitsSignIn {
        /// The call's id.
        id: String,
        /// Where the user signs in.
        sign_in: Arc<AwaitedSignIn>,
    },
    /// A call ended.
    CallEnds {
        /// The call's id.
        id: String,
        /// How it ended.
        end: CallEnd,
    },
    /// The step ended.
    StepEnds {
        /// The tokens it used.
        usage: Option<ModelUsage>,
        /// Whether another step follows.
        continues: bool,
    },
    /// The turn ended. Always the last event.
    Ends(TurnEndReason),
}

/// How a call ended.
#[derive(Debug, Clone)]
pub enum CallEnd {
    /// It ran.
    Done(Arc<ToolResult>),
    /// It did not run, or failed. The model receives the same error.
    Failed(Arc<ToolError>),
    /// The user declined it, so it did not run. The model receives the error.
    Denied(Arc<ToolError>),
}

/// Why a turn ended.
#[derive(Debug, Clone)]
pub enum TurnEndReason {
    /// The model finished.
    Stop,
    /// The caller's client must run the calls.
    ClientCalls,
    /// The user must approve calls first.
    AwaitingApproval,
    /// The model reached its token limit.
    Length,
    /// The vendor withheld content.
    Filtered,
    /// A limit of the turn was reached.
    Budget(TurnLimitKind),
    /// The caller disconnected.
    Cancelled,
    /// The model returned an error.
    Failed(ModelError),
}

/// The limits of a turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TurnLimitKind {
    /// Requests to the model.
    Steps,
    /// Tokens.
    Tokens,
    /// Time.
    Time,
}
