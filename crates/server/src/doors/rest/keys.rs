//! Rotates the keys and signing secrets of an app.

use std::sync::Arc;

use axum::extract::State;
use http::Method;
use toolyard_platform::Platform;
use toolyard_platform::apps;
use toolyard_protocol::api::{NewKey, NewSecret};

use super::{HandlerResult, ok_json, parse_package};
use crate::{
    auth::AppEditor,
    extract::PathParams,
    routes::{Route, RouteAccess},
};

pub(crate) fn routes() -> Vec<Route> {
    vec![
        Route::audited(Method::POST, "/api/apps/{package}/key", RouteAccess::Owner, "A new API key; the old one becomes invalid", rotate_key)
            .response_body::<NewKey>(),
        Route::audited(
            Method::POST,
            "/api/apps/{package}/secret",
            RouteAccess::Owner,
            "A new signing secret; requests carry signatures of the old and the new one until the next rotation",
            rotate_secret,
        )
        .response_body::<NewSecret>(),
    ]
}

async fn rotate_key(
    State(platform): State<Arc<Platform>>,
    AppEditor(actor): AppEditor,
    PathParams(name): PathParams<String>,
) -> HandlerResult {
    ok_json(&NewKey { api_key: apps::rotate_key(&platform, &actor, &parse_package(&name)?).await? })
}

async fn rotate_secret(
    State(platform): State<Arc<Platform>>,
    AppEditor(actor): AppEditor,
    PathParams(name): PathParams<String>,
) -> HandlerResult {
    ok_json(&NewSecret {
        signing_secret: apps::rotate_secret(&platform, &actor, &parse_package(&name)?).await?,
    })
}
