//! The context of a call, as the tool sees it.

use std::{fmt, sync::Arc};

use tokio_util::sync::CancellationToken;

/// Progress of a call.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ToolProgress {
    /// How much is done, in the unit of `total`.
    pub done: f64,
    /// The total amount, if known.
    pub total: Option<f64>,
    /// A message for people.
    pub message: Option<String>,
}

/// Receives progress reports. It must not block.
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
    /// A context that ignores progress and is never cancelled, for tests of a tool.
    pub fn detached(call_id: &str, tool: &str) -> Self {
        Self::new(call_id, tool, CancellationToken::new(), Arc::new(|_| {}))
    }

    pub(crate) fn new(call_id: &str, tool: &str, cancel: CancellationToken, progress: ProgressSink) -> Self {
        Self { call_id: call_id.into(), tool: tool.into(), cancel, progress }
    }

    /// The id of the call.
    pub fn call_id(&self) -> &str {
        &self.call_id
    }

    /// The tool, as the model calls it.
    pub fn tool(&self) -> &str {
        &self.tool
    }

    /// Cancelled when the result is not needed any more: the call timed out, or the chat was dropped.
    pub fn cancellation(&self) -> &CancellationToken {
        &self.cancel
    }

    /// Reports progress to the caller.
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
