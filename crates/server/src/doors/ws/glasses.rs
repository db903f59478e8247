//! `/glasses-ws`: a phone with glasses, or a simulator. Browsers open it with a ticket.

use axum::{
    extract::{Query, State, WebSocketUpgrade, ws::WebSocket},
    response::{IntoResponse as _, Response},
};
use http::{HeaderMap, HeaderValue, StatusCode, header};
use serde::{Deserialize, Serialize};
use toolyard_protocol::{
    UserId,
    session::{ToDevice, device_messages::DeviceConnectionError as Told, webhook::StopReason},
};
use toolyard_sessions::DeviceOrder;

use super::pump::{SocketMessage, SocketPump, with_socket_limits};
use crate::{
    auth::{
        Actor, CredentialLease, Role, TargetUser, actor_by_credential, bearer_credential, user_from_header,
    },
    config::AuthMode,
    doors::rest::{HandlerResult, ok_json, session::open_installed_app},
    error::RequestError,
    state::ServerState,
    tickets::TicketGrant,
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

pub(super) async fn issue_glasses_ticket(State(state): State<ServerState>, who: TargetUser) -> HandlerResult {
    let opens = TicketGrant::Glasses(who.user, who.actor.into());
    let ticket = state.tickets.issue(opens, state.clock.now(), &*state.ids)?;
    ok_json(&GlassesTicket { ticket, expires_in_s: state.tickets.lifetime_s() })
}

pub(super) async fn upgrade_glasses_socket(
    State(state): State<ServerState>,
    Query(query): Query<DeviceQuery>,
    headers: HeaderMap,
    upgrade: WebSocketUpgrade,
) -> Response {
    match device_user(&state, &query, &headers).await {
        Ok((user, lease)) => {
            let tasks = state.lifecycle.tasks.clone();
            with_socket_limits(upgrade, &state).on_upgrade(move |socket| {
                tasks.track_future(serve_glasses_socket(state, user, lease, socket))
            })
        }
        Err(why) => {
            let body = ToDevice::ConnectionError(Told { code: None, message: why }).to_text();
            let kind = (header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
            (StatusCode::UNAUTHORIZED, [kind], body).into_response()
        }
    }
}

async fn device_user(
    state: &ServerState,
    query: &DeviceQuery,
    headers: &HeaderMap,
) -> Result<(UserId, CredentialLease), String> {
    if let Some(ticket) = &query.ticket {
        let now = state.clock.now();
        return match state.tickets.redeem(ticket, now) {
            Some(TicketGrant::Glasses(user, lease)) if !lease.is_expired(&state.tokens, now) => {
                Ok((user, lease))
            }
            Some(TicketGrant::Glasses(..) | TicketGrant::Mcp(_)) | None => {
                Err("the ticket was used already, has expired, or is for something else".to_owned())
            }
        };
    }
    let bearer = bearer_credential(headers);
    let named = device_owner(query, headers)?;
    let (user, lease) = match query.token.as_deref().or(bearer) {
        Some(token) => match actor_by_credential(state, token).await {
            // Operators can connect a device for another user, as they can call tools for another user.
            Ok(Actor::Person { name, role, credential }) => match named {
                Some(user) if role == Role::Operator => (user, credential.into()),
                _ => (name.parse().map_err(|error| format!("{error}"))?, credential.into()),
            },
            Ok(Actor::App(_)) => return Err("a device needs a user's token".to_owned()),
            Err(_) => return Err("the token is not valid here".to_owned()),
        },
        None if state.auth_mode == AuthMode::Dev => {
            let named = named.ok_or("name the user: `?user=` or X-User-Id, or send a token")?;
            (named, CredentialLease::default())
        }
        None => return Err("send a token: `Authorization: Bearer`, or `?token=`".to_owned()),
    };
    Ok((user, lease))
}

/// The user that the request names: in a header, or in the query.
fn device_owner(query: &DeviceQuery, headers: &HeaderMap) -> Result<Option<UserId>, String> {
    let by_header = user_from_header(headers).map_err(|failure| match failure {
        RequestError::Api(error) => error.message,
        RequestError::Refused(refusal) => refusal.to_string(),
    })?;
    match (by_header, query.user.as_deref()) {
        (Some(user), _) => Ok(Some(user)),
        (None, Some(user)) => user.parse().map(Some).map_err(|error| format!("user: {error}")),
        (None, None) => Ok(None),
    }
}

async fn serve_glasses_socket(state: ServerState, user: UserId, lease: CredentialLease, socket: WebSocket) {
    let outbox = state.sessions.device_outbox();
    let mut pump = SocketPump::new(socket, outbox.clone(), &state);
    let Some(device) = state.sessions.attach_device(&user, &outbox).await else {
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
                    run_device_order(&state, &user, order);
                }
            }
            SocketMessage::Binary(sound) if !sound.is_empty() => device.receive_audio(&sound),
            SocketMessage::Binary(_) | SocketMessage::Pong => {}
        }
    }
}

/// Runs on its own task, because a start takes seconds and must not block the socket.
fn run_device_order(state: &ServerState, user: &UserId, order: DeviceOrder) {
    let (state, user) = (state.clone(), user.clone());
    let tasks = state.lifecycle.tasks.clone();
    tasks.spawn(async move {
        match order {
            DeviceOrder::Start(package) => {
                if let Err(error) = open_installed_app(&state, &user, &package).await {
                    let why = match error {
                        RequestError::Api(error) => error.message,
                        RequestError::Refused(refusal) => refusal.to_string(),
                    };
                    tracing::warn!(%user, %package, error = why, "device could not start app");
                    state.sessions.show_start_failure(&user, &package, &why);
                }
            }
            DeviceOrder::Stop(package) => {
                let _ = state.sessions.stop_app(&user, &package, StopReason::UserDisabled).await;
            }
        }
    });
}
