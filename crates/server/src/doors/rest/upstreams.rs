//! `/api/upstreams`: upstream MCP servers as sources of tools.

use std::sync::Arc;

use axum::extract::State;
use http::{Method, StatusCode};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use toolyard_core::ports::UpstreamRecord;
use toolyard_platform::Platform;
use toolyard_platform::upstreams::{self, NewUpstreamRequest, StoredUpstream};
use toolyard_protocol::{
    PackageName,
    session::iso_millis,
    upstream::{self, UpstreamDetails, UpstreamState, UpstreamStatus, UpstreamSummary},
};

use super::{HandlerResult, no_content, ok_json};
use crate::{
    auth::AppEditor,
    body::JsonBody,
    error::{RequestError, json_response},
    extract::PathParams,
    routes::{Route, RouteAccess},
    state::ServerState,
};

pub(crate) fn routes() -> Vec<Route> {
    vec![
        Route::audited(
            Method::POST,
            "/api/upstreams",
            RouteAccess::Developer,
            "Adds an MCP server; only operators may set commands, environment variables and `forAll`",
            create_upstream,
        )
        .request_body::<NewUpstreamBody>()
        .response_body::<UpstreamSummary>()
        .success_status(201),
        Route::new(
            Method::GET,
            "/api/upstreams",
            RouteAccess::Developer,
            "The upstreams of this developer; operators see all",
            list_upstreams,
        )
        .response_body::<UpstreamList>(),
        Route::new(
            Method::GET,
            "/api/upstreams/{id}",
            RouteAccess::Owner,
            "One upstream and its status",
            get_upstream,
        )
        .response_body::<UpstreamSummary>(),
        Route::audited(
            Method::PATCH,
            "/api/upstreams/{id}",
            RouteAccess::Owner,
            "Changes an upstream; omitted fields stay as they are",
            change_upstream,
        )
        .request_body::<UpstreamDetails>()
        .response_body::<UpstreamSummary>(),
        Route::audited(
            Method::DELETE,
            "/api/upstreams/{id}",
            RouteAccess::Owner,
            "Removes an upstream with everything that belongs to it",
            remove_upstream,
        )
        .success_status(204),
        Route::new(
            Method::POST,
            "/api/upstreams/{id}/refresh",
            RouteAccess::Owner,
            "Refreshes the upstream now and returns its status",
            refresh_upstream,
        )
        .response_body::<UpstreamSummary>(),
    ]
}

/// Body of `POST /api/upstreams`.
#[derive(Deserialize, schemars::JsonSchema)]
struct NewUpstreamBody {
    /// `github`; its tools are `mcp.github:…`.
    id: String,
    /// Everything that can be changed later.
    #[serde(flatten)]
    #[schemars(with = "UpstreamDetails")]
    details: Map<String, Value>,
}

/// The upstreams that the caller may see.
#[derive(Serialize, schemars::JsonSchema)]
struct UpstreamList {
    upstreams: Vec<UpstreamSummary>,
}

/// The status from the source, with the counts from the catalog.
async fn upstream_status(
    state: &ServerState,
    package: &PackageName,
    record: &UpstreamRecord,
) -> Result<UpstreamStatus, RequestError> {
    let mut status = state.upstreams.status(package);
    if record.disabled {
        status.state = UpstreamState::Disabled;
    }
    if let Some(entry) = state.catalog.find_app(package).await? {
        status.listed_at = status.listed_at.or(entry.listed_at.map(iso_millis));
        (status.tools, status.prompts) = (entry.tools.len(), entry.prompts.len());
        (status.resources, status.templates) = (entry.resources.len(), entry.templates.len());
        status.set_aside.clone_from(&entry.set_aside);
        status.set_aside.extend(entry.held.iter().cloned());
        status.warnings.clone_from(&entry.warnings);
    }
    Ok(status)
}

async fn upstream_summary(
    state: &ServerState,
    upstream: StoredUpstream,
) -> Result<UpstreamSummary, RequestError> {
    let StoredUpstream { package, owner, record } = upstream;
    let status = upstream_status(state, &package, &record).await?;
    Ok(UpstreamSummary {
        id: upstream::upstream_id(&package).to_owned(),
        package_name: package,
        details: record.details,
        owner,
        managed: record.managed,
        status,
    })
}

async fn create_upstream(
    State(state): State<ServerState>,
    AppEditor(actor): AppEditor,
    JsonBody(NewUpstreamBody { id, details }): JsonBody<NewUpstreamBody>,
) -> HandlerResult {
    let added = upstreams::add(&state.platform, &actor, NewUpstreamRequest { id, details }).await?;
    Ok(json_response(StatusCode::CREATED, &upstream_summary(&state, added).await?))
}

async fn list_upstreams(State(state): State<ServerState>, AppEditor(actor): AppEditor) -> HandlerResult {
    let mut upstreams = Vec::new();
    for upstream in upstreams::list_owned(&state.platform, &actor).await? {
        upstreams.push(upstream_summary(&state, upstream).await?);
    }
    ok_json(&UpstreamList { upstreams })
}

async fn get_upstream(
    State(state): State<ServerState>,
    AppEditor(actor): AppEditor,
    PathParams(id): PathParams<String>,
) -> HandlerResult {
    ok_json(&upstream_summary(&state, upstreams::find_owned(&state.platform, &actor, &id).await?).await?)
}

async fn change_upstream(
    State(state): State<ServerState>,
    AppEditor(actor): AppEditor,
    PathParams(id): PathParams<String>,
    JsonBody(patch): JsonBody<Map<String, Value>>,
) -> HandlerResult {
    ok_json(&upstream_summary(&state, upstreams::change(&state.platform, &actor, &id, patch).await?).await?)
}

async fn remove_upstream(
    State(platform): State<Arc<Platform>>,
    AppEditor(actor): AppEditor,
    PathParams(id): PathParams<String>,
) -> HandlerResult {
    upstreams::remove(&platform, &actor, &id).await?;
    no_content()
}

async fn refresh_upstream(
    State(state): State<ServerState>,
    AppEditor(actor): AppEditor,
    PathParams(id): PathParams<String>,
) -> HandlerResult {
    state.platform.limits.check_costly(&actor)?;
    let upstream = upstreams::find_owned(&state.platform, &actor, &id).await?;
    state.upstreams.refresh(&upstream.package, &upstream.record).await;
    ok_json(&upstream_summary(&state, upstream).await?)
}
