//! Follows one connection: reads the tool list again when it changes, and records when the connection is lost.

use std::{sync::Weak, time::Duration};

use futures_util::FutureExt as _;
use toolyard_mcp_client::{
    CloseReason, McpClient, McpClientError, ServerEvent, ServerEvents, UpstreamListing,
};
use toolyard_protocol::mcp::RpcError;

use super::{BridgeState, ServerState};

/// How long to wait for more changes before the list is read again. They come in bursts.
const SETTLE: Duration = Duration::from_millis(50);

/// Runs until the connection ends. Holds a weak reference, so that the bridge can be dropped.
pub(super) async fn follow_connection(
    bridged: Weak<BridgeState>,
    at: usize,
    client: McpClient,
    mut events: ServerEvents,
) {
    while let Some(event) = events.next().await {
        let closed = match event {
            ServerEvent::ToolsChanged | ServerEvent::Missed => drain_events(&mut events).await,
            ServerEvent::Closed(reason) => Some(reason),
            ServerEvent::PromptsChanged | ServerEvent::ResourcesChanged | ServerEvent::ResourceUpdated(_) => {
                continue;
            }
        };
        if let Some(reason) = closed {
            if let (CloseReason::Lost(how), Some(bridged)) = (reason, bridged.upgrade()) {
                tracing::warn!(server = bridged.server_name(at), how, "connection to MCP server lost");
                bridged.lock_board().set_state(at, ServerState::Down(how));
            }
            return;
        }
        refresh_tools(&bridged, at, &client).await;
    }
}

/// Reads the tool list again. If that fails, the old list stays.
pub(super) async fn refresh_tools(bridged: &Weak<BridgeState>, at: usize, client: &McpClient) {
    let listed = list_tools(client).await;
    let Some(bridged) = bridged.upgrade() else { return };
    match listed {
        Ok(listing) => {
            if let Err(error) = bridged.update_offer(at, &listing) {
                tracing::warn!(server = bridged.server_name(at), %error, "cannot offer the changed tools of an MCP server");
            }
        }
        Err(error) => {
            tracing::warn!(server = bridged.server_name(at), %error, "cannot list the tools of an MCP server, keeping the old list");
        }
    }
}

/// The tools of a server. A server without support for tools has none.
pub(super) async fn list_tools(client: &McpClient) -> Result<UpstreamListing, McpClientError> {
    match client.list_tools().await {
        Err(McpClientError::Rpc(error)) if error.code == RpcError::METHOD_NOT_FOUND => {
            Ok(UpstreamListing::default())
        }
        other => other,
    }
}

/// Waits a moment and takes all events that arrived meanwhile. Returns the reason if the connection closed.
async fn drain_events(events: &mut ServerEvents) -> Option<CloseReason> {
    tokio::time::sleep(SETTLE).await;
    let mut closed = None;
    while let Some(Some(event)) = events.next().now_or_never() {
        if let ServerEvent::Closed(reason) = event {
            closed = Some(reason);
        }
    }
    closed
}
