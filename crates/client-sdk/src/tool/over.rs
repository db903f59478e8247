//! A function of the program that is asked about each call before it runs: to confirm it, to forbid it, to watch it, or to run
//! it some other way.

use std::{fmt, sync::Arc};

use futures_util::future::BoxFuture;
use serde_json::Value;

use super::{Call, ToolContext, ToolError};
use crate::plugin::Toolset;

/// Asked about each call of this client, in place of hooks and executors.
pub type OnToolCall = Arc<dyn Fn(CallRun) -> BoxFuture<'static, Result<Value, ToolError>> + Send + Sync>;

/// A call that is about to run.
pub struct CallRun {
    call: Call,
    cx: ToolContext,
    tools: Toolset,
}

impl CallRun {
    pub(crate) fn new(call: Call, cx: ToolContext, tools: Toolset) -> Self {
        Self { call, cx, tools }
    }

    /// The call.
    pub fn call(&self) -> &Call {
        &self.call
    }

    /// What the tool would get with it.
    pub fn context(&self) -> &ToolContext {
        &self.cx
    }

    /// Whether this client has a tool of that name.
    pub fn is_known(&self) -> bool {
        self.tools.has(&self.call.tool)
    }

    /// Runs it as it would have run: by the hook of its plugin, or its executor.
    pub async fn run(&self) -> Result<Value, ToolError> {
        self.tools.run(&self.call, &self.cx).await
    }
}

impl fmt::Debug for CallRun {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CallRun")
            .field("id", &self.call.id)
            .field("tool", &self.call.tool)
            .finish_non_exhaustive()
    }
}
