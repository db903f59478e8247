//! A function of the program that runs each call: to confirm, deny or observe it, or to run it in another way.

use std::{fmt, sync::Arc};

use futures_util::future::BoxFuture;
use serde_json::Value;

use super::{ToolCall, ToolContext, ToolError};
use crate::plugin::ToolSnapshot;

/// Runs each call of this client, in place of hooks and executors.
pub type OnToolCall = Arc<dyn Fn(CallRun) -> BoxFuture<'static, Result<Value, ToolError>> + Send + Sync>;

/// A call that is about to run.
pub struct CallRun {
    call: ToolCall,
    cx: ToolContext,
    tools: ToolSnapshot,
}

impl CallRun {
    pub(crate) fn new(call: ToolCall, cx: ToolContext, tools: ToolSnapshot) -> Self {
        Self { call, cx, tools }
    }

    /// The call.
    pub fn call(&self) -> &ToolCall {
        &self.call
    }

    /// The context that the tool would get.
    pub fn context(&self) -> &ToolContext {
        &self.cx
    }

    /// Whether this client has a tool of that name.
    pub fn is_known(&self) -> bool {
        self.tools.has_tool(&self.call.tool)
    }

    /// Runs the call as usual, with the hook of its plugin or its executor.
    pub async fn run(&self) -> Result<Value, ToolError> {
        self.tools.run_call(&self.call, &self.cx).await
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
