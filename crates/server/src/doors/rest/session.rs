//! `/api/session`: what is live for the user, and starting and stopping apps.

use axum::extract::State;
use http::Method;
use toolyard_core::ToolError;
use toolyard_protocol::{
    PackageName, UserId,
    api::{ApiErrorCode, SessionSummary},
    session::webhook::StopReason,
};
use toolyard_sessions::StopError;

use super::{Answer, nothing, ok, package};
use crate::{
    auth::{ActingFor, Refusal},
    error::Failure,
    extract::Path,
    routes::{Access, Route},
    state::AppState,
};

pub(crate) fn routes() -> Vec<Route> {
    vec![
        Route::new(
            Method::GET,
            "/api/session",
            Access::Acting,
            "The user's session: device and running apps",
            get,
        )
        .gives::<SessionSummary>(),
        Route::new(
            Method::DELETE,
            "/api/session",
            Access::Acting,
            "Ends the session with everything in it",
            end,
        )
        .success(204),
        Route::new(Method::POST, "/api/session/apps/{package}/start", Access::Acting, "Opens an app", start)
            .success(204),
        Route::new(Method::POST, "/api/session/apps/{package}/stop", Access::Acting, "Stops an app", stop)
            .success(204),
    ]
}

/// Session matters are the user's; an app's key acts for tools only.
fn by_the_user(who: &ActingFor) -> Result<(), Failure> {
    match who.caller {
        toolyard_core::Caller::User | toolyard_core::Caller::Person(_) => Ok(()),
        toolyard_core::Caller::App(_) => Err(Refusal::Forbidden("an app key cannot do this").into()),
    }
}

async fn get(State(state): State<AppState>, who: ActingFor) -> Answer {
    by_the_user(&who)?;
    ok(&state.sessions.summary(&who.user).ok_or(Refusal::NoSession)?)
}

async fn end(State(state): State<AppState>, who: ActingFor) -> Answer {
    by_the_user(&who)?;
    state.sessions.end_session(&who.user).await;
    nothing()
}

async fn start(State(state): State<AppState>, who: ActingFor, Path(name): Path<String>) -> Answer {
    by_the_user(&who)?;
    open(&state, &who.user, &package(&name)?).await?;
    nothing()
}

/// Opens an app that the user has installed.
pub(crate) async fn open(state: &AppState, user: &UserId, name: &PackageName) -> Result<(), Failure> {
    let installs = state.stores.installs.of(user).await?;
    let installed = installs.iter().any(|install| install.package == *name);
    let record = state.stores.apps.find(name).await?.filter(|_| installed);
    let record = record.ok_or_else(|| Failure::not_found(format_args!("install of {name}")))?;
    let not_started = |error: ToolError| Failure::new(ApiErrorCode::Unavailable, error.for_model);
    state.sessions.open_app(user, record).await.map(drop).map_err(not_started)
}

async fn stop(State(state): State<AppState>, who: ActingFor, Path(name): Path<String>) -> Answer {
    by_the_user(&who)?;
    let name = package(&name)?;
    match state.sessions.stop(&who.user, &name, StopReason::UserDisabled).await {
        Ok(()) => nothing(),
        Err(StopError::NotRunning) => Err(Failure::not_found(format_args!("running app {name}"))),
        Err(StopError::NoSession) => Err(Refusal::NoSession.into()),
    }
}
