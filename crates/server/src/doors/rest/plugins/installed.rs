//! `/api/plugins/installed`: what a user has. Each plugin is judged anew whenever it is shown.

use axum::extract::State;
use http::Method;
use serde::{Deserialize, Serialize};
use toolyard_core::ports::Switch;
use toolyard_platform::plugins::{self, status_word};
use toolyard_protocol::{
    PackageName,
    plugin::{ContentHash, Permissions, PluginId},
    session::iso_millis,
};
use toolyard_sources::{PluginSource, plugin::Loaded};

use super::{
    super::{Answer, nothing, ok},
    id_of,
    install::{self, InstallBody, NeedsAgreement},
};
use crate::{
    auth::{ForUser, Refusal},
    body::JsonBody,
    error::Failure,
    extract::Path,
    routes::{Access, Route},
    state::AppState,
};

pub(super) fn routes() -> Vec<Route> {
    vec![
        Route::new(
            Method::GET,
            "/api/plugins/installed",
            Access::User,
            "The user's plugins, the earliest first, as they are judged now",
            list,
        )
        .gives::<PluginList>(),
        Route::new(
            Method::POST,
            "/api/plugins/installed",
            Access::User,
            "Installs a plugin, or another version of it; what it asks for has to be agreed to",
            install::handler,
        )
        .takes::<InstallBody>()
        .gives::<PluginSummary>()
        .fails::<NeedsAgreement>()
        .success(201),
        Route::new(
            Method::PATCH,
            "/api/plugins/installed/{id}",
            Access::User,
            "Switches a plugin on or off",
            switch,
        )
        .takes::<SwitchBody>()
        .gives::<PluginSummary>(),
        Route::new(
            Method::DELETE,
            "/api/plugins/installed/{id}",
            Access::User,
            "Removes a plugin with all that it keeps for the user",
            remove,
        )
        .success(204),
    ]
}

/// The plugins of a user.
#[derive(Serialize, schemars::JsonSchema)]
struct PluginList {
    plugins: Vec<PluginSummary>,
}

/// A plugin that a user has.
#[derive(Serialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct PluginSummary {
    id: PluginId,
    /// The package of its tools.
    package_name: Option<PackageName>,
    name: String,
    version: String,
    publisher: Option<String>,
    description: String,
    /// What it is now: signed, unsigned, modified, unknown-key, revoked, expired.
    status: String,
    /// What it was when it was installed.
    status_at_install: String,
    /// Why it is what it is, for people.
    reason: String,
    /// Whether it is on.
    enabled: bool,
    /// Whether its tools can be called now.
    runs: bool,
    /// Why not, if not.
    hidden: Option<String>,
    /// What it may do.
    permissions: Permissions,
    content_hash: ContentHash,
    tools: Vec<String>,
    installed_at: String,
}

/// Body of `PATCH /api/plugins/installed/{id}`.
#[derive(Deserialize, schemars::JsonSchema)]
struct SwitchBody {
    enabled: bool,
}

/// The source, if the operator allows plugins.
pub(super) fn source(state: &AppState) -> Result<&PluginSource, Failure> {
    let text = "plugins do not run on this server; the operator can allow them (plugins.enabled)";
    state.plugins.source.as_deref().ok_or_else(|| Refusal::Forbidden(text).into())
}

pub(super) fn summary(loaded: Loaded) -> PluginSummary {
    let (row, manifest) = (loaded.row, loaded.manifest);
    let (status, reason) = match &loaded.verdict {
        Some(verdict) => (status_word(&verdict.status), verdict.reason.clone()),
        None => ("modified", "what is stored cannot be read".to_owned()),
    };
    PluginSummary {
        package_name: row.id.package(),
        name: manifest.as_ref().map_or_else(|| row.id.to_string(), |all| all.name.clone()),
        version: row.version,
        publisher: manifest.as_ref().and_then(|all| all.publisher.clone()),
        description: manifest.as_ref().map(|all| all.description.clone()).unwrap_or_default(),
        status: status.to_owned(),
        status_at_install: row.status,
        reason,
        enabled: row.switch == Switch::On,
        runs: loaded.hidden.is_none(),
        hidden: loaded.hidden,
        permissions: loaded.permissions,
        content_hash: row.hash,
        tools: manifest.iter().flat_map(|all| &all.tools).map(|tool| tool.name.clone()).collect(),
        installed_at: iso_millis(row.at),
        id: row.id,
    }
}

async fn list(State(state): State<AppState>, who: ForUser) -> Answer {
    let source = source(&state)?;
    let rows = state.stores.plugins.plugins(&who.user).await?;
    let plugins = rows.into_iter().map(|row| summary(source.load(&who.user, row))).collect();
    ok(&PluginList { plugins })
}

async fn switch(
    State(state): State<AppState>,
    who: ForUser,
    Path(id): Path<String>,
    JsonBody(body): JsonBody<SwitchBody>,
) -> Answer {
    let (source, user) = (source(&state)?, who.user.clone());
    let plugin = plugins::switch(&state.platform, &who.into(), &id_of(&id)?, body.enabled).await?;
    ok(&summary(source.load(&user, plugin)))
}

async fn remove(State(state): State<AppState>, who: ForUser, Path(id): Path<String>) -> Answer {
    plugins::uninstall(&state.platform, &who.into(), &id_of(&id)?).await?;
    nothing()
}
