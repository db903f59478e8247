//! `/api/plugins/installed`: the user's plugins. The verdict on a plugin is computed whenever it is listed.

use std::sync::Arc;

use axum::extract::State;
use http::Method;
use serde::{Deserialize, Serialize};
use toolyard_core::ports::PluginSwitch;
use toolyard_platform::Platform;
use toolyard_platform::plugins::{self, status_name};
use toolyard_protocol::{
    PackageName,
    plugin::{ContentHash, PluginId, PluginPermissions},
    session::iso_millis,
};
use toolyard_sources::{PluginSource, plugin::LoadedPlugin};

use super::{
    super::{HandlerResult, no_content, ok_json},
    install::{self, InstallBody, NeedsAgreement},
    parse_plugin_id,
};
use crate::{
    auth::{AuthRefusal, TargetUser},
    body::JsonBody,
    error::RequestError,
    extract::PathParams,
    routes::{Route, RouteAccess},
    state::ServerState,
};

pub(super) fn routes() -> Vec<Route> {
    vec![
        Route::new(
            Method::GET,
            "/api/plugins/installed",
            RouteAccess::User,
            "The user's plugins, oldest first, with their current status",
            list_plugins,
        )
        .response_body::<PluginList>(),
        Route::audited(
            Method::POST,
            "/api/plugins/installed",
            RouteAccess::User,
            "Installs a plugin or another version of it; the user must agree to its permissions",
            install::install_plugin,
        )
        .request_body::<InstallBody>()
        .response_body::<PluginSummary>()
        .error_body::<NeedsAgreement>()
        .success_status(201),
        Route::audited(
            Method::PATCH,
            "/api/plugins/installed/{id}",
            RouteAccess::User,
            "Switches a plugin on or off",
            switch_plugin,
        )
        .request_body::<SwitchBody>()
        .response_body::<PluginSummary>(),
        Route::audited(
            Method::DELETE,
            "/api/plugins/installed/{id}",
            RouteAccess::User,
            "Removes a plugin and its stored values for the user",
            remove_plugin,
        )
        .success_status(204),
    ]
}

/// The plugins of a user.
#[derive(Serialize, schemars::JsonSchema)]
struct PluginList {
    plugins: Vec<PluginSummary>,
}

/// An installed plugin.
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
    /// Current status: signed, unsigned, modified, unknown-key, revoked, expired.
    status: String,
    /// Status when it was installed.
    status_at_install: String,
    /// The reason for the current status, for people.
    reason: String,
    /// Whether the user has enabled it.
    enabled: bool,
    /// Whether its tools can be called now.
    runs: bool,
    /// The reason, if they cannot.
    hidden: Option<String>,
    /// Granted permissions.
    permissions: PluginPermissions,
    content_hash: ContentHash,
    tools: Vec<String>,
    installed_at: String,
}

/// Body of `PATCH /api/plugins/installed/{id}`.
#[derive(Deserialize, schemars::JsonSchema)]
struct SwitchBody {
    enabled: bool,
}

/// The plugin source, if the operator allows plugins.
pub(super) fn plugin_source(state: &ServerState) -> Result<&PluginSource, RequestError> {
    let text = "plugins are disabled on this server; the operator can enable them (plugins.enabled)";
    state.plugins.source.as_deref().ok_or_else(|| AuthRefusal::Forbidden(text).into())
}

pub(super) fn plugin_summary(loaded: LoadedPlugin) -> PluginSummary {
    let (row, manifest) = (loaded.row, loaded.manifest);
    let (status, reason) = match &loaded.verdict {
        Some(verdict) => (status_name(&verdict.status), verdict.reason.clone()),
        None => ("modified", "the stored manifest cannot be read".to_owned()),
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
        enabled: row.switch == PluginSwitch::On,
        runs: loaded.hidden.is_none(),
        hidden: loaded.hidden,
        permissions: loaded.permissions,
        content_hash: row.hash,
        tools: manifest.iter().flat_map(|all| &all.tools).map(|tool| tool.name.clone()).collect(),
        installed_at: iso_millis(row.at),
        id: row.id,
    }
}

async fn list_plugins(State(state): State<ServerState>, who: TargetUser) -> HandlerResult {
    let source = plugin_source(&state)?;
    let rows = state.stores.plugins.list_installed(&who.user).await?;
    let plugins = rows.into_iter().map(|row| plugin_summary(source.load_plugin(&who.user, row))).collect();
    ok_json(&PluginList { plugins })
}

async fn switch_plugin(
    State(state): State<ServerState>,
    who: TargetUser,
    PathParams(id): PathParams<String>,
    JsonBody(body): JsonBody<SwitchBody>,
) -> HandlerResult {
    let (source, user) = (plugin_source(&state)?, who.user.clone());
    let plugin = plugins::switch(&state.platform, &who.into(), &parse_plugin_id(&id)?, body.enabled).await?;
    ok_json(&plugin_summary(source.load_plugin(&user, plugin)))
}

async fn remove_plugin(
    State(platform): State<Arc<Platform>>,
    who: TargetUser,
    PathParams(id): PathParams<String>,
) -> HandlerResult {
    plugins::uninstall(&platform, &who.into(), &parse_plugin_id(&id)?).await?;
    no_content()
}
