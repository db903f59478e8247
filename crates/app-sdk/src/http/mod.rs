//! The HTTP routes of an app.

mod call;
mod health;
mod items;
mod request;
mod settings;
mod tool;
mod webhook;

use axum::{
    Router,
    body::Body,
    response::Response,
    routing::{get, post},
};
use http::{HeaderValue, StatusCode, header};
use serde::Serialize;
use toolyard_protocol::{
    raw::to_raw,
    session::webhook::{WebhookReply, WebhookStatus},
};

use crate::server::AppServer;

pub(crate) fn build_router(app: AppServer) -> Router {
    Router::new()
        .route("/tool", post(tool::post_tool))
        .route("/prompt", post(items::post_prompt))
        .route("/resource", post(items::post_resource))
        .route("/webhook", post(webhook::post_webhook))
        .route("/settings", post(settings::post_settings))
        .route("/health", get(health::get_health))
        .with_state(app)
}

fn respond(status: StatusCode, content_type: &'static str, body: impl Into<Body>) -> Response {
    let mut response = Response::new(body.into());
    *response.status_mut() = status;
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static(content_type));
    response
}

fn json_response(status: StatusCode, body: &impl Serialize) -> Response {
    respond(status, "application/json", to_raw(body).get().to_owned())
}

/// The error format of webhooks and settings.
fn refusal_response(status: StatusCode, message: String) -> Response {
    json_response(status, &WebhookReply { status: WebhookStatus::Error, message: Some(message) })
}
