//! The port of everything that runs tools.

use std::sync::Arc;

use async_trait::async_trait;
use serde_json::value::RawValue;
use tokio::sync::{mpsc, oneshot};
use toolyard_protocol::call::Progress;

use super::Ready;
use crate::{
    catalog::Tool,
    error::ToolError,
    executor::{CallContext, Reply},
    schema::ValidArguments,
};

/// Where a tool comes from and runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum SourceKind {
    /// An app, over HTTP.
    App,
}

impl SourceKind {
    /// As the ledger writes it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::App => "app",
        }
    }
}

/// Runs the tools of one kind.
#[async_trait]
pub trait ToolSource: Send + Sync {
    /// Returns once `invoke` can succeed. Safe from many tasks at once.
    async fn make_ready(&self, cx: &CallContext, tool: &Tool) -> Result<Ready, ToolError>;

    /// Runs the tool, or says what it waits for. Dropping the future cancels the call.
    async fn invoke(
        &self,
        cx: &CallContext,
        tool: &Tool,
        arguments: &ValidArguments,
        ready: Ready,
    ) -> Result<Reply, ToolError>;
}

/// Takes progress from a source to the caller. Losing some is fine; waiting for a slow caller is not.
#[derive(Debug, Clone, Default)]
pub struct ProgressSink(Option<mpsc::Sender<Progress>>);

impl ProgressSink {
    /// A sink into a bounded queue.
    pub fn new(queue: mpsc::Sender<Progress>) -> Self {
        Self(Some(queue))
    }

    /// Whether anybody listens.
    pub fn is_wanted(&self) -> bool {
        self.0.as_ref().is_some_and(|queue| !queue.is_closed())
    }

    /// Tells the caller how far it is.
    pub fn send(&self, progress: Progress) {
        if let Some(queue) = &self.0 {
            let _ = queue.try_send(progress);
        }
    }
}

/// A question from a source to the caller, in MCP form, and where the answer goes.
#[derive(Debug)]
pub struct Question {
    /// The request, raw.
    pub request: Box<RawValue>,
    /// The answer, raw.
    pub answer: oneshot::Sender<Box<RawValue>>,
}

/// What the caller can do for a source while a call runs.
#[derive(Debug, Clone, Default)]
pub struct CallerAbilities {
    /// Whether the caller can ask its user for input.
    pub elicitation: bool,
    /// Whether the caller can ask its model.
    pub sampling: bool,
    /// The way to ask the caller back while the call runs, where the door has one.
    pub ask: Option<mpsc::Sender<Question>>,
}

/// Sources by kind.
#[derive(Clone)]
pub(crate) struct Sources(Vec<(SourceKind, Arc<dyn ToolSource>)>);

impl Sources {
    pub(crate) fn new(sources: Vec<(SourceKind, Arc<dyn ToolSource>)>) -> Self {
        Self(sources)
    }

    pub(crate) fn get(&self, kind: SourceKind) -> Option<&Arc<dyn ToolSource>> {
        self.0.iter().find(|(known, _)| *known == kind).map(|(_, source)| source)
    }
}
