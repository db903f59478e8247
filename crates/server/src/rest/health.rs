//! Health, readiness, metrics, and the API's own description.

use axum::{
    extract::State,
    response::{IntoResponse as _, Response},
};
use http::{HeaderValue, Method, StatusCode, header};
use serde_json::json;

use super::{Answer, ok};
use crate::{
    auth::{Anybody, Refusal},
    error::Failure,
    routes::{Access, Route},
    state::AppState,
};

pub(crate) fn routes() -> Vec<Route> {
    vec![
        Route::new(Method::GET, "/healthz", Access::Public, "Whether the process lives", healthz),
        Route::new(Method::GET, "/readyz", Access::Public, "Whether the server takes work", readyz),
        Route::new(Method::GET, "/metrics", Access::Operator, "Metrics, as Prometheus reads them", metrics),
        Route::new(Method::GET, "/api/openapi.json", Access::Public, "This description", openapi),
    ]
}

async fn healthz() -> Answer {
    ok(&json!({ "status": "ok" }))
}

async fn readyz(State(state): State<AppState>) -> Answer {
    if state.lifecycle.stopping.is_cancelled() {
        return Err(Failure::unavailable("the server is stopping"));
    }
    if let Err(error) = state.stores.sqlite.ping().await {
        tracing::error!(%error, "the store does not answer");
        return Err(Failure::unavailable("the store does not answer"));
    }
    ok(&json!({ "status": "ready" }))
}

async fn metrics(State(state): State<AppState>, Anybody(who): Anybody) -> Result<Response, Failure> {
    if !who.is_operator() {
        return Err(Refusal::Forbidden("this needs an operator's token").into());
    }
    state.call_metrics.set_gauges(state.executor.in_flight(), state.sessions.users());
    state.speech.metrics.set_dropped(state.sessions.dropped_utterances());
    let kind = HeaderValue::from_static("text/plain; version=0.0.4");
    Ok(([(header::CONTENT_TYPE, kind)], state.metrics.render()).into_response())
}

async fn openapi(State(state): State<AppState>) -> Response {
    let kind = HeaderValue::from_static("application/json");
    (StatusCode::OK, [(header::CONTENT_TYPE, kind)], state.openapi.clone()).into_response()
}
