//! Keys and signing secrets of an app, made anew.

use axum::extract::State;
use http::Method;
use toolyard_platform::apps;
use toolyard_protocol::api::{NewKey, NewSecret};

use super::{Answer, ok, package};
use crate::{
    auth::Builder,
    extract::Path,
    routes::{Access, Route},
    state::AppState,
};

pub(crate) fn routes() -> Vec<Route> {
    vec![
        Route::new(Method::POST, "/api/apps/{package}/key", Access::Owner, "A new API key; the old one is void", key)
            .gives::<NewKey>(),
        Route::new(
            Method::POST,
            "/api/apps/{package}/secret",
            Access::Owner,
            "A new signing secret; requests carry signatures of the old and the new one until the next rotation",
            secret,
        )
        .gives::<NewSecret>(),
    ]
}

async fn key(State(state): State<AppState>, Builder(actor): Builder, Path(name): Path<String>) -> Answer {
    ok(&NewKey { api_key: apps::rotate_key(&state.platform, &actor, &package(&name)?).await? })
}

async fn secret(State(state): State<AppState>, Builder(actor): Builder, Path(name): Path<String>) -> Answer {
    ok(&NewSecret { signing_secret: apps::rotate_secret(&state.platform, &actor, &package(&name)?).await? })
}
