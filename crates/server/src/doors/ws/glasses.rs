//! `/glasses-ws`: a phone with glasses, or a simulator. Browsers open it with a ticket.

use std::sync::Arc;

use axum::{
    extract::{Query, State, WebSocketUpgrade, ws::WebSocket},
    response::{IntoResponse as _, Response},
};
use http::{HeaderMap, HeaderValue, StatusCode, header};
use serde::{Deserialize, Serialize};
use toolyard_platform::{
    Platform, devices,
    users::{self, IssuedTicket, SocketKind},
};
use toolyard_protocol::{
    UserId,
    session::{ToDevice, device_messages::DeviceConnectionError as Told},
};
use toolyard_sessions::DeviceOrder;

use super::pump::{SocketMessage, SocketPump, with_socket_limits};
use crate::{
    auth::{
        Actor, ActorOfUser, Credential, CredentialLease, Role, TargetUser, actor_by_credential,
        bearer_credential, user_from_header,
    },
    config::AuthMode,
    doors::rest::{HandlerResult, ok_json},
    error::RequestError,
    state::ServerState,
};

/// Phones send their token in the query.
#[derive(Deserialize)]
pub(super) struct DeviceQuery {
    token: Option<String>,
    /// The user, in dev mode and for operators, for clients that cannot set headers.
    user: Option<String>,
    /// From `POST /api/glasses/ticket`, for browsers.
    ticket: Option<String>,
}

/// A ticket for a simulator in a browser.
#[derive(Serialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct GlassesTicket {
    /// Send it as `?ticket=`. It opens one socket.
    ticket: String,
    /// Validity in seconds.
    expires_in_s: u64,
}

pub(super) async fn issue_glasses_ticket(
    State(platform): State<Arc<Platform>>,
    who: TargetUser,
) -> HandlerResult {
    let IssuedTicket { ticket, expires_in_s } =
        users::issue_ticket(&platform, who.into(), SocketKind::Glasses)?;
    ok_json(&GlassesTicket { ticket, expires_in_s })
}

pub(super) async fn upgrade_glasses_socket(
    State(state): State<ServerState>,
    Query(query): Query<DeviceQuery>,
    headers: HeaderMap,
    upgrade: WebSocketUpgrade,
) -> Response {
    match identify_device(&state, &query, &headers).await {
        Ok(who) => {
            let tasks = state.lifecycle.tasks.clone();
            with_socket_limits(upgrade, &state)
                .on_upgrade(move |socket| tasks.track_future(serve_glasses_socket(state, who, socket)))
        }
        Err(why) => {
            let body = ToDevice::ConnectionError(Told { code: None, message: why }).to_text();
            let kind = (header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
            (StatusCode::UNAUTHORIZED, [kind], body).into_response()
        }
    }
}

/// Who connects the device, and for which user.
async fn identify_device(
    state: &ServerState,
    query: &DeviceQuery,
    headers: &HeaderMap,
) -> Result<ActorOfUser, String> {
    if let Some(ticket) = &query.ticket {
        let redeemed = users::redeem_ticket(&state.platform, ticket, SocketKind::Glasses);
        return redeemed.map_err(|error| error.to_string());
    }
    let named = device_owner(query, headers)?;
    let actor = match query.token.as_deref().or(bearer_credential(headers)) {
        Some(token) => {
            actor_by_credential(state, token).await.map_err(|_| "the token is not valid here".to_owned())?
        }
        None if state.auth_mode == AuthMode::Dev => {
            Actor::Person { name: "dev".to_owned(), role: Role::Operator, credential: Credential::DevHeader }
        }
        None => return Err("send a token: `Authorization: Bearer`, or `?token=`".to_owned()),
    };
    devices::connect(actor, named).map_err(|error| error.to_string())
}

/// The user that the request names: in a header, or in the query.
fn device_owner(query: &DeviceQuery, headers: &HeaderMap) -> Result<Option<UserId>, String> {
    let by_header = user_from_header(headers).map_err(|failure| failure.message())?;
    match (by_header, query.user.as_deref()) {
        (Some(user), _) => Ok(Some(user)),
        (None, Some(user)) => user.parse().map(Some).map_err(|error| format!("user: {error}")),
        (None, None) => Ok(None),
    }
}

async fn serve_glasses_socket(state: ServerState, who: ActorOfUser, socket: WebSocket) {
    let lease = CredentialLease::from(&who.actor);
    let outbox = state.sessions.device_outbox();
    let mut pump = SocketPump::new(socket, outbox.clone(), &state);
    let Some(device) = state.sessions.attach_device(&who.user, &outbox).await else {
        return pump.close_after(None, 1013, "too many users").await;
    };
    while let Some(message) = pump.next().await {
        // Checked with each message and heartbeat, so that a silent socket ends as well.
        if lease.is_expired(&state.tokens, state.clock.now()) {
            return pump
                .close_after(None, 1008, "the token that opened this socket is no longer valid")
                .await;
        }
        match message {
            SocketMessage::Text(text) => {
                if let Some(order) = device.receive(&text).await {
                    run_device_order(&state, &who, order);
                }
            }
            SocketMessage::Binary(sound) if !sound.is_empty() => device.receive_audio(&sound),
            SocketMessage::Binary(_) | SocketMessage::Pong => {}
        }
    }
}

/// Runs on its own task, because a start takes seconds and must not block the socket.
fn run_device_order(state: &ServerState, who: &ActorOfUser, order: DeviceOrder) {
    let (state, who) = (state.clone(), who.clone());
    let tasks = state.lifecycle.tasks.clone();
    tasks.spawn(async move {
        match order {
            DeviceOrder::Start(package) => {
                if let Err(error) = users::start_app(&state.platform, &who, &package).await {
                    let why = RequestError::from(error).message();
                    tracing::warn!(user = %who.user, %package, error = why, "device could not start app");
                    state.sessions.show_start_failure(&who.user, &package, &why);
                }
            }
            DeviceOrder::Stop(package) => {
                // The app may have stopped by itself.
                let _ = users::stop_app(&state.platform, &who, &package).await;
            }
        }
    });
}
