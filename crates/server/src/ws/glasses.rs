//! `/glasses-ws`: a phone with glasses, or a simulator.

use axum::{
    extract::{Query, State, WebSocketUpgrade, ws::WebSocket},
    response::{IntoResponse as _, Response},
};
use http::{HeaderMap, HeaderValue, StatusCode, header};
use serde::Deserialize;
use toolyard_protocol::{
    UserId,
    session::{ToDevice, device_messages::Refusal as Told, webhook::StopReason},
};
use toolyard_sessions::DeviceOrder;

use super::pump::{Incoming, Pump, bounded};
use crate::{
    auth::{Identity, Role, USER_HEADER, by_credential},
    config::AuthMode,
    error::Failure,
    rest::session::open,
    state::AppState,
};

/// Phones send their token in the query.
#[derive(Deserialize)]
pub(super) struct DeviceQuery {
    token: Option<String>,
    /// In dev mode, and for operators, where no header can be set.
    user: Option<String>,
}

pub(super) async fn upgrade(
    State(state): State<AppState>,
    Query(query): Query<DeviceQuery>,
    headers: HeaderMap,
    upgrade: WebSocketUpgrade,
) -> Response {
    match device_user(&state, &query, &headers).await {
        Ok(user) => {
            let tasks = state.lifecycle.tasks.clone();
            bounded(upgrade, &state).on_upgrade(move |socket| tasks.track_future(run(state, user, socket)))
        }
        Err(why) => {
            let body = ToDevice::ConnectionError(Told { code: None, message: why }).to_text();
            let kind = (header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
            (StatusCode::UNAUTHORIZED, [kind], body).into_response()
        }
    }
}

async fn device_user(state: &AppState, query: &DeviceQuery, headers: &HeaderMap) -> Result<UserId, String> {
    let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
    let bearer = text(header::AUTHORIZATION.as_str()).and_then(|value| value.strip_prefix("Bearer "));
    let named = text(USER_HEADER).or(query.user.as_deref());
    let name = match query.token.as_deref().or(bearer) {
        Some(token) => match by_credential(state, token).await {
            // An operator connects a device for whom they name, as they call tools for whom they name.
            Ok(Identity::Person { name, role, .. }) => match named {
                Some(user) if role == Role::Operator => user.to_owned(),
                _ => name,
            },
            Ok(Identity::App(_)) => return Err("a device needs a user's token".to_owned()),
            Err(_) => return Err("the token is not valid here".to_owned()),
        },
        None if state.auth_mode == AuthMode::Dev => {
            named.ok_or("name the user: `?user=` or X-User-Id, or send a token")?.to_owned()
        }
        None => return Err("send a token: `Authorization: Bearer`, or `?token=`".to_owned()),
    };
    name.parse().map_err(|error| format!("{error}"))
}

async fn run(state: AppState, user: UserId, socket: WebSocket) {
    let outbox = state.sessions.device_outbox();
    let mut pump = Pump::new(socket, outbox.clone(), &state);
    let Some(device) = state.sessions.attach_device(&user, &outbox).await else {
        return pump.refuse(None, 1013, "too many users").await;
    };
    while let Some(message) = pump.next().await {
        match message {
            Incoming::Text(text) => {
                if let Some(order) = device.receive(&text).await {
                    carry_out(&state, &user, order);
                }
            }
            Incoming::Binary(sound) if !sound.is_empty() => device.hear(&sound),
            Incoming::Binary(_) | Incoming::Pong => {}
        }
    }
}

/// On a task of its own: a start takes seconds, and the socket has to go on.
fn carry_out(state: &AppState, user: &UserId, order: DeviceOrder) {
    let (state, user) = (state.clone(), user.clone());
    let tasks = state.lifecycle.tasks.clone();
    tasks.spawn(async move {
        match order {
            DeviceOrder::Start(package) => {
                if let Err(error) = open(&state, &user, &package).await {
                    let why = match error {
                        Failure::Api(error) => error.message,
                        Failure::Refused(refusal) => format!("{refusal:?}"),
                    };
                    tracing::warn!(app = %package, user = %user, why, "a device could not start an app");
                    state.sessions.tell_not_started(&user, &package, &why);
                }
            }
            DeviceOrder::Stop(package) => {
                let _ = state.sessions.stop(&user, &package, StopReason::UserDisabled).await;
            }
        }
    });
}
