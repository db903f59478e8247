//! Health, readiness, metrics and the OpenAPI document.

use std::time::Duration;

use axum::{
    extract::State,
    response::{IntoResponse as _, Response},
};
use http::{HeaderValue, Method, StatusCode, header};
use serde_json::json;
use tokio::time::timeout;

use super::{HandlerResult, ok_json};
use crate::{
    cluster::ClusterNode,
    error::RequestError,
    routes::{Route, RouteAccess},
    state::ServerState,
    telemetry::ProcessSnapshot,
};

/// How long the store may take to respond. Probes do not wait longer either.
const STORE_TIMEOUT: Duration = Duration::from_secs(2);

pub(crate) fn routes() -> Vec<Route> {
    vec![
        Route::new(Method::GET, "/healthz", RouteAccess::Public, "Whether the process is alive", healthz),
        Route::new(
            Method::GET,
            "/readyz",
            RouteAccess::Public,
            "Whether the server accepts requests",
            readyz,
        ),
        Route::new(
            Method::GET,
            "/metrics",
            RouteAccess::Metrics,
            "Metrics in Prometheus format",
            get_metrics,
        ),
        Route::new(
            Method::GET,
            "/api/openapi.json",
            RouteAccess::Public,
            "This OpenAPI document",
            get_openapi,
        ),
    ]
}

async fn healthz() -> HandlerResult {
    ok_json(&json!({ "status": "ok" }))
}

async fn readyz(State(state): State<ServerState>) -> HandlerResult {
    let is_leaving = state.cluster.as_ref().is_some_and(ClusterNode::is_leaving);
    if is_leaving || state.lifecycle.stopping.is_cancelled() {
        return Err(RequestError::unavailable("the server is stopping"));
    }
    let stuck = state.process.workers.stuck_workers();
    if stuck > 0 {
        return Err(RequestError::unavailable(format!(
            "{stuck} of the server's worker threads make no progress"
        )));
    }
    check_store(&state).await?;
    ok_json(&json!({ "status": "ready" }))
}

/// Whether the store can be read and written.
async fn check_store(state: &ServerState) -> Result<(), RequestError> {
    match timeout(STORE_TIMEOUT, state.stores.maintenance.ping()).await {
        Ok(Ok(())) => Ok(()),
        Ok(Err(error)) => {
            tracing::error!(%error, "store is not writable");
            Err(RequestError::unavailable("the store is not writable; see the server's log"))
        }
        Err(_) => Err(RequestError::unavailable("the store does not respond in time")),
    }
}

async fn get_metrics(State(state): State<ServerState>) -> Response {
    let most_calls = state.live.limits.load().in_flight_node;
    state.call_metrics.set_gauges(state.executor.in_flight(), most_calls, state.sessions.user_count());
    state.call_metrics.set_secrets(&state.executor.redaction().counts());
    let backlog = state.stores.maintenance.backlog();
    state.process.metrics.update(&ProcessSnapshot {
        stuck: state.process.workers.stuck_workers(),
        stalls: state.process.workers.stall_count(),
        connections: state.process.connections.open_count(),
        connections_limit: state.process.connections.limit(),
        upstreams: state.upstreams.states(),
        store_ready: check_store(&state).await.is_ok(),
        unwritten: backlog.unwritten,
        lost: backlog.lost,
        audit_failures: state.platform.audit_log.failure_count(),
    });
    state.speech.metrics.set_dropped(state.sessions.dropped_utterances());
    let kind = HeaderValue::from_static("text/plain; version=0.0.4");
    ([(header::CONTENT_TYPE, kind)], state.metrics.render()).into_response()
}

async fn get_openapi(State(state): State<ServerState>) -> Response {
    let kind = HeaderValue::from_static("application/json");
    (StatusCode::OK, [(header::CONTENT_TYPE, kind)], state.openapi.clone()).into_response()
}
