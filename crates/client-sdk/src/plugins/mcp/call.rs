//! One call of a tool: from the model's arguments to a result that it can read.

use std::sync::{Arc, Weak};

use serde_json::{Map, Value};
use tokio::{sync::mpsc, time::Instant};
use toolyard_mcp_client::{McpClientError, RequestOptions, ToolCallParams, UpstreamReply};
use toolyard_protocol::raw::to_raw;

use super::{
    BridgeState,
    connection::{BridgeConnectError, OpenedClient},
    follow,
    result::{first_chars, to_json},
};
use crate::tool::{ToolContext, ToolError, ToolExecutor};

/// Progress reports that may wait. More are dropped.
const MAX_PROGRESS_BEHIND: usize = 64;
/// Longest server message that is passed to the model, in characters.
const MAX_MESSAGE_CHARS: usize = 2_000;

/// The executor of a tool. It holds a weak reference: the bridge owns its tools, so a strong one would keep it alive forever.
pub(super) fn bridge_executor(bridged: Weak<BridgeState>, at: usize, tool: &str) -> ToolExecutor {
    let tool: Arc<str> = tool.into();
    Arc::new(move |arguments, cx| {
        let (bridged, tool) = (bridged.clone(), tool.clone());
        Box::pin(async move {
            let bridged = bridged.upgrade().ok_or_else(|| ToolError::new("the MCP bridge is closed"))?;
            let cancelled = cx.cancellation().clone();
            tokio::select! {
                biased;
                // Dropping the request notifies the server.
                () = cancelled.cancelled() => Err(ToolError::new("the call was cancelled")),
                answer = bridged.call(at, &tool, &arguments, &cx) => answer,
            }
        })
    })
}

impl BridgeState {
    async fn call(
        self: &Arc<Self>,
        at: usize,
        tool: &str,
        arguments: &Map<String, Value>,
        cx: &ToolContext,
    ) -> Result<Value, ToolError> {
        let registration = self
            .current_registration()
            .ok_or_else(|| ToolError::new("the MCP bridge is not registered any more"))?;
        let client = match self
            .open_connection(at, &registration)
            .await
            .map_err(|error| self.unreachable_error(at, &error))?
        {
            OpenedClient::Existing(client) => client,
            OpenedClient::New(client) => {
                // A restarted server may offer other tools.
                let (bridged, of) = (Arc::downgrade(self), client.clone());
                registration.tasks.spawn(async move { follow::refresh_tools(&bridged, at, &of).await });
                client
            }
        };
        let (to, mut progress) = mpsc::channel(MAX_PROGRESS_BEHIND);
        let wanted = RequestOptions {
            progress: Some(to),
            deadline: Some(Instant::now() + self.options.call_limit),
            ..RequestOptions::default()
        };
        let arguments = to_raw(arguments);
        let mut request =
            std::pin::pin!(client.call_tool(ToolCallParams::new(tool, Some(&arguments)), wanted));
        let answer = loop {
            tokio::select! {
                biased;
                Some(report) = progress.recv() => cx.progress(report.progress, report.total, report.message),
                answer = &mut request => break answer,
            }
        };
        while let Ok(report) = progress.try_recv() {
            cx.progress(report.progress, report.total, report.message);
        }
        match answer {
            Ok(UpstreamReply::Complete(raw)) => to_json(&raw, self.options.max_result_bytes),
            Ok(UpstreamReply::InputRequired(_)) => Err(ToolError(format!(
                "{} wants to ask the user something, which is not possible here",
                self.server_label(at)
            ))),
            Err(error) => Err(self.call_error(at, error)),
        }
    }

    fn server_label(&self, at: usize) -> String {
        format!("the MCP server `{}`", self.server_name(at))
    }

    /// The error for a call that did not run.
    fn unreachable_error(&self, at: usize, error: &BridgeConnectError) -> ToolError {
        let why = first_chars(&error.to_string(), MAX_MESSAGE_CHARS);
        ToolError(format!("{} cannot be reached, so the tool did not run: {why}", self.server_label(at)))
    }

    fn call_error(&self, at: usize, error: McpClientError) -> ToolError {
        let server = self.server_label(at);
        let perhaps = "the tool may or may not have run";
        ToolError(match error {
            McpClientError::NotSent(why) => {
                format!("{server} cannot be reached, so the tool did not run: {why}")
            }
            McpClientError::Closed(how) => {
                format!("{server} stopped before it answered ({how}); {perhaps}; the next call restarts it")
            }
            McpClientError::PerhapsSent(how) => {
                format!("{server} closed the request before it answered ({how}); {perhaps}; you can retry")
            }
            McpClientError::Timeout(limit) => format!("{server} did not answer within {limit:?}; {perhaps}"),
            McpClientError::Rpc(error) => {
                format!("{server} refused: {}", first_chars(&error.message, MAX_MESSAGE_CHARS))
            }
            McpClientError::AuthorizationNeeded { .. } => {
                format!("{server} requires authorization; its settings need another `Authorization` header")
            }
            other => format!("{server} failed: {}", first_chars(&other.to_string(), MAX_MESSAGE_CHARS)),
        })
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use serde_json::json;
    use tokio_util::sync::CancellationToken;
    use toolyard_testkit::FakeUpstream;

    use super::super::{McpBridge, McpOptions, McpServer};
    use super::*;
    use crate::{Hooks as _, PluginTools, tool::ToolProgress};

    #[tokio::test]
    async fn progress_of_a_server_reaches_the_caller() {
        let upstream = FakeUpstream::start().await;
        let bridge = McpBridge::new([McpServer::url("up", upstream.url())], McpOptions::new(|_| None));
        let own = PluginTools::detached("mcp");
        bridge.on_register(&own).await.unwrap();
        let steps = own.get().into_iter().find(|tool| tool.name() == "mcp_up_steps").unwrap();
        let seen: Arc<Mutex<Vec<ToolProgress>>> = Arc::default();
        let to = seen.clone();
        let sink = Arc::new(move |progress| to.lock().unwrap().push(progress));
        let cx = ToolContext::new("c", "mcp_up_steps", CancellationToken::new(), sink);
        let arguments = Map::from_iter([("count".to_owned(), json!(3))]);
        upstream.let_through(3);
        steps.executor()(arguments, cx).await.unwrap();
        let seen = seen.lock().unwrap();
        let reported: Vec<_> = seen.iter().map(|progress| (progress.done, progress.total)).collect();
        assert_eq!(reported, [(1.0, Some(3.0)), (2.0, Some(3.0)), (3.0, Some(3.0))]);
    }
}
