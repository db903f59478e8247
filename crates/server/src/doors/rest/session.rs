//! `/api/session`: the user's live session, and starting and stopping apps.

use std::sync::Arc;

use axum::extract::State;
use http::Method;
use toolyard_platform::{Platform, users};
use toolyard_protocol::api::SessionSummary;
use toolyard_sessions::Sessions;

use super::{HandlerResult, no_content, ok_json, parse_package};
use crate::{
    auth::{AuthRefusal, CallerContext},
    extract::PathParams,
    routes::{Route, RouteAccess},
};

pub(crate) fn routes() -> Vec<Route> {
    vec![
        Route::new(
            Method::GET,
            "/api/session",
            RouteAccess::Session,
            "The user's session: device and running apps",
            get_session,
        )
        .response_body::<SessionSummary>(),
        Route::new(
            Method::DELETE,
            "/api/session",
            RouteAccess::Session,
            "Ends the session with everything in it",
            end_session,
        )
        .success_status(204),
        Route::new(
            Method::POST,
            "/api/session/apps/{package}/start",
            RouteAccess::Session,
            "Opens an app",
            start_app,
        )
        .success_status(204),
        Route::new(
            Method::POST,
            "/api/session/apps/{package}/stop",
            RouteAccess::Session,
            "Stops an app",
            stop_app,
        )
        .success_status(204),
    ]
}

async fn get_session(State(sessions): State<Sessions>, who: CallerContext) -> HandlerResult {
    who.actor.require_person("an app key cannot do this")?;
    ok_json(&sessions.session_summary(&who.user).ok_or(AuthRefusal::NoSession)?)
}

async fn end_session(State(platform): State<Arc<Platform>>, who: CallerContext) -> HandlerResult {
    users::end_session(&platform, &who.into()).await?;
    no_content()
}

async fn start_app(
    State(platform): State<Arc<Platform>>,
    who: CallerContext,
    PathParams(name): PathParams<String>,
) -> HandlerResult {
    users::start_app(&platform, &who.into(), &parse_package(&name)?).await?;
    no_content()
}

async fn stop_app(
    State(platform): State<Arc<Platform>>,
    who: CallerContext,
    PathParams(name): PathParams<String>,
) -> HandlerResult {
    users::stop_app(&platform, &who.into(), &parse_package(&name)?).await?;
    no_content()
}
