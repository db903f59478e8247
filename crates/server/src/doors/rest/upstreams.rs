//! `/api/upstreams`: upstream MCP servers as sources of tools.

use axum::extract::State;
use http::{Method, StatusCode};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use toolyard_core::ports::UpstreamRecord;
use toolyard_platform::upstreams::{self, FoundUpstream, NewUpstreamRequest};
use toolyard_protocol::{
    PackageName,
    session::iso_millis,
    upstream::{self, UpstreamDetails, UpstreamState, UpstreamStatus, UpstreamSummary},
};

use super::{Answer, nothing, ok};
use crate::{
    auth::Builder,
    body::JsonBody,
    error::{Failure, json},
    extract::Path,
    routes::{Access, Route},
    state::AppState,
};

pub(crate) fn routes() -> Vec<Route> {
    vec![
        Route::new(
            Method::POST,
            "/api/upstreams",
            Access::Builder,
            "Adds an MCP server; commands, variables of the environment and `forAll` are the operator's",
            create,
        )
        .takes::<NewBody>()
        .gives::<UpstreamSummary>()
        .success(201),
        Route::new(
            Method::GET,
            "/api/upstreams",
            Access::Builder,
            "The upstreams of this developer; operators see all",
            list,
        )
        .gives::<UpstreamList>(),
        Route::new(
            Method::GET,
            "/api/upstreams/{id}",
            Access::Owner,
            "One upstream and how it is doing",
            get,
        )
        .gives::<UpstreamSummary>(),
        Route::new(
            Method::PATCH,
            "/api/upstreams/{id}",
            Access::Owner,
            "Changes an upstream; what is missing stays",
            change,
        )
        .takes::<UpstreamDetails>()
        .gives::<UpstreamSummary>(),
        Route::new(
            Method::DELETE,
            "/api/upstreams/{id}",
            Access::Owner,
            "Removes an upstream with all that hangs on it",
            remove,
        )
        .success(204),
        Route::new(
            Method::POST,
            "/api/upstreams/{id}/refresh",
            Access::Owner,
            "Asks the upstream now, and says how it is doing",
            refresh,
        )
        .gives::<UpstreamSummary>(),
    ]
}

/// Body of `POST /api/upstreams`.
#[derive(Deserialize, schemars::JsonSchema)]
struct NewBody {
    /// `github`; its tools are `mcp.github:…`.
    id: String,
    /// Everything that can be changed later.
    #[serde(flatten)]
    #[schemars(with = "UpstreamDetails")]
    details: Map<String, Value>,
}

/// The upstreams that somebody may see.
#[derive(Serialize, schemars::JsonSchema)]
struct UpstreamList {
    upstreams: Vec<UpstreamSummary>,
}

/// How it is doing: what the source knows, and what the catalog has of it.
async fn status(
    state: &AppState,
    package: &PackageName,
    record: &UpstreamRecord,
) -> Result<UpstreamStatus, Failure> {
    let mut status = state.upstreams.status(package);
    if record.disabled {
        status.state = UpstreamState::Disabled;
    }
    if let Some(entry) = state.catalog.app(package).await? {
        status.listed_at = status.listed_at.or(entry.listed_at.map(iso_millis));
        (status.tools, status.prompts) = (entry.tools.len(), entry.prompts.len());
        (status.resources, status.templates) = (entry.resources.len(), entry.templates.len());
        status.set_aside.clone_from(&entry.set_aside);
        status.warnings.clone_from(&entry.warnings);
    }
    Ok(status)
}

async fn summary(state: &AppState, upstream: FoundUpstream) -> Result<UpstreamSummary, Failure> {
    let FoundUpstream { package, owner, record } = upstream;
    let status = status(state, &package, &record).await?;
    Ok(UpstreamSummary {
        id: upstream::id_of(&package).to_owned(),
        package_name: package,
        details: record.details,
        owner,
        managed: record.managed,
        status,
    })
}

async fn create(
    State(state): State<AppState>,
    Builder(actor): Builder,
    JsonBody(NewBody { id, details }): JsonBody<NewBody>,
) -> Answer {
    let added = upstreams::add(&state.platform, &actor, NewUpstreamRequest { id, details }).await?;
    Ok(json(StatusCode::CREATED, &summary(&state, added).await?))
}

async fn list(State(state): State<AppState>, Builder(actor): Builder) -> Answer {
    let mut upstreams = Vec::new();
    for upstream in upstreams::list_owned(&state.platform, &actor).await? {
        upstreams.push(summary(&state, upstream).await?);
    }
    ok(&UpstreamList { upstreams })
}

async fn get(State(state): State<AppState>, Builder(actor): Builder, Path(id): Path<String>) -> Answer {
    ok(&summary(&state, upstreams::find_owned(&state.platform, &actor, &id).await?).await?)
}

async fn change(
    State(state): State<AppState>,
    Builder(actor): Builder,
    Path(id): Path<String>,
    JsonBody(patch): JsonBody<Map<String, Value>>,
) -> Answer {
    ok(&summary(&state, upstreams::change(&state.platform, &actor, &id, patch).await?).await?)
}

async fn remove(State(state): State<AppState>, Builder(actor): Builder, Path(id): Path<String>) -> Answer {
    upstreams::remove(&state.platform, &actor, &id).await?;
    nothing()
}

async fn refresh(State(state): State<AppState>, Builder(actor): Builder, Path(id): Path<String>) -> Answer {
    state.platform.limits.check_costly(&actor)?;
    let upstream = upstreams::find_owned(&state.platform, &actor, &id).await?;
    state.upstreams.refresh(&upstream.package, &upstream.record).await;
    ok(&summary(&state, upstream).await?)
}
