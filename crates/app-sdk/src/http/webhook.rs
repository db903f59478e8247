//! `POST /webhook`: the platform starts and stops the app for a user.

use axum::{
    extract::{Request, State},
    response::Response,
};
use http::StatusCode;
use toolyard_protocol::session::webhook::{WebhookReply, WebhookRequest, WebhookStatus};

use super::{json_response, refusal_response, request};
use crate::{
    server::AppServer,
    session::{EndReason, SessionStartError, start_session},
};

pub(super) async fn post_webhook(State(app): State<AppServer>, request: Request) -> Response {
    let body = match request::read_request(&app, request).await {
        Ok((_, body)) => body,
        Err(rejected) => return refusal_response(rejected.status(), rejected.to_string()),
    };
    match WebhookRequest::parse(&String::from_utf8_lossy(&body)) {
        Ok(WebhookRequest::Session(request)) => {
            if let Err(error) = start_session(&app, request).await {
                tracing::warn!(%error, "session did not start");
                return refusal_response(status_of(&error), format!("Failed to connect: {error}"));
            }
        }
        Ok(WebhookRequest::Stop(request)) => {
            app.sessions().stop_session(
                &request.user_id,
                &request.session_id,
                EndReason::Stopped(request.reason),
            );
        }
        Ok(WebhookRequest::Unknown { .. }) => {
            return refusal_response(StatusCode::BAD_REQUEST, "Unknown webhook request type".to_owned());
        }
        Err(error) => return refusal_response(StatusCode::BAD_REQUEST, error.to_string()),
    }
    json_response(StatusCode::OK, &WebhookReply { status: WebhookStatus::Success, message: None })
}

fn status_of(error: &SessionStartError) -> StatusCode {
    match error {
        SessionStartError::NotDialed(_) => StatusCode::FORBIDDEN,
        SessionStartError::Full | SessionStartError::Stopping => StatusCode::SERVICE_UNAVAILABLE,
        SessionStartError::NoKey | SessionStartError::Connect(_) => StatusCode::INTERNAL_SERVER_ERROR,
    }
}
