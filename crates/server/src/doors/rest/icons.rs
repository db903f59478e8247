//! `GET /api/apps/{package}/icon`: the icon of an app, served by this server.

use axum::{extract::State, response::IntoResponse as _};
use http::{HeaderValue, Method, header};
use toolyard_protocol::{PackageName, api::ApiErrorCode};

use super::HandlerResult;
use crate::{
    auth::KnownActor,
    error::RequestError,
    extract::PathParams,
    routes::{Route, RouteAccess},
    state::ServerState,
};

/// Applies if the icon is opened as a page: an SVG is a document, and not a trusted one.
const HARMLESS: HeaderValue =
    HeaderValue::from_static("default-src 'none'; style-src 'unsafe-inline'; sandbox");

pub(crate) fn routes() -> Vec<Route> {
    const TEXT: &str = "The icon of an app whose `iconUrl` is on another host, fetched by this server";
    vec![Route::new(Method::GET, "/api/apps/{package}/icon", RouteAccess::Authenticated, TEXT, get_icon)]
}

async fn get_icon(
    State(state): State<ServerState>,
    KnownActor(who): KnownActor,
    PathParams(package): PathParams<PackageName>,
) -> HandlerResult {
    state.platform.limits.check_costly(&who)?;
    let missing =
        |why: &str| RequestError::new(ApiErrorCode::NotFound, format!("no icon for {package}: {why}"));
    let app = state.catalog.find_app(&package).await?.ok_or_else(|| missing("there is no such app"))?;
    let url = app.head.record.details.icon_url.as_deref().ok_or_else(|| missing("it has no `iconUrl`"))?;
    if url.starts_with("data:") {
        return Err(missing("its `iconUrl` contains the icon itself"));
    }
    let icon = state.icons.get(url).await;
    let icon =
        icon.ok_or_else(|| missing("its `iconUrl` did not return an image that a page can show in time"))?;
    let headers = [
        (header::CONTENT_TYPE, HeaderValue::from_static(icon.media_type)),
        (header::CACHE_CONTROL, HeaderValue::from_static("private, max-age=300")),
        (header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff")),
        (header::CONTENT_SECURITY_POLICY, HARMLESS),
    ];
    Ok((headers, icon.bytes).into_response())
}
