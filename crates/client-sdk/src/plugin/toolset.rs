//! The tools of one request, frozen: the tools that were offered are the tools that run, even if plugins change meanwhile.

use std::sync::Arc;

use serde_json::Value;
use toolyard_protocol::chat::ClientTool;

use super::Hooks;
use crate::tool::{Tool, ToolCall, ToolContext, ToolError};

/// A tool, and the hook that runs it first.
#[derive(Clone)]
pub(super) struct OfferedTool {
    pub(super) tool: Tool,
    pub(super) hook: Option<Arc<dyn Hooks>>,
}

/// The tools of one request. Cheap to clone.
#[derive(Clone, Default)]
pub(crate) struct ToolSnapshot(Arc<Vec<OfferedTool>>);

impl ToolSnapshot {
    pub(super) fn new(tools: Vec<OfferedTool>) -> Self {
        Self(Arc::new(tools))
    }

    pub(crate) fn definitions(&self) -> Vec<ClientTool> {
        self.0.iter().map(|offered| offered.tool.definition().clone()).collect()
    }

    pub(crate) fn has_tool(&self, name: &str) -> bool {
        self.0.iter().any(|offered| offered.tool.name() == name)
    }

    /// Runs a call with the hook of its plugin, or else with its executor.
    pub(crate) async fn run_call(&self, call: &ToolCall, cx: &ToolContext) -> Result<Value, ToolError> {
        let found = self.0.iter().find(|offered| offered.tool.name() == call.tool);
        let OfferedTool { tool, hook } =
            found.ok_or_else(|| ToolError(format!("this client has no tool `{}`", call.tool)))?;
        if let Some(hook) = hook
            && let Some(outcome) = hook.on_tool_call(call, cx).await
        {
            return outcome;
        }
        (tool.executor())(call.arguments()?, cx.clone()).await
    }
}
