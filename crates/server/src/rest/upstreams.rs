//! `/api/upstreams`: MCP servers in the world as sources of tools.

use std::collections::HashSet;

use axum::extract::State;
use http::{Method, StatusCode};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use toolyard_core::ports::{AppRecord, Change, NewUpstream, UpstreamRecord, UpstreamWrite};
use toolyard_net::OutsideUrl;
use toolyard_protocol::{
    PackageName, Problem,
    api::ApiErrorCode,
    app::MAX_APP_NAME_BYTES,
    session::iso_millis,
    tool::MAX_DESCRIPTION_BYTES,
    upstream::{self, UpstreamDetails, UpstreamState, UpstreamStatus, UpstreamSummary},
};
use toolyard_sources::upstream::{HIDDEN, is_elsewhere, seal};

use super::{Answer, nothing, ok};
use crate::{
    auth::{Builder, Identity, Refusal},
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

/// The package of an id in a path.
pub(crate) fn package_of(id: &str) -> Result<PackageName, Failure> {
    upstream::package_of(id).map_err(|_| Failure::not_found(format_args!("upstream {id}")))
}

/// The upstream with that id, whoever asks.
pub(crate) async fn found(state: &AppState, id: &str) -> Result<(AppRecord, UpstreamRecord), Failure> {
    let missing = || Failure::not_found(format_args!("upstream {id}"));
    let app = state.stores.apps.find(&package_of(id)?).await?.ok_or_else(missing)?;
    let record = app.upstream().cloned().ok_or_else(missing)?;
    Ok((app, record))
}

/// The upstream, if this one may see and change it. What somebody does not own does not exist.
async fn owned(state: &AppState, who: &Identity, id: &str) -> Result<(AppRecord, UpstreamRecord), Failure> {
    let (app, record) = found(state, id).await?;
    if matches!(who, Identity::Person { .. }) && who.may_change(&app.owner, &app.package) {
        return Ok((app, record));
    }
    Err(Failure::not_found(format_args!("upstream {id}")))
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

async fn summary(
    state: &AppState,
    package: PackageName,
    owner: String,
    record: UpstreamRecord,
) -> Result<UpstreamSummary, Failure> {
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
    Builder(who): Builder,
    JsonBody(new): JsonBody<NewBody>,
) -> Answer {
    let Identity::Person { .. } = &who else {
        return Err(Refusal::Forbidden("an app key cannot add upstreams").into());
    };
    let package = upstream::package_of(&new.id).map_err(|_| {
        let text = "expected 1 to 40 of a-z, 0-9, `.`, `_`, `-`, beginning with a letter or digit";
        Failure::problems("this upstream cannot be added", vec![Problem::new("id", text)])
    })?;
    let details = read(Value::Object(new.details))?;
    may_say(&state, &who, &details)?;
    checked(&state, &details)?;
    let taken = || Failure::new(ApiErrorCode::Conflict, format!("there is an upstream {} already", new.id));
    let record = put(&state, &package, who.name(), details, None).await?.ok_or_else(taken)?;
    Ok(json(StatusCode::CREATED, &summary(&state, package, who.name(), record).await?))
}

async fn list(State(state): State<AppState>, Builder(who): Builder) -> Answer {
    let mut upstreams = Vec::new();
    for (package, owner, record) in state.stores.upstreams.upstreams().await? {
        if matches!(who, Identity::Person { .. }) && who.may_change(&owner, &package) {
            upstreams.push(summary(&state, package, owner, record).await?);
        }
    }
    ok(&UpstreamList { upstreams })
}

async fn get(State(state): State<AppState>, Builder(who): Builder, Path(id): Path<String>) -> Answer {
    let (app, record) = owned(&state, &who, &id).await?;
    ok(&summary(&state, app.package, app.owner, record).await?)
}

async fn change(
    State(state): State<AppState>,
    Builder(who): Builder,
    Path(id): Path<String>,
    JsonBody(patch): JsonBody<Map<String, Value>>,
) -> Answer {
    let (app, record) = owned(&state, &who, &id).await?;
    not_managed(&record)?;
    let mut all = match serde_json::to_value(&record.details) {
        Ok(Value::Object(members)) => members,
        _ => Map::new(),
    };
    let given: HashSet<String> = patch.keys().cloned().collect();
    for (name, value) in patch {
        match value {
            Value::Null => drop(all.remove(&name)),
            value => drop(all.insert(name, value)),
        }
    }
    let details = read(Value::Object(all))?;
    may_say(&state, &who, &details)?;
    checked(&state, &details)?;
    secrets_stay(&record.details, &details, &given)?;
    let gone = || Failure::not_found(format_args!("upstream {id}"));
    let put = put(&state, &app.package, app.owner.clone(), details, Some(&record)).await?;
    let record = put.ok_or_else(gone)?;
    ok(&summary(&state, app.package, app.owner, record).await?)
}

async fn remove(State(state): State<AppState>, Builder(who): Builder, Path(id): Path<String>) -> Answer {
    let (app, record) = owned(&state, &who, &id).await?;
    if !record.disabled {
        not_managed(&record)?;
    }
    state.stores.apps.remove(&app.package).await?;
    state.signals.publish(Change::App(app.package.clone()));
    state.signals.publish(Change::Everybody);
    state.upstreams.removed(&app.package);
    nothing()
}

async fn refresh(State(state): State<AppState>, Builder(who): Builder, Path(id): Path<String>) -> Answer {
    state.management.check_costly(&who)?;
    let (app, record) = owned(&state, &who, &id).await?;
    state.upstreams.refresh(&app.package, &record).await;
    ok(&summary(&state, app.package, app.owner, record).await?)
}

fn read(details: Value) -> Result<UpstreamDetails, Failure> {
    serde_path_to_error::deserialize(details).map_err(|error| {
        let (path, why) = (error.path().to_string(), error.into_inner());
        Failure::problems("the upstream cannot be read", vec![Problem::new(path, why.to_string())])
    })
}

/// What an upstream may name depends on who says it: a program runs here, and the environment is the server's.
fn may_say(state: &AppState, who: &Identity, details: &UpstreamDetails) -> Result<(), Failure> {
    if details.needs_operator() && !who.is_operator() {
        let text = "only an operator names a command, variables of the environment, or `forAll`";
        return Err(Refusal::Forbidden(text).into());
    }
    if details.command.is_some() && !state.allows_commands() {
        let text = "commands are only taken from the configuration file here; set upstream_settings.allow_commands to change that";
        return Err(Refusal::Forbidden(text).into());
    }
    Ok(())
}

fn not_managed(record: &UpstreamRecord) -> Result<(), Failure> {
    if record.managed {
        let text = "this upstream stands in the configuration file; change it there";
        return Err(Failure::new(ApiErrorCode::Conflict, text));
    }
    Ok(())
}

fn checked(state: &AppState, details: &UpstreamDetails) -> Result<(), Failure> {
    let mut problems = details.problems();
    if details.name.len() > MAX_APP_NAME_BYTES {
        problems.push(Problem::new("name", format!("longer than {MAX_APP_NAME_BYTES} bytes")));
    }
    if details.description.len() > MAX_DESCRIPTION_BYTES {
        problems.push(Problem::new("description", format!("longer than {MAX_DESCRIPTION_BYTES} bytes")));
    }
    if let Some(url) = &details.url
        && let Err(error) = OutsideUrl::parse(url, &state.guard)
    {
        problems.push(Problem::new("url", error.to_string()));
    }
    let most = state.config.calls.max_timeout_ms;
    if details.call_timeout_ms.is_some_and(|wish| wish == 0 || wish > most) {
        problems.push(Problem::new("callTimeoutMs", format!("expected 1 to {most} milliseconds")));
    }
    if problems.is_empty() {
        Ok(())
    } else {
        Err(Failure::problems("the upstream is not described well", problems))
    }
}

/// Secrets were given for one place: where an upstream moves to another, they are given again or removed.
fn secrets_stay(
    before: &UpstreamDetails,
    after: &UpstreamDetails,
    given: &HashSet<String>,
) -> Result<(), Failure> {
    let moves = is_elsewhere(before, after);
    let secret_moves = moves || before.issuer != after.issuer;
    let hides = |value: &String| value == HIDDEN;
    let carried = [
        ("headers", moves && !after.headers.is_empty(), after.headers.values().any(hides)),
        (
            "clientSecret",
            secret_moves && after.client_secret.is_some(),
            after.client_secret.iter().any(hides),
        ),
    ];
    let problems =
        carried.into_iter().filter(|(name, sent, hides)| *sent && (*hides || !given.contains(*name)));
    let problems: Vec<_> = problems
        .map(|(name, _, _)| {
            let text = "the upstream moves to another address; give this again with its values for that address, \
                        or set it to null";
            Problem::new(name, text)
        })
        .collect();
    if problems.is_empty() {
        Ok(())
    } else {
        Err(Failure::problems("secrets of the old address are not sent to the new one", problems))
    }
}

/// Seals what is secret, stores it, and tells everybody. None where the name is another's, or the upstream is gone.
async fn put(
    state: &AppState,
    package: &PackageName,
    owner: String,
    details: UpstreamDetails,
    before: Option<&UpstreamRecord>,
) -> Result<Option<UpstreamRecord>, Failure> {
    let (for_all, was_for_all) = (details.for_all, before.is_some_and(|before| before.details.for_all));
    let details = state
        .upstreams
        .with_kept_secrets(details, before)
        .map_err(|error| Failure::invalid(error.to_string()))?;
    let (details, sealed) = seal(details, &*state.secrets);
    let record = UpstreamRecord { details, sealed, managed: false, disabled: false };
    let new = NewUpstream {
        package: package.clone(),
        owner,
        upstream: record.clone(),
        at: state.clock.now(),
        write: if before.is_some() { UpstreamWrite::Change } else { UpstreamWrite::Add },
        moved: before.is_some_and(|before| is_elsewhere(&before.details, &record.details)),
    };
    if !state.stores.upstreams.put_upstream(new).await? {
        return Ok(None);
    }
    state.signals.publish(Change::App(package.clone()));
    if for_all || was_for_all {
        state.signals.publish(Change::Everybody);
    }
    state.upstreams.changed(package);
    Ok(Some(record))
}
