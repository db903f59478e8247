//! `GET /health`: the platform checks whether the app is available.

use axum::{extract::State, response::Response};
use http::StatusCode;
use serde::Serialize;
use toolyard_protocol::PackageName;

use super::json_response;
use crate::server::AppServer;

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct HealthReply<'a> {
    status: &'static str,
    app: &'a PackageName,
    active_sessions: usize,
}

pub(super) async fn get_health(State(app): State<AppServer>) -> Response {
    let health =
        HealthReply { status: "healthy", app: app.package(), active_sessions: app.sessions().count() };
    json_response(StatusCode::OK, &health)
}
