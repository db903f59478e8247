//! What a tool gets with a call.

use std::{fmt, sync::Arc};

use tokio_util::sync::CancellationToken;

/// How far a call is.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ToolProgress {
    /// How far, in the unit of `total`.
    pub done: f64,
    /// How much there is, if known.
    pub total: Option<f64>,
    /// For people.
    pub message: Option<String>,
}

/// Where progress goes. It must not wait.
pub(crate) type ProgressSink = Arc<dyn Fn(ToolProgress) + Send + Sync>;

/// One call, as the tool sees it. Cheap to clone.
#[derive(Clone)]
pub struct ToolContext {
    call_id: Arc<str>,
    tool: Arc<str>,
    cancel: CancellationToken,
    progress: ProgressSink,
}

impl ToolContext {
    /// For a call that nobody watches, as in tests of a tool.
    pub fn detached(call_id: &str, tool: &str) -> Self {
        Self::new(call_id, tool, CancellationToken::new(), Arc::new(|_| {}))
    }

    pub(crate) fn new(call_id: &str, tool: &str, cancel: CancellationToken, progress: ProgressSink) -> Self {
        Self { call_id: call_id.into(), tool: tool.into(), cancel, progress }
    }

    /// The call, as the model numbers it.
    pub fn call_id(&self) -> &str {
        &self.call_id
    }

    /// The tool, as the model calls it.
    pub fn tool(&self) -> &str {
        &self.tool
    }

    /// Cancelled when nobody waits for the answer any more: the time is up or the caller left.
    pub fn cancellation(&self) -> &CancellationToken {
        &self.cancel
    }

    /// Tells the caller how far it is.
    pub fn progress(&self, done: f64, total: Option<f64>, message: impl Into<Option<String>>) {
        (self.progress)(ToolProgress { done, total, message: message.into() });
    }
}

impl fmt::Debug for ToolContext {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ToolContext")
            .field("call_id", &self.call_id)
            .field("tool", &self.tool)
            .finish_non_exhaustive()
    }
}
