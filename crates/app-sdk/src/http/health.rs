//! `GET /health`: the platform asks whether the app is there.

use axum::{extract::State, response::Response};
use http::StatusCode;
use serde::Serialize;
use toolyard_protocol::PackageName;

use super::json;
use crate::server::AppServer;

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Health<'a> {
    status: &'static str,
    app: &'a PackageName,
    active_sessions: usize,
}

pub(super) async fn health(State(app): State<AppServer>) -> Response {
    let health = Health { status: "healthy", app: app.package(), active_sessions: app.sessions().count() };
    json(StatusCode::OK, &health)
}
