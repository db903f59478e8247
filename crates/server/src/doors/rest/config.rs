//! `/api/config/reload`: reads the configuration again.

use axum::extract::State;
use http::Method;
use serde_json::json;
use toolyard_platform::audit::AuditSubject;
use toolyard_protocol::{api::ApiErrorCode, audit::AuditAction};

use super::{HandlerResult, ok_json};
use crate::{
    auth::KnownActor,
    error::RequestError,
    reload::{ReloadError, ReloadReport, reload_config},
    routes::{Route, RouteAccess},
    state::ServerState,
};

pub(crate) fn routes() -> Vec<Route> {
    vec![
        Route::audited(
            Method::POST,
            "/api/config/reload",
            RouteAccess::Operator,
            "Read the configuration again and apply what needs no restart",
            post_reload,
        )
        .response_body::<ReloadReport>(),
    ]
}

async fn post_reload(State(state): State<ServerState>, KnownActor(actor): KnownActor) -> HandlerResult {
    let report = reload_config(&state).await?;
    if !report.applied.is_empty() {
        let settings: Vec<_> = report.applied.iter().map(|applied| &applied.setting).collect();
        let subject = AuditSubject::named("configuration");
        let detail = json!({ "settings": settings });
        state.platform.audit(&actor, AuditAction::ConfigChanged, subject, detail).await;
    }
    ok_json(&report)
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
