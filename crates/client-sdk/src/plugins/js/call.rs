//! One call of a tool, in the sandbox.

use std::sync::Arc;

use serde_json::{Map, Value, value::to_raw_value};
use toolyard_protocol::plugin::{ContentHash, PluginId, PluginTool};
use toolyard_sandbox::{LogLine, RunPermissions as Granted, SandboxError, SandboxJob};

use super::{error::JsPluginError, host::JsHost};
use crate::{
    TRACE_TARGET,
    tool::{Tool, ToolContext, ToolError, ToolExecutor},
};

/// State that the tools of a plugin share.
pub(super) struct JsRuntime {
    pub(super) host: JsHost,
    pub(super) id: PluginId,
    pub(super) hash: ContentHash,
    pub(super) granted: Granted,
    /// Permissions that its code seems to need but was not granted.
    pub(super) missing_permissions: Vec<&'static str>,
}

/// A tool of the manifest.
pub(super) fn js_tool(tool: &PluginTool, shared: &Arc<JsRuntime>) -> Tool {
    let source: Arc<str> = tool.executor_code.as_str().into();
    let shared = shared.clone();
    let executor: ToolExecutor = Arc::new(move |arguments, cx| {
        let (shared, source) = (shared.clone(), source.clone());
        Box::pin(async move { shared.call(source, &arguments, &cx).await })
    });
    Tool::new(tool.to_client_tool(), executor)
}

impl JsRuntime {
    async fn call(
        &self,
        source: Arc<str>,
        arguments: &Map<String, Value>,
        cx: &ToolContext,
    ) -> Result<Value, ToolError> {
        if self.host.is_stuck(&self.hash) {
            return Err(ToolError::new(JsPluginError::Stuck { id: self.id.clone() }));
        }
        let args = to_raw_value(arguments).map_err(ToolError::new)?;
        let job =
            SandboxJob { source, name: format!("{}.js", cx.tool()), args, permissions: self.granted.clone() };
        // Console output may contain private text, so it is logged at the lowest level only.
        let mut console = |line: &LogLine| {
            tracing::trace!(target: TRACE_TARGET, plugin = %self.id, tool = cx.tool(), level = ?line.level, "{}", line.text);
        };
        match self.host.sandbox().run(job, cx.cancellation().clone(), &mut console).await {
            Ok(outcome) => serde_json::from_str(outcome.json.get())
                .map_err(|error| ToolError(format!("the result is not valid JSON: {error}"))),
            Err(error) => Err(self.to_tool_error(&error)),
        }
    }

    fn to_tool_error(&self, error: &SandboxError) -> ToolError {
        if matches!(error, SandboxError::TimedOut { stuck: true, .. }) {
            self.host.mark_stuck(&self.hash);
            tracing::warn!(target: TRACE_TARGET, plugin = %self.id, "plugin stuck, disabled until restart");
            return ToolError(format!("{error}; {}", JsPluginError::Stuck { id: self.id.clone() }));
        }
        let may_miss = matches!(error, SandboxError::Thrown { .. }) && !self.missing_permissions.is_empty();
        if !may_miss {
            return ToolError::new(error);
        }
        let missing =
            self.missing_permissions.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ");
        ToolError(format!(
            "{error}. The plugin runs without {missing}: its manifest must request that under `permissions` and be signed again"
        ))
    }
}
