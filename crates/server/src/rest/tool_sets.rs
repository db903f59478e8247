//! `/api/apps/{package}/tools` and its versions: the whole set at once, checked whole, switched in one act.

use std::collections::{BTreeMap, BTreeSet};

use axum::extract::State;
use http::Method;
use serde::Serialize;
use serde_json::{Value, value::RawValue};
use sha2::{Digest, Sha256};
use toolyard_core::{
    catalog::{alias_clashes, check_set_on_pool},
    ports::{Change, StoredSet},
};
use toolyard_protocol::{
    Alias, PackageName, Problem, ToolName,
    api::{EntryDiff, ListDiff, ToolSet, VersionDiff, VersionSummary},
    items::{ItemKind, Items},
    raw::RawFields,
    session::iso_millis,
    tool::ToolDefinition,
};

use super::{Answer, apps::owned, ok, older_tools::to_definitions, package};
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

/// A checked set as it is stored.
pub(crate) fn set_of(tools: Vec<Box<RawValue>>, items: Items, who: &Identity) -> StoredSet {
    StoredSet { hash: hash_of(&tools, &items), tools, items, by: who.name() }
}

/// A list that is empty leaves no trace, so a set of tools alone has the hash that it had before there was anything else.
fn hash_of(tools: &[Box<RawValue>], items: &Items) -> String {
    let mut hash = Sha256::new();
    let mut add = |text: &str| {
        hash.update((text.len() as u64).to_be_bytes());
        hash.update(text.as_bytes());
    };
    tools.iter().for_each(|tool| add(tool.get()));
    for (kind, list) in items.lists().into_iter().filter(|(_, list)| !list.is_empty()) {
        // Every definition is an object, so no definition is taken for the name of a list.
        add(kind.member());
        list.iter().for_each(|item| add(item.get()));
    }
    hex::encode(hash.finalize())
}

async fn publish(
    State(state): State<AppState>,
    Builder(who): Builder,
    Path(name): Path<String>,
    LargeJsonBody(set): LargeJsonBody<ToolSet>,
) -> Answer {
    let app = owned(&state, &who, &package(&name)?).await?;
    let ToolSet { tools, prompts, resources, resource_templates } = set;
    let items = Items { prompts, resources, resource_templates };
    let not_changed = |problems| Failure::problems("the tools were not changed", problems);
    let tools = to_definitions(tools).map_err(not_changed)?;
    let definitions = check_set_on_pool(&app.package, &tools, &items).await.map_err(not_changed)?;
    let clashes = clashes(&state, &app.package, &definitions).await?;
    if !clashes.is_empty() {
        return Err(not_changed(clashes));
    }
    let set = set_of(tools, items, &who);
    let published = state.stores.definitions.publish(&app.package, set, state.clock.now()).await?;
    let version = published.ok_or_else(|| Failure::not_found(format_args!("app {name}")))?;
    state.signals.publish(Change::App(app.package));
    ok(&Published { version })
}

/// Which tools would have an alias that another one had first.
pub(crate) async fn clashes(
    state: &AppState,
    package: &PackageName,
    definitions: &[ToolDefinition],
) -> Result<Vec<Problem>, Failure> {
    let aliases = definitions.iter().map(|tool| ToolName::new(package, &tool.name).alias());
    let hashed: Vec<Alias> = aliases.filter(|alias| alias.undo().is_none()).collect();
    let owners = state.stores.definitions.alias_owners(&hashed).await?;
    Ok(alias_clashes(package, definitions, &owners))
}

async fn current(State(state): State<AppState>, Builder(who): Builder, Path(name): Path<String>) -> Answer {
    let app = owned(&state, &who, &package(&name)?).await?;
    let set = state.stores.definitions.version(&app.package, app.tools_version).await?;
    let (tools, items) = set.map(|set| (set.tools, set.items)).unwrap_or_default();
    ok(&SetBody { version: app.tools_version, tools, items })
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
    ok(&SetBody { version, tools: set.tools, items: set.items })
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

#[cfg(test)]
mod tests {
    use super::*;

    fn list(text: &str) -> Vec<Box<RawValue>> {
        serde_json::from_str(text).unwrap()
    }

    #[test]
    fn tools_alone_hash_as_they_did_before_there_was_anything_else() {
        let tools = list(r#"[{"name":"a"}]"#);
        let plain = hash_of(&tools, &Items::default());
        assert_eq!(plain, hex::encode(Sha256::digest(b"\0\0\0\0\0\0\0\x0c{\"name\":\"a\"}")));
        let prompts = Items { prompts: list(r#"[{"name":"a"}]"#), ..Items::default() };
        let resources = Items { resources: list(r#"[{"name":"a"}]"#), ..Items::default() };
        let hashes = [plain, hash_of(&tools, &prompts), hash_of(&tools, &resources), hash_of(&[], &prompts)];
        assert_eq!(hashes.iter().collect::<std::collections::HashSet<_>>().len(), hashes.len());
    }
}
