//! Follows one connection: reads the list of tools again when it changed, and notes when the connection is lost.

use std::{sync::Weak, time::Duration};

use futures_util::FutureExt as _;
use toolyard_mcp_client::{Client, ClientError, CloseReason, Listing, ServerEvent, ServerEvents};
use toolyard_protocol::mcp::RpcError;

use super::{Bridged, ServerState};

/// How long a change waits for more of them before the list is read again. They come in bursts.
const SETTLE: Duration = Duration::from_millis(50);

/// Until the connection ends. Holds on to the bridge only for moments, so that it can go.
pub(super) async fn follow(bridged: Weak<Bridged>, at: usize, client: Client, mut events: ServerEvents) {
    while let Some(event) = events.next().await {
        let closed = match event {
            ServerEvent::ToolsChanged | ServerEvent::Missed => settle(&mut events).await,
            ServerEvent::Closed(reason) => Some(reason),
            ServerEvent::PromptsChanged | ServerEvent::ResourcesChanged | ServerEvent::ResourceUpdated(_) => {
                continue;
            }
        };
        if let Some(reason) = closed {
            if let (CloseReason::Lost(how), Some(bridged)) = (reason, bridged.upgrade()) {
                tracing::warn!(server = bridged.name(at), how, "the connection to an MCP server is lost");
                bridged.board().set_state(at, ServerState::Down(how));
            }
            return;
        }
        refresh(&bridged, at, &client).await;
    }
}

/// Reads the list again. What cannot be read leaves it as it was.
pub(super) async fn refresh(bridged: &Weak<Bridged>, at: usize, client: &Client) {
    let listed = list(client).await;
    let Some(bridged) = bridged.upgrade() else { return };
    match listed {
        Ok(listing) => {
            if let Err(error) = bridged.take(at, &listing) {
                tracing::warn!(server = bridged.name(at), %error, "the new list of tools cannot be offered");
            }
        }
        Err(error) => {
            tracing::warn!(server = bridged.name(at), %error, "the list of tools cannot be read; it stays as it was");
        }
    }
}

/// The tools of a server. One that has never heard of tools has none.
pub(super) async fn list(client: &Client) -> Result<Listing, ClientError> {
    match client.list_tools().await {
        Err(ClientError::Rpc(error)) if error.code == RpcError::METHOD_NOT_FOUND => Ok(Listing::default()),
        other => other,
    }
}

/// Waits a moment and takes all that was told meanwhile; says whether the connection ended.
async fn settle(events: &mut ServerEvents) -> Option<CloseReason> {
    tokio::time::sleep(SETTLE).await;
    let mut closed = None;
    while let Some(Some(event)) = events.next().now_or_never() {
        if let ServerEvent::Closed(reason) = event {
            closed = Some(reason);
        }
    }
    closed
}
