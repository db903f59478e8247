//! Follows one connection: reads the list of tools again when it changed, and notes when the connection is lost.

use std::{sync::Weak, time::Duration};

use futures_util::FutureExt as _;
use toolyard_mcp_client::{
    CloseReason, McpClient, McpClientError, ServerEvent, ServerEvents, UpstreamListing,
};
use toolyard_protocol::mcp::RpcError;

use super::{BridgeState, ServerState};

/// How long a change waits for more of them before the list is read again. They come in bursts.
const SETTLE: Duration = Duration::from_millis(50);

/// Until the connection ends. Holds on to the bridge only for moments, so that it can go.
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
                tracing::warn!(
                    server = bridged.server_name(at),
                    how,
                    "the connection to an MCP server is lost"
                );
                bridged.lock_board().set_state(at, ServerState::Down(how));
            }
            return;
        }
        refresh_tools(&bridged, at, &client).await;
    }
}

/// Reads the list again. What cannot be read leaves it as it was.
pub(super) async fn refresh_tools(bridged: &Weak<BridgeState>, at: usize, client: &McpClient) {
    let listed = list_tools(client).await;
    let Some(bridged) = bridged.upgrade() else { return };
    match listed {
        Ok(listing) => {
            if let Err(error) = bridged.update_offer(at, &listing) {
                tracing::warn!(server = bridged.server_name(at), %error, "the new list of tools cannot be offered");
            }
        }
        Err(error) => {
            tracing::warn!(server = bridged.server_name(at), %error, "the list of tools cannot be read; it stays as it was");
        }
    }
}

/// The tools of a server. One that has never heard of tools has none.
pub(super) async fn list_tools(client: &McpClient) -> Result<UpstreamListing, McpClientError> {
    match client.list_tools().await {
        Err(McpClientError::Rpc(error)) if error.code == RpcError::METHOD_NOT_FOUND => {
            Ok(UpstreamListing::default())
        }
        other => other,
    }
}

/// Waits a moment and takes all that was told meanwhile; says whether the connection ended.
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
