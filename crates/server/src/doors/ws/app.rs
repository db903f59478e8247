//! `/app-ws`: an app connects after its webhook and says who it is in its first message.

use std::sync::Arc;

use axum::{
    extract::{State, WebSocketUpgrade, ws::WebSocket},
    response::Response,
};
use http::HeaderMap;
use toolyard_protocol::session::FromApp;
use toolyard_sessions::{AppIntroduction, Outbox, Refused};

use super::pump::{Incoming, Pump, bounded};
use crate::{connections::IntroductionPlace, state::AppState};

pub(super) async fn upgrade(
    State(state): State<AppState>,
    headers: HeaderMap,
    upgrade: WebSocketUpgrade,
) -> Response {
    let place = state.process.introductions.enter();
    let tasks = state.lifecycle.tasks.clone();
    bounded(upgrade, &state).on_upgrade(move |socket| tasks.track_future(run(state, headers, socket, place)))
}

async fn run(state: AppState, headers: HeaderMap, socket: WebSocket, place: IntroductionPlace) {
    let outbox = state.sessions.app_outbox();
    let mut pump = Pump::new(socket, outbox.clone(), &state);
    let Some(first) = place.wait_for(first_text(&mut pump)).await else { return };
    let Some(who) = introduction(&first, &headers) else {
        return pump.refuse(None, 1008, "expected tpa_connection_init").await;
    };
    let app = match state.sessions.attach_app(who, &outbox).await {
        Ok(app) => app,
        Err(Refused { message, code, reason }) => return pump.refuse(message, code, reason).await,
    };
    drop(place);
    while let Some(message) = pump.next().await {
        match message {
            Incoming::Text(text) => app.receive(&text),
            Incoming::Pong => app.gave_sign(),
            Incoming::Binary(_) => app.ignore_binary(),
        }
    }
}

async fn first_text(pump: &mut Pump<Arc<Outbox>>) -> Option<String> {
    loop {
        match pump.next().await? {
            Incoming::Text(text) => return Some(text),
            Incoming::Pong => {}
            Incoming::Binary(_) => return None,
        }
    }
}

/// By its first message; SDK 3 names user, app and key in headers.
fn introduction(first: &str, headers: &HeaderMap) -> Option<AppIntroduction> {
    let header = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
    let user = header("x-user-id").and_then(|user| user.parse().ok());
    match FromApp::read(first).ok()? {
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
