//! `/api/apps/{package}/tools` and its versions: a tool set is checked and published as a whole.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use axum::extract::State;
use http::Method;
use serde::Serialize;
use serde_json::{Value, value::RawValue};
use toolyard_core::ports::StoredToolSet;
use toolyard_core::ports::Stores;
use toolyard_platform::Platform;
use toolyard_platform::apps;
use toolyard_protocol::{
    PackageName,
    api::{EntryDiff, ListDiff, ToolSet, VersionDiff, VersionSummary},
    items::{AppItems, ItemKind},
    raw::RawFields,
    session::iso_millis,
};

use super::{HandlerResult, ok_json, parse_package};
use crate::{
    auth::AppEditor,
    body::LargeJsonBody,
    error::RequestError,
    extract::PathParams,
    routes::{Route, RouteAccess},
    state::ServerState,
};

pub(crate) fn routes() -> Vec<Route> {
    vec![
        Route::audited(
            Method::POST,
            "/api/apps/{package}/tools",
            RouteAccess::Owner,
            "Replaces the app's tools, prompts and resources",
            publish_tools,
        )
        .request_body::<ToolSet>()
        .response_body::<ActiveVersion>(),
        Route::new(
            Method::GET,
            "/api/apps/{package}/tools",
            RouteAccess::Owner,
            "The app's current tools, prompts and resources",
            get_current_tools,
        )
        .response_body::<ToolSetVersionBody>(),
        Route::new(
            Method::GET,
            "/api/apps/{package}/versions",
            RouteAccess::Owner,
            "Versions of the tools, newest first",
            list_versions,
        )
        .response_body::<VersionList>(),
        Route::new(
            Method::GET,
            "/api/apps/{package}/versions/{version}",
            RouteAccess::Owner,
            "One version of the tools",
            get_version,
        )
        .response_body::<ToolSetVersionBody>(),
        Route::new(
            Method::GET,
            "/api/apps/{package}/versions/{version}/diff/{other}",
            RouteAccess::Owner,
            "What changed from one version to another",
            diff_versions,
        )
        .response_body::<VersionDiff>(),
        Route::audited(
            Method::POST,
            "/api/apps/{package}/versions/{version}/activate",
            RouteAccess::Owner,
            "Makes an older version the current one",
            activate_version,
        )
        .response_body::<ActiveVersion>(),
    ]
}

/// The current version.
#[derive(Serialize, schemars::JsonSchema)]
struct ActiveVersion {
    version: u64,
}

#[derive(Serialize, schemars::JsonSchema)]
struct VersionList {
    versions: Vec<VersionSummary>,
}

/// One version of an app's tool set.
#[derive(Serialize, schemars::JsonSchema)]
struct ToolSetVersionBody {
    version: u64,
    /// The definitions as they were published.
    #[schemars(with = "Vec<Value>")]
    tools: Vec<Box<RawValue>>,
    #[serde(flatten)]
    items: AppItems,
}

async fn publish_tools(
    State(platform): State<Arc<Platform>>,
    AppEditor(actor): AppEditor,
    PathParams(name): PathParams<String>,
    LargeJsonBody(set): LargeJsonBody<ToolSet>,
) -> HandlerResult {
    let version = apps::publish_tools(&platform, &actor, &parse_package(&name)?, set).await?;
    ok_json(&ActiveVersion { version })
}

async fn get_current_tools(
    State(platform): State<Arc<Platform>>,
    State(stores): State<Stores>,
    AppEditor(who): AppEditor,
    PathParams(name): PathParams<String>,
) -> HandlerResult {
    let app = apps::find_owned(&platform, &who, &parse_package(&name)?).await?;
    let set = stores.definitions.find_tool_set(&app.package, app.tools_version).await?;
    let (tools, items) = set.map(|set| (set.tools, set.items)).unwrap_or_default();
    ok_json(&ToolSetVersionBody { version: app.tools_version, tools, items })
}

