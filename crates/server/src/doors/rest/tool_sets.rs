//! `/api/apps/{package}/tools` and its versions: the whole set at once, checked whole, switched in one act.

use std::collections::{BTreeMap, BTreeSet};

use axum::extract::State;
use http::Method;
use serde::Serialize;
use serde_json::{Value, value::RawValue};
use toolyard_core::ports::StoredSet;
use toolyard_platform::apps;
use toolyard_protocol::{
    PackageName,
    api::{EntryDiff, ListDiff, ToolSet, VersionDiff, VersionSummary},
    items::{ItemKind, Items},
    raw::RawFields,
    session::iso_millis,
};

use super::{Answer, ok, package};
use crate::{
    auth::Builder,
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
            "Replaces the app's tools, prompts and resources",
            publish,
        )
        .takes::<ToolSet>()
        .gives::<Published>(),
        Route::new(
            Method::GET,
            "/api/apps/{package}/tools",
            Access::Owner,
            "The app's current tools, prompts and resources",
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

/// One version: everything that the app brings.
#[derive(Serialize, schemars::JsonSchema)]
struct SetBody {
    version: u64,
    /// The definitions as they came.
    #[schemars(with = "Vec<Value>")]
    tools: Vec<Box<RawValue>>,
    #[serde(flatten)]
    items: Items,
}

async fn publish(
    State(state): State<AppState>,
    Builder(actor): Builder,
    Path(name): Path<String>,
    LargeJsonBody(set): LargeJsonBody<ToolSet>,
) -> Answer {
    let version = apps::publish_tools(&state.platform, &actor, &package(&name)?, set).await?;
    ok(&Published { version })
}

async fn current(State(state): State<AppState>, Builder(who): Builder, Path(name): Path<String>) -> Answer {
    let app = apps::find_owned(&state.platform, &who, &package(&name)?).await?;
    let set = state.stores.definitions.version(&app.package, app.tools_version).await?;
    let (tools, items) = set.map(|set| (set.tools, set.items)).unwrap_or_default();
    ok(&SetBody { version: app.tools_version, tools, items })
}

async fn versions(State(state): State<AppState>, Builder(who): Builder, Path(name): Path<String>) -> Answer {
    let app = apps::find_owned(&state.platform, &who, &package(&name)?).await?;
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
    let app = apps::find_owned(&state.platform, &who, &package(&name)?).await?;
    let set = find(&state, &app.package, version).await?;
    ok(&SetBody { version, tools: set.tools, items: set.items })
}

async fn activate(
    State(state): State<AppState>,
    Builder(actor): Builder,
    Path((name, version)): Path<(String, u64)>,
) -> Answer {
    apps::activate_tools(&state.platform, &actor, &package(&name)?, version).await?;
    ok(&Published { version })
}

async fn diff(
    State(state): State<AppState>,
    Builder(who): Builder,
    Path((name, from, to)): Path<(String, u64, u64)>,
) -> Answer {
    let app = apps::find_owned(&state.platform, &who, &package(&name)?).await?;
    let (from, to) = (find(&state, &app.package, from).await?, find(&state, &app.package, to).await?);
    let items = |kind: ItemKind, from: &[Box<RawValue>], to: &[Box<RawValue>]| {
        difference(&by(kind.key(), from), &by(kind.key(), to))
    };
    let (before, after) = (&from.items, &to.items);
    ok(&VersionDiff {
        tools: difference(&by("name", &from.tools), &by("name", &to.tools)),
        prompts: items(ItemKind::Prompt, &before.prompts, &after.prompts),
        resources: items(ItemKind::Resource, &before.resources, &after.resources),
        resource_templates: items(ItemKind::Template, &before.resource_templates, &after.resource_templates),
    })
}

fn by(key: &str, definitions: &[Box<RawValue>]) -> BTreeMap<String, RawFields> {
    let read = |raw: &RawValue| {
        let fields: RawFields = serde_json::from_str(raw.get()).ok()?;
        Some((fields.read::<String>(key)?.ok()?, fields))
    };
    definitions.iter().filter_map(|raw| read(raw)).collect()
}

fn difference(from: &BTreeMap<String, RawFields>, to: &BTreeMap<String, RawFields>) -> ListDiff {
    let only = |a: &BTreeMap<String, RawFields>, b: &BTreeMap<String, RawFields>| {
        a.keys().filter(|name| !b.contains_key(*name)).cloned().collect()
    };
    let changed = from.iter().filter_map(|(name, before)| {
        let (before, after) = (before.by_name(), to.get(name)?.by_name());
        let names: BTreeSet<&str> = before.keys().chain(after.keys()).copied().collect();
        // By value: another order of members is not a change.
        let value = |raw: Option<&&RawValue>| serde_json::from_str::<Value>(raw?.get()).ok();
        let changed = names.into_iter().filter(|field| value(before.get(field)) != value(after.get(field)));
        let fields: Vec<String> = changed.map(str::to_owned).collect();
        (!fields.is_empty()).then(|| EntryDiff { name: name.clone(), fields })
    });
    ListDiff { added: only(to, from), removed: only(from, to), changed: changed.collect() }
}
