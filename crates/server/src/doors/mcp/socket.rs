//! `/mcp/ws`: the same server over a WebSocket, one message per text frame, subprotocol `mcp`.

use std::sync::Arc;

use ::http::HeaderMap;
use axum::{
    extract::{Query, State, WebSocketUpgrade, ws::WebSocket},
    response::Response,
};
use serde::{Deserialize, Serialize};
use toolyard_authorization::scope::OAuthScope;
use toolyard_platform::{
    Platform,
    users::{self, IssuedTicket, SocketKind},
};

use super::{metadata, peer::McpPeer};
use crate::{
    auth::{self, ActorOfUser, CallerContext},
    connections::StreamSlot,
    doors::rest::{HandlerResult, ok_json},
    doors::ws::pump::{SocketMessage, SocketPump, with_socket_limits},
    error::RequestError,
    state::ServerState,
};

/// WebSocket subprotocol.
const SUBPROTOCOL: &str = "mcp";

#[derive(Deserialize)]
pub(super) struct SocketQuery {
    ticket: Option<String>,
}

/// A ticket for a browser to open the socket.
#[derive(Serialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct McpTicket {
    /// Send it as `?ticket=`. It opens one socket.
    ticket: String,
    /// Validity in seconds.
    expires_in_s: u64,
    /// Older name of `expiresInS`, with the same value.
    expires_in: u64,
}

pub(super) async fn issue_mcp_ticket(
    State(platform): State<Arc<Platform>>,
    who: CallerContext,
) -> HandlerResult {
    let IssuedTicket { ticket, expires_in_s } = users::issue_ticket(&platform, who.into(), SocketKind::Mcp)?;
    ok_json(&McpTicket { ticket, expires_in_s, expires_in: expires_in_s })
}

pub(super) async fn upgrade_mcp_socket(
    State(state): State<ServerState>,
    Query(query): Query<SocketQuery>,
    headers: HeaderMap,
    upgrade: WebSocketUpgrade,
) -> Response {
    let who = match &query.ticket {
        Some(ticket) => caller_from_ticket(&state, ticket).await,
        None => auth::caller_from_headers(&state, &headers, OAuthScope::ToolsRead).await,
    };
    let who = who.and_then(|who| Ok((state.process.streams.reserve(who.user.as_str())?, who)));
    match who {
        Ok((slot, who)) => {
            let tasks = state.lifecycle.tasks.clone();
            let upgrade = with_socket_limits(upgrade, &state).protocols([SUBPROTOCOL]);
            upgrade.on_upgrade(move |socket| tasks.track_future(serve_mcp_socket(state, who, socket, slot)))
        }
        Err(failure) => metadata::challenge_response(&state, failure),
    }
}

async fn caller_from_ticket(state: &ServerState, ticket: &str) -> Result<CallerContext, RequestError> {
    let ActorOfUser { user, actor } = users::redeem_ticket(&state.platform, ticket, SocketKind::Mcp)?;
    auth::caller_context(state, actor, Some(user)).await
}

async fn serve_mcp_socket(state: ServerState, who: CallerContext, socket: WebSocket, _slot: StreamSlot) {
    let user = who.user.clone();
    let (mut peer, messages) = McpPeer::new(state.clone(), who.clone());
    let mut pump = SocketPump::new(socket, messages, &state);
    let over = peer.close_token();
    loop {
        let message = tokio::select! {
            message = pump.next() => message,
            () = peer.wait_for_shutdown() => return pump.flush_and_close(1001, "the server is stopping").await,
            () = over.cancelled() => return pump.close_after(None, 1011, "too slow").await,
        };
        match message {
            // Checked with each message and heartbeat, so that a silent socket ends as well.
            Some(_) if who.lease.is_expired(&state.tokens, state.clock.now()) => {
                return pump
                    .close_after(None, 1008, "the token that opened this socket is no longer valid")
                    .await;
            }
            // An open socket keeps the user's session alive.
            Some(SocketMessage::Text(text)) => {
                users::keep_session(&state.platform, &user);
                peer.receive_message(text.as_bytes()).await;
            }
            Some(SocketMessage::Pong) => users::keep_session(&state.platform, &user),
            Some(SocketMessage::Binary(_)) => {
                return pump.close_after(None, 1003, "expected text").await;
            }
            None => return,
        }
    }
}
