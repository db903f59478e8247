//! What a turn tells while it runs. Doors translate it into whatever their clients speak.

use std::sync::Arc;

use toolyard_core::ToolError;
use toolyard_protocol::{call::CallProgress, result::ToolResult};

use crate::{
    message::ModelToolCall,
    model::{ModelError, ModelUsage},
    tools::TurnTool,
};

/// Something that happened. Between [`TurnEvent::StepBegins`] and [`TurnEvent::StepEnds`] lies one question to the model and
/// what came of it.
#[derive(Debug, Clone)]
pub enum TurnEvent {
    /// The model is asked.
    StepBegins,
    /// Words for the user.
    Text(String),
    /// Thoughts of the model.
    Reasoning(String),
    /// A call begins to be written. Optional.
    CallBegins {
        /// The call.
        id: String,
        /// The tool, as the model calls it.
        name: String,
        /// The tool, where there is one of that name.
        tool: Option<Arc<TurnTool>>,
    },
    /// The next piece of its arguments.
    CallText {
        /// The call.
        id: String,
        /// Text of JSON, cut anywhere.
        text: String,
    },
    /// A call is whole. Every one of them gets its [`TurnEvent::CallEnds`], unless it is a client's: that is told last, when
    /// nothing keeps the client from running it.
    Called {
        /// The call.
        call: ModelToolCall,
        /// The tool, where there is one of that name.
        tool: Option<Arc<TurnTool>>,
    },
    /// How far a call is.
    Progress {
        /// The call.
        id: String,
        /// How far.
        progress: CallProgress,
    },
    /// A call came to its end.
    CallEnds {
        /// The call.
        id: String,
        /// Which.
        end: CallEnd,
    },
    /// The step is over.
    StepEnds {
        /// What it cost.
        usage: Option<ModelUsage>,
        /// Whether another one follows.
        continues: bool,
    },
    /// The turn is over: always the last one.
    Ends(TurnEndReason),
}

/// How a call ended.
#[derive(Debug, Clone)]
pub enum CallEnd {
    /// It ran.
    Done(Arc<ToolResult>),
    /// It did not, or failed; so was the model told.
    Failed(Arc<ToolError>),
}

/// Why a turn is over.
#[derive(Debug, Clone)]
pub enum TurnEndReason {
    /// The model has said everything.
    Stop,
    /// The caller's client has to run what was called.
    ClientCalls,
    /// The model had no room for more.
    Length,
    /// The vendor held something back.
    Filtered,
    /// One of the turn's bounds.
    Budget(TurnLimitKind),
    /// Whoever asked went away.
    Cancelled,
    /// There was no answer.
    Failed(ModelError),
}

/// The bounds of a turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TurnLimitKind {
    /// Questions to the model.
    Steps,
    /// Tokens.
    Tokens,
    /// Time.
    Time,
}
