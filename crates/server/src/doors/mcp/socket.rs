//! `/mcp/ws`: the same server over a WebSocket, one message a text frame, subprotocol `mcp`.

use ::http::HeaderMap;
use axum::{
    extract::{Query, State, WebSocketUpgrade, ws::WebSocket},
    response::Response,
};
use serde::{Deserialize, Serialize};

use super::{metadata, peer::Peer};
use crate::{
    auth::{self, ActingFor, Refusal},
    connections::StreamSlot,
    doors::rest::{Answer, ok},
    doors::ws::pump::{Incoming, Pump, bounded},
    error::Failure,
    state::AppState,
    tickets::Opens,
};

/// The subprotocol.
const SUBPROTOCOL: &str = "mcp";

#[derive(Deserialize)]
pub(super) struct SocketQuery {
    ticket: Option<String>,
}

/// A ticket for a browser.
#[derive(Serialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct Ticket {
    /// Give it as `?ticket=`; it opens one socket.
    ticket: String,
    /// How many seconds it is good.
    expires_in: u64,
}

pub(super) async fn ticket(State(state): State<AppState>, who: ActingFor) -> Answer {
    let ticket = state.tickets.give(Opens::Mcp(who), state.clock.now(), &*state.ids)?;
    ok(&Ticket { ticket, expires_in: state.tickets.lifetime_s() })
}

pub(super) async fn upgrade(
    State(state): State<AppState>,
    Query(query): Query<SocketQuery>,
    headers: HeaderMap,
    upgrade: WebSocketUpgrade,
) -> Response {
    let who = match &query.ticket {
        Some(ticket) => with_ticket(&state, ticket),
        None => auth::acting_over_mcp(&state, &headers).await,
    };
    let who = who.and_then(|who| Ok((state.process.streams.enter(who.user.as_str())?, who)));
    match who {
        Ok((slot, who)) => {
            let tasks = state.lifecycle.tasks.clone();
            let upgrade = bounded(upgrade, &state).protocols([SUBPROTOCOL]);
            upgrade.on_upgrade(move |socket| tasks.track_future(run(state, who, socket, slot)))
        }
        Err(failure) => metadata::challenge(&state, failure),
    }
}

fn with_ticket(state: &AppState, ticket: &str) -> Result<ActingFor, Failure> {
    let now = state.clock.now();
    match state.tickets.take(ticket, now) {
        Some(Opens::Mcp(who)) if !who.lease.is_over(&state.tokens, now) => Ok(who),
        Some(Opens::Mcp(_) | Opens::Glasses(..)) | None => Err(Refusal::BadCredential(
            "the ticket was used, is too old, or is for something else".to_owned(),
        )
        .into()),
    }
}

async fn run(state: AppState, who: ActingFor, socket: WebSocket, _slot: StreamSlot) {
    let user = who.user.clone();
    let (mut peer, messages) = Peer::new(state.clone(), who.clone());
    let mut pump = Pump::new(socket, messages, &state);
    let over = peer.over();
    loop {
        let message = tokio::select! {
            message = pump.next() => message,
            () = peer.finished() => return pump.finish(1001, "the server stops").await,
            () = over.cancelled() => return pump.refuse(None, 1011, "too slow").await,
        };
        match message {
            // Looked at with each message and each heartbeat, so a silent socket ends as well.
            Some(_) if who.lease.is_over(&state.tokens, state.clock.now()) => {
                return pump.refuse(None, 1008, "the token that opened this socket has ended").await;
            }
            // An open socket is a sign of life of its user.
            Some(Incoming::Text(text)) => {
                state.sessions.keep_alive(&user);
                peer.receive(text.as_bytes()).await;
            }
            Some(Incoming::Pong) => drop(state.sessions.keep_alive(&user)),
            Some(Incoming::Binary(_)) => {
                return pump.refuse(None, 1003, "expected text").await;
            }
            None => return,
        }
    }
}
