//! `/api/session`: the user's live session, and starting and stopping apps.

use axum::extract::State;
use http::Method;
use toolyard_core::ToolError;
use toolyard_protocol::{
    PackageName, UserId,
    api::{ApiErrorCode, SessionSummary},
    session::webhook::StopReason,
};
use toolyard_sessions::Sessions;
use toolyard_sessions::StopError;

use super::{HandlerResult, no_content, ok_json, parse_package};
use crate::{
    auth::{AuthRefusal, CallerContext},
    error::RequestError,
    extract::PathParams,
    routes::{Route, RouteAccess},
    state::ServerState,
};

pub(crate) fn routes() -> Vec<Route> {
    vec![
        Route::new(
            Method::GET,
            "/api/session",
            RouteAccess::Caller,
            "The user's session: device and running apps",
            get_session,
        )
        .response_body::<SessionSummary>(),
        Route::new(
            Method::DELETE,
            "/api/session",
            RouteAccess::Caller,
            "Ends the session with everything in it",
            end_session,
        )
        .success_status(204),
        Route::new(
            Method::POST,
            "/api/session/apps/{package}/start",
            RouteAccess::Caller,
            "Opens an app",
            start_app,
        )
        .success_status(204),
        Route::new(
            Method::POST,
            "/api/session/apps/{package}/stop",
            RouteAccess::Caller,
            "Stops an app",
            stop_app,
        )
        .success_status(204),
    ]
}

/// Only the user may manage the session. App keys may only call tools.
fn require_user(who: &CallerContext) -> Result<(), RequestError> {
    match who.caller {
        toolyard_core::Caller::User | toolyard_core::Caller::Person(_) => Ok(()),
        toolyard_core::Caller::App(_) => Err(AuthRefusal::Forbidden("an app key cannot do this").into()),
    }
}

async fn get_session(State(sessions): State<Sessions>, who: CallerContext) -> HandlerResult {
    require_user(&who)?;
    ok_json(&sessions.session_summary(&who.user).ok_or(AuthRefusal::NoSession)?)
}

async fn end_session(State(sessions): State<Sessions>, who: CallerContext) -> HandlerResult {
    require_user(&who)?;
    sessions.end_session(&who.user).await;
    no_content()
}

async fn start_app(
    State(state): State<ServerState>,
    who: CallerContext,
    PathParams(name): PathParams<String>,
) -> HandlerResult {
    require_user(&who)?;
    open_installed_app(&state, &who.user, &parse_package(&name)?).await?;
    no_content()
}

/// Opens an app that the user has installed.
pub(crate) async fn open_installed_app(
    state: &ServerState,
    user: &UserId,
    name: &PackageName,
) -> Result<(), RequestError> {
    let installs = state.stores.installs.list_installs(user).await?;
    let installed = installs.iter().any(|install| install.package == *name);
    let record = state.stores.apps.find_app(name).await?.filter(|_| installed);
    let record = record.ok_or_else(|| RequestError::not_found(format_args!("install of {name}")))?;
    let not_started = |error: ToolError| RequestError::new(ApiErrorCode::Unavailable, error.for_model);
    state.sessions.open_app(user, record).await.map(drop).map_err(not_started)
}

async fn stop_app(
    State(sessions): State<Sessions>,
    who: CallerContext,
    PathParams(name): PathParams<String>,
) -> HandlerResult {
    require_user(&who)?;
    let name = parse_package(&name)?;
    match sessions.stop_app(&who.user, &name, StopReason::UserDisabled).await {
        Ok(()) => no_content(),
        Err(StopError::NotRunning) => Err(RequestError::not_found(format_args!("running app {name}"))),
        Err(StopError::NoSession) => Err(AuthRefusal::NoSession.into()),
    }
}
