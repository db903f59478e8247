//! `POST /settings`: the user has changed settings. Sent in addition to the message over the socket.

use axum::{
    extract::{Request, State},
    response::Response,
};
use http::StatusCode;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use toolyard_protocol::UserId;

use super::{json_response, refusal_response, request};
use crate::server::AppServer;

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct NewSettings {
    user_id_for_settings: UserId,
    settings: Vec<Value>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct SettingsReply {
    status: &'static str,
    message: &'static str,
    sessions_updated: usize,
}

pub(super) async fn post_settings(State(app): State<AppServer>, request: Request) -> Response {
    let body = match request::read_request(&app, request).await {
        Ok((_, body)) => body,
        Err(rejected) => return refusal_response(rejected.status(), rejected.to_string()),
    };
    let new: NewSettings = match serde_json::from_slice(&body) {
        Ok(new) => new,
        Err(error) => {
            return refusal_response(StatusCode::BAD_REQUEST, format!("invalid settings update: {error}"));
        }
    };
    let session = app.sessions().find(&new.user_id_for_settings);
    if let Some(session) = &session {
        session.replace_settings(&new.settings);
    }
    let sessions_updated = usize::from(session.is_some());
    json_response(
        StatusCode::OK,
        &SettingsReply { status: "success", message: "Settings updated", sessions_updated },
    )
}
