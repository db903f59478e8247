//! `POST /webhook`: the platform starts and stops the app for a user.

use axum::{
    extract::{Request, State},
    response::Response,
};
use http::StatusCode;
use toolyard_protocol::session::webhook::{WebhookReply, WebhookRequest, WebhookStatus};

use super::{json, refuse, request};
use crate::{
    server::AppServer,
    session::{EndReason, StartError, start},
};

pub(super) async fn webhook(State(app): State<AppServer>, request: Request) -> Response {
    let body = match request::read(&app, request).await {
        Ok((_, body)) => body,
        Err(rejected) => return refuse(rejected.status(), rejected.to_string()),
    };
    match WebhookRequest::read(&String::from_utf8_lossy(&body)) {
        Ok(WebhookRequest::Session(request)) => {
            if let Err(error) = start(&app, request).await {
                tracing::warn!(%error, "a session did not start");
                return refuse(status_of(&error), format!("Failed to connect: {error}"));
            }
        }
        Ok(WebhookRequest::Stop(request)) => {
            app.sessions().stop(&request.user_id, &request.session_id, EndReason::Stopped(request.reason));
        }
        Ok(WebhookRequest::Unknown { .. }) => {
            return refuse(StatusCode::BAD_REQUEST, "Unknown webhook request type".to_owned());
        }
        Err(error) => return refuse(StatusCode::BAD_REQUEST, error.to_string()),
    }
    json(StatusCode::OK, &WebhookReply { status: WebhookStatus::Success, message: None })
}

fn status_of(error: &StartError) -> StatusCode {
    match error {
        StartError::NotDialed(_) => StatusCode::FORBIDDEN,
        StartError::Full | StartError::Stopping => StatusCode::SERVICE_UNAVAILABLE,
        StartError::NoKey | StartError::Connect(_) => StatusCode::INTERNAL_SERVER_ERROR,
    }
}
