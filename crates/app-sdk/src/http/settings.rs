//! `POST /settings`: the user has changed settings. Comes besides the message over the socket.

use axum::{
    extract::{Request, State},
    response::Response,
};
use http::StatusCode;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use toolyard_protocol::UserId;

use super::{json, refuse, request};
use crate::server::AppServer;

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct NewSettings {
    user_id_for_settings: UserId,
    settings: Vec<Value>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Taken {
    status: &'static str,
    message: &'static str,
    sessions_updated: usize,
}

pub(super) async fn settings(State(app): State<AppServer>, request: Request) -> Response {
    let body = match request::read(&app, request).await {
        Ok((_, body)) => body,
        Err(rejected) => return refuse(rejected.status(), rejected.to_string()),
    };
    let new: NewSettings = match serde_json::from_slice(&body) {
        Ok(new) => new,
        Err(error) => return refuse(StatusCode::BAD_REQUEST, format!("not a change of settings: {error}")),
    };
    let session = app.sessions().find(&new.user_id_for_settings);
    if let Some(session) = &session {
        session.take_settings(&new.settings);
    }
    let sessions_updated = usize::from(session.is_some());
    json(StatusCode::OK, &Taken { status: "success", message: "Settings updated", sessions_updated })
}
