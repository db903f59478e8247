//! `/mcp/ws`: the same server over a WebSocket, one message per text frame, subprotocol `mcp`.

use ::http::HeaderMap;
use axum::{
    extract::{Query, State, WebSocketUpgrade, ws::WebSocket},
    response::Response,
};
use serde::{Deserialize, Serialize};

use super::{metadata, peer::McpPeer};
use crate::{
    auth::{self, AuthRefusal, CallerContext},
    connections::StreamSlot,
    doors::rest::{HandlerResult, ok_json},
    doors::ws::pump::{SocketMessage, SocketPump, with_socket_limits},
    error::RequestError,
    state::ServerState,
    tickets::TicketGrant,
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
    expires_in: u64,
}

pub(super) async fn issue_mcp_ticket(State(state): State<ServerState>, who: CallerContext) -> HandlerResult {
    let ticket = state.tickets.issue(TicketGrant::Mcp(who), state.clock.now(), &*state.ids)?;
    ok_json(&McpTicket { ticket, expires_in: state.tickets.lifetime_s() })
}

pub(super) async fn upgrade_mcp_socket(
    State(state): State<ServerState>,
    Query(query): Query<SocketQuery>,
    headers: HeaderMap,
    upgrade: WebSocketUpgrade,
) -> Response {
    let who = match &query.ticket {
        Some(ticket) => caller_from_ticket(&state, ticket),
        None => auth::caller_from_headers(&state, &headers).await,
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

fn caller_from_ticket(state: &ServerState, ticket: &str) -> Result<CallerContext, RequestError> {
    let now = state.clock.now();
    match state.tickets.redeem(ticket, now) {
        Some(TicketGrant::Mcp(who)) if !who.lease.is_expired(&state.tokens, now) => Ok(who),
        Some(TicketGrant::Mcp(_) | TicketGrant::Glasses(..)) | None => Err(AuthRefusal::BadCredential(
            "the ticket was used already, has expired, or is for something else".to_owned(),
        )
        .into()),
    }
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
                state.sessions.keep_alive(&user);
                peer.receive_message(text.as_bytes()).await;
            }
            Some(SocketMessage::Pong) => drop(state.sessions.keep_alive(&user)),
            Some(SocketMessage::Binary(_)) => {
                return pump.close_after(None, 1003, "expected text").await;
            }
            None => return,
        }
    }
}
