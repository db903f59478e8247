//! `/app-ws`: an app connects after its webhook and authenticates with its first message.

use std::sync::Arc;

use axum::{
    extract::{State, WebSocketUpgrade, ws::WebSocket},
    response::Response,
};
use http::HeaderMap;
use toolyard_protocol::session::FromApp;
use toolyard_sessions::{AppIntroduction, AttachRefusal, Outbox};

use super::pump::{SocketMessage, SocketPump, with_socket_limits};
use crate::{connections::IntroductionSlot, state::ServerState};

pub(super) async fn upgrade_app_socket(
    State(state): State<ServerState>,
    headers: HeaderMap,
    upgrade: WebSocketUpgrade,
) -> Response {
    let place = state.process.introductions.reserve();
    let tasks = state.lifecycle.tasks.clone();
    with_socket_limits(upgrade, &state)
        .on_upgrade(move |socket| tasks.track_future(serve_app_socket(state, headers, socket, place)))
}

async fn serve_app_socket(
    state: ServerState,
    headers: HeaderMap,
    socket: WebSocket,
    place: IntroductionSlot,
) {
    let outbox = state.sessions.app_outbox();
    let mut pump = SocketPump::new(socket, outbox.clone(), &state);
    let Some(first) = place.wait_for(first_text(&mut pump)).await else { return };
    let Some(who) = read_introduction(&first, &headers) else {
        return pump.close_after(None, 1008, "expected tpa_connection_init").await;
    };
    let app = match state.sessions.attach_app(who, &outbox).await {
        Ok(app) => app,
        Err(AttachRefusal { message, code, reason }) => return pump.close_after(message, code, reason).await,
    };
    drop(place);
    while let Some(message) = pump.next().await {
        match message {
            SocketMessage::Text(text) => app.receive(&text),
            SocketMessage::Pong => app.note_activity(),
            SocketMessage::Binary(_) => app.ignore_binary(),
        }
    }
}

async fn first_text(pump: &mut SocketPump<Arc<Outbox>>) -> Option<String> {
    loop {
        match pump.next().await? {
            SocketMessage::Text(text) => return Some(text),
            SocketMessage::Pong => {}
            SocketMessage::Binary(_) => return None,
        }
    }
}

/// Reads the app's first message. SDK 3 sends user, app and key in headers.
fn read_introduction(first: &str, headers: &HeaderMap) -> Option<AppIntroduction> {
    let header = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
    let user = header("x-user-id").and_then(|user| user.parse().ok());
    match FromApp::parse(first).ok()? {
        FromApp::ConnectionInit(init) => Some(AppIntroduction {
            session: init.session_id,
            user,
            package: Some(init.package_name),
            api_key: init.api_key.expose().to_owned(),
            reconnects: false,
        }),
        FromApp::Reconnect(again) => Some(AppIntroduction {
            session: Some(again.session_id),
            user,
            package: header("x-package-name").and_then(|name| name.parse().ok()),
            api_key: header("x-api-key").unwrap_or_default().to_owned(),
            reconnects: true,
        }),
        _ => None,
    }
}
