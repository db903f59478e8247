//! `/api/config/reload`: reads the configuration again.

use axum::extract::State;
use http::Method;
use toolyard_protocol::api::ApiErrorCode;

use super::{HandlerResult, ok_json};
use crate::{
    error::RequestError,
    reload::{ReloadError, ReloadReport, reload_config},
    routes::{Route, RouteAccess},
    state::ServerState,
};

pub(crate) fn routes() -> Vec<Route> {
    vec![
        Route::new(
            Method::POST,
            "/api/config/reload",
            RouteAccess::Operator,
            "Read the configuration again and apply what needs no restart",
            post_reload,
        )
        .response_body::<ReloadReport>(),
    ]
}

async fn post_reload(State(state): State<ServerState>) -> HandlerResult {
    ok_json(&reload_config(&state).await?)
}

impl From<ReloadError> for RequestError {
    fn from(error: ReloadError) -> Self {
        let code = match &error {
            ReloadError::NoSources => ApiErrorCode::NotImplemented,
            ReloadError::Load(_) | ReloadError::Invalid(_) => ApiErrorCode::Conflict,
            ReloadError::Store(_) => ApiErrorCode::Unavailable,
        };
        Self::new(code, error.to_string())
    }
}