async fn list_versions(
    State(platform): State<Arc<Platform>>,
    State(stores): State<Stores>,
    AppEditor(who): AppEditor,
    PathParams(name): PathParams<String>,
) -> HandlerResult {
    let app = apps::find_owned(&platform, &who, &parse_package(&name)?).await?;
    let versions = stores.definitions.list_tool_sets(&app.package).await?.into_iter();
    let versions = versions.map(|info| VersionSummary {
        version: info.version,
        hash: info.hash,
        created_at: iso_millis(info.at),
        created_by: info.by,
        current: info.version == app.tools_version,
        tool_count: info.tool_count,
    });
    ok_json(&VersionList { versions: versions.collect() })
}

async fn find_version(
    state: &ServerState,
    app: &PackageName,
    version: u64,
) -> Result<StoredToolSet, RequestError> {
    let set = state.stores.definitions.find_tool_set(app, version).await?;
    set.ok_or_else(|| RequestError::not_found(format_args!("version {version} of {app}")))
}

async fn get_version(
    State(state): State<ServerState>,
    AppEditor(who): AppEditor,
    PathParams((name, version)): PathParams<(String, u64)>,
) -> HandlerResult {
    let app = apps::find_owned(&state.platform, &who, &parse_package(&name)?).await?;
    let set = find_version(&state, &app.package, version).await?;
    ok_json(&ToolSetVersionBody { version, tools: set.tools, items: set.items })
}

async fn activate_version(
    State(platform): State<Arc<Platform>>,
    AppEditor(actor): AppEditor,
    PathParams((name, version)): PathParams<(String, u64)>,
) -> HandlerResult {
    apps::activate_tools(&platform, &actor, &parse_package(&name)?, version).await?;
    ok_json(&ActiveVersion { version })
}

async fn diff_versions(
    State(state): State<ServerState>,
    AppEditor(who): AppEditor,
    PathParams((name, from, to)): PathParams<(String, u64, u64)>,
) -> HandlerResult {
    let app = apps::find_owned(&state.platform, &who, &parse_package(&name)?).await?;
    let (from, to) =
        (find_version(&state, &app.package, from).await?, find_version(&state, &app.package, to).await?);
    let items = |kind: ItemKind, from: &[Box<RawValue>], to: &[Box<RawValue>]| {
        diff_definitions(&index_definitions(kind.key_name(), from), &index_definitions(kind.key_name(), to))
    };
    let (before, after) = (&from.items, &to.items);
    ok_json(&VersionDiff {
        tools: diff_definitions(
            &index_definitions("name", &from.tools),
            &index_definitions("name", &to.tools),
        ),
        prompts: items(ItemKind::Prompt, &before.prompts, &after.prompts),
        resources: items(ItemKind::Resource, &before.resources, &after.resources),
        resource_templates: items(ItemKind::Template, &before.resource_templates, &after.resource_templates),
    })
}

fn index_definitions(key: &str, definitions: &[Box<RawValue>]) -> BTreeMap<String, RawFields> {
    let read = |raw: &RawValue| {
        let fields: RawFields = serde_json::from_str(raw.get()).ok()?;
        Some((fields.parse_field::<String>(key)?.ok()?, fields))
    };
    definitions.iter().filter_map(|raw| read(raw)).collect()
}

fn diff_definitions(from: &BTreeMap<String, RawFields>, to: &BTreeMap<String, RawFields>) -> ListDiff {
    let only = |a: &BTreeMap<String, RawFields>, b: &BTreeMap<String, RawFields>| {
        a.keys().filter(|name| !b.contains_key(*name)).cloned().collect()
    };
    let changed = from.iter().filter_map(|(name, before)| {
        let (before, after) = (before.by_name(), to.get(name)?.by_name());
        let names: BTreeSet<&str> = before.keys().chain(after.keys()).copied().collect();
        // Compared by value, because the order of members does not matter.
        let value = |raw: Option<&&RawValue>| serde_json::from_str::<Value>(raw?.get()).ok();
        let changed = names.into_iter().filter(|field| value(before.get(field)) != value(after.get(field)));
        let fields: Vec<String> = changed.map(str::to_owned).collect();
        (!fields.is_empty()).then(|| EntryDiff { name: name.clone(), fields })
    });
    ListDiff { added: only(to, from), removed: only(from, to), changed: changed.collect() }
}
