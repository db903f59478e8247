//! `/api/apps/{package}/tools` and its versions: the whole set at once, checked whole, switched in one act.

use std::collections::BTreeMap;

use axum::extract::State;
use http::Method;
use serde::Serialize;
use serde_json::{Value, value::RawValue};
use sha2::{Digest, Sha256};
use toolyard_core::{
    catalog::check_set,
    ports::{Change, StoredSet},
};
use toolyard_protocol::{
    PackageName,
    api::{ToolDiff, ToolSet, VersionDiff, VersionSummary},
    raw::RawFields,
    session::iso_millis,
};

use super::{Answer, apps::owned, ok, package};
use crate::{
    auth::{Builder, Identity},
    body::LargeJsonBody,
    error::Failure,
    extract::Path,
    routes::{Access, Route},
    state::AppState,
};

pub(crate) fn routes() -> Vec<Route> {
    vec![
        Route::new(
            Method::POST,
            "/api/apps/{package}/tools",
            Access::Owner,
            "Replaces the app's tools",
            publish,
        )
        .takes::<ToolSet>()
        .gives::<Published>(),
        Route::new(
            Method::GET,
            "/api/apps/{package}/tools",
            Access::Owner,
            "The app's current tools",
            current,
        )
        .gives::<SetBody>(),
        Route::new(
            Method::GET,
            "/api/apps/{package}/versions",
            Access::Owner,
            "Versions of the tools, newest first",
            versions,
        )
        .gives::<Versions>(),
        Route::new(
            Method::GET,
            "/api/apps/{package}/versions/{version}",
            Access::Owner,
            "One version of the tools",
            version,
        )
        .gives::<SetBody>(),
        Route::new(
            Method::GET,
            "/api/apps/{package}/versions/{version}/diff/{other}",
            Access::Owner,
            "What changed from one version to another",
            diff,
        )
        .gives::<VersionDiff>(),
        Route::new(
            Method::POST,
            "/api/apps/{package}/versions/{version}/activate",
            Access::Owner,
            "Makes an older version the current one",
            activate,
        )
        .gives::<Published>(),
    ]
}

/// The version in use now.
#[derive(Serialize, schemars::JsonSchema)]
struct Published {
    version: u64,
}

#[derive(Serialize, schemars::JsonSchema)]
struct Versions {
    versions: Vec<VersionSummary>,
}

#[derive(Serialize, schemars::JsonSchema)]
struct SetBody {
    version: u64,
    /// The definitions as they came.
    #[schemars(with = "Vec<Value>")]
    tools: Vec<Box<RawValue>>,
}

/// A checked set as it is stored.
pub(crate) fn set_of(tools: Vec<Box<RawValue>>, who: &Identity) -> StoredSet {
    let mut hash = Sha256::new();
    for tool in &tools {
        hash.update((tool.get().len() as u64).to_be_bytes());
        hash.update(tool.get().as_bytes());
    }
    StoredSet { tools, hash: hex::encode(hash.finalize()), by: who.name() }
}

async fn publish(
    State(state): State<AppState>,
    Builder(who): Builder,
    Path(name): Path<String>,
    LargeJsonBody(set): LargeJsonBody<ToolSet>,
) -> Answer {
    let app = owned(&state, &who, &package(&name)?).await?;
    check_set(&set.tools).map_err(|problems| Failure::problems("the tools were not changed", problems))?;
    let published =
        state.stores.definitions.publish(&app.package, set_of(set.tools, &who), state.clock.now()).await?;
    let version = published.ok_or_else(|| Failure::not_found(format_args!("app {name}")))?;
    state.signals.publish(Change::App(app.package));
    ok(&Published { version })
}

async fn current(State(state): State<AppState>, Builder(who): Builder, Path(name): Path<String>) -> Answer {
    let app = owned(&state, &who, &package(&name)?).await?;
    let set = state.stores.definitions.version(&app.package, app.tools_version).await?;
    ok(&SetBody { version: app.tools_version, tools: set.map(|set| set.tools).unwrap_or_default() })
}

async fn versions(State(state): State<AppState>, Builder(who): Builder, Path(name): Path<String>) -> Answer {
    let app = owned(&state, &who, &package(&name)?).await?;
    let versions = state.stores.definitions.versions(&app.package).await?.into_iter();
    let versions = versions.map(|info| VersionSummary {
        version: info.version,
        hash: info.hash,
        created_at: iso_millis(info.at),
        created_by: info.by,
        current: info.version == app.tools_version,
        tool_count: info.tool_count,
    });
    ok(&Versions { versions: versions.collect() })
}

async fn find(state: &AppState, app: &PackageName, version: u64) -> Result<StoredSet, Failure> {
    let set = state.stores.definitions.version(app, version).await?;
    set.ok_or_else(|| Failure::not_found(format_args!("version {version} of {app}")))
}

async fn version(
    State(state): State<AppState>,
    Builder(who): Builder,
    Path((name, version)): Path<(String, u64)>,
) -> Answer {
    let app = owned(&state, &who, &package(&name)?).await?;
    let set = find(&state, &app.package, version).await?;
    ok(&SetBody { version, tools: set.tools })
}

async fn activate(
    State(state): State<AppState>,
    Builder(who): Builder,
    Path((name, version)): Path<(String, u64)>,
) -> Answer {
    let app = owned(&state, &who, &package(&name)?).await?;
    if !state.stores.definitions.activate(&app.package, version, state.clock.now()).await? {
        return Err(Failure::not_found(format_args!("version {version} of {name}")));
    }
    state.signals.publish(Change::App(app.package));
    ok(&Published { version })
}

async fn diff(
    State(state): State<AppState>,
    Builder(who): Builder,
    Path((name, from, to)): Path<(String, u64, u64)>,
) -> Answer {
    let app = owned(&state, &who, &package(&name)?).await?;
    let (from, to) = (find(&state, &app.package, from).await?, find(&state, &app.package, to).await?);
    ok(&difference(&by_name(&from), &by_name(&to)))
}

fn by_name(set: &StoredSet) -> BTreeMap<String, RawFields> {
    let read = |raw: &RawValue| {
        let fields: RawFields = serde_json::from_str(raw.get()).ok()?;
        Some((fields.read::<String>("name")?.ok()?, fields))
    };
    set.tools.iter().filter_map(|raw| read(raw)).collect()
}

fn difference(from: &BTreeMap<String, RawFields>, to: &BTreeMap<String, RawFields>) -> VersionDiff {
    let only = |a: &BTreeMap<String, RawFields>, b: &BTreeMap<String, RawFields>| {
        a.keys().filter(|name| !b.contains_key(*name)).cloned().collect()
    };
    let changed = from.iter().filter_map(|(name, before)| {
        let after = to.get(name)?;
        let mut fields: Vec<String> = before.names().chain(after.names()).map(str::to_owned).collect();
        fields.sort();
        fields.dedup();
        // By value: another order of members is not a change.
        fields.retain(|field| {
            before.read::<Value>(field).and_then(Result::ok)
                != after.read::<Value>(field).and_then(Result::ok)
        });
        (!fields.is_empty()).then(|| ToolDiff { name: name.clone(), fields })
    });
    VersionDiff { added: only(to, from), removed: only(from, to), changed: changed.collect() }
}
