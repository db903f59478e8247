//! The plugin policy of this server, read-only. It is set in the configuration file.

use axum::extract::State;
use http::Method;
use schemars::JsonSchema;
use serde::Serialize;
use toolyard_protocol::plugin::{ContentHash, KeyId, PluginId};

use super::super::{HandlerResult, ok_json};
use crate::{
    auth::KnownActor,
    routes::{Route, RouteAccess},
    state::ServerState,
};

pub(super) fn routes() -> Vec<Route> {
    vec![
        Route::new(
            Method::GET,
            "/api/plugins/policy",
            RouteAccess::Authenticated,
            "The plugin policy of this server: trusted keys and limits",
            get_plugin_policy,
        )
        .response_body::<PluginPolicy>(),
    ]
}

/// The plugin policy of this server.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct PluginPolicy {
    /// Whether plugins of users run on the server.
    enabled: bool,
    /// The public root key in force, SPKI in base64.
    root_key: Option<String>,
    /// The number of the key list in force.
    key_list_number: Option<u64>,
    /// The number of the revocation list in force.
    revocations_number: Option<u64>,
    /// The key that the server signs plugins with, if any.
    curator: Option<CuratorKey>,
    /// Unsigned plugins that may run.
    allow_unsigned: Vec<AllowedPlugin>,
    limits: PluginLimits,
}

/// A key that signs plugins.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct CuratorKey {
    /// Name of the curator, for people.
    name: String,
    key_id: KeyId,
}

/// An unsigned plugin that may run, with exactly this content.
#[derive(Serialize, JsonSchema)]
struct AllowedPlugin {
    id: PluginId,
    hash: ContentHash,
}

/// Limits of plugins.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct PluginLimits {
    per_user: usize,
    manifest_bytes: usize,
    memory_bytes: usize,
    time_ms: u64,
    compute_ms: u64,
    storage_bytes: usize,
    storage_keys: usize,
}

async fn get_plugin_policy(State(state): State<ServerState>, KnownActor(_): KnownActor) -> HandlerResult {
    let (config, in_force) = (state.config.load(), state.plugins.trust.summary());
    let config = &config.plugins;
    let allowed = config.allow_unsigned.iter();
    ok_json(&PluginPolicy {
        enabled: state.plugins.source.is_some(),
        root_key: in_force.root.map(String::from),
        key_list_number: in_force.keys,
        revocations_number: in_force.revocations,
        curator: in_force.curator.map(|key_id| CuratorKey { name: config.curator_name.clone(), key_id }),
        allow_unsigned: allowed
            .map(|one| AllowedPlugin { id: one.id.clone(), hash: one.hash.clone() })
            .collect(),
        limits: PluginLimits {
            per_user: config.per_user,
            manifest_bytes: config.manifest_bytes,
            memory_bytes: config.memory_bytes,
            time_ms: config.time_ms,
            compute_ms: config.compute_ms,
            storage_bytes: config.storage_bytes,
            storage_keys: config.storage_keys,
        },
    })
}
