//! `POST /oauth/register`: clients that register themselves (RFC 7591).

use axum::{extract::State, response::Response};
use bytes::Bytes;
use http::{Method, StatusCode};
use toolyard_authorization::error::{ErrorResponse, OAuthErrorCode};
use toolyard_platform::clients::{self, RegisterError};

use super::{no_store, oauth_error, switched_off};
use crate::{
    error::json_response,
    routes::{Route, RouteAccess},
    state::ServerState,
};

pub(super) fn routes() -> Vec<Route> {
    vec![
        Route::new(
            Method::POST,
            "/oauth/register",
            RouteAccess::Public,
            "Registers an OAuth client (RFC 7591)",
            post_register,
        )
        .success_status(201),
    ]
}

async fn post_register(State(state): State<ServerState>, body: Bytes) -> Response {
    if state.oauth.is_none() || !state.config.load().oauth.registration {
        return switched_off();
    }
    match clients::register(&state.platform, &body).await {
        Ok(registered) => no_store(json_response(StatusCode::CREATED, &registered)),
        Err(RegisterError::Metadata(error)) => oauth_error(&ErrorResponse::from(error)),
        Err(RegisterError::Platform(error)) => {
            tracing::warn!(%error, "client not registered");
            oauth_error(&ErrorResponse::new(OAuthErrorCode::TemporarilyUnavailable, &error))
        }
    }
}
