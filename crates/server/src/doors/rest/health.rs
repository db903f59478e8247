//! Health, readiness, metrics, and the API's own description.

use std::time::Duration;

use axum::{
    extract::State,
    response::{IntoResponse as _, Response},
};
use http::{HeaderValue, Method, StatusCode, header};
use serde_json::json;
use tokio::time::timeout;

use super::{Answer, ok};
use crate::{
    auth::Anybody,
    error::Failure,
    routes::{Access, Route},
    state::AppState,
    telemetry::ProcessNumbers,
};

/// How long the store may take to answer; probes do not wait longer either.
const STORE_TIMEOUT: Duration = Duration::from_secs(2);

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
    let stuck = state.process.workers.stuck();
    if stuck > 0 {
        return Err(Failure::unavailable(format!("{stuck} of the server's worker threads make no progress")));
    }
    match timeout(STORE_TIMEOUT, state.stores.maintenance.ping()).await {
        Ok(Ok(())) => {}
        Ok(Err(error)) => {
            tracing::error!(%error, "the store does not take writes");
            return Err(Failure::unavailable("the store does not take writes; see the server's log"));
        }
        Err(_) => return Err(Failure::unavailable("the store does not answer in time")),
    }
    ok(&json!({ "status": "ready" }))
}

async fn metrics(State(state): State<AppState>, Anybody(_): Anybody) -> Result<Response, Failure> {
    state.call_metrics.set_gauges(state.executor.in_flight(), state.sessions.users());
    let backlog = state.stores.maintenance.backlog();
    state.process.metrics.set(&ProcessNumbers {
        stuck: state.process.workers.stuck(),
        stalls: state.process.workers.stalls(),
        connections: state.process.connections.open(),
        unwritten: backlog.unwritten,
        lost: backlog.lost,
    });
    state.speech.metrics.set_dropped(state.sessions.dropped_utterances());
    let kind = HeaderValue::from_static("text/plain; version=0.0.4");
    Ok(([(header::CONTENT_TYPE, kind)], state.metrics.render()).into_response())
}

async fn openapi(State(state): State<AppState>) -> Response {
    let kind = HeaderValue::from_static("application/json");
    (StatusCode::OK, [(header::CONTENT_TYPE, kind)], state.openapi.clone()).into_response()
}
