//! The catalogue, and the signed lists that clients need to verify it.

use axum::{
    extract::State,
    response::{IntoResponse as _, Response},
};
use http::{HeaderValue, Method, header};
use serde::{Deserialize, Serialize};
use toolyard_core::ports::PublishedPlugin;
use toolyard_core::ports::Stores;
use toolyard_platform::plugins::status_name;
use toolyard_protocol::{
    plugin::{ContentHash, PluginId, PluginPermissions},
    session::iso_millis,
};
use toolyard_trust::PluginJudge as _;

use super::{
    super::{HandlerResult, MAX_WORDS, ok_json},
    parse_plugin_id,
};
use crate::{
    auth::KnownActor,
    error::RequestError,
    extract::{PathParams, QueryParams},
    routes::{Route, RouteAccess},
    state::ServerState,
};

/// Page size.
const PAGE: usize = 20;

pub(super) fn routes() -> Vec<Route> {
    vec![
        Route::new(
            Method::GET,
            "/api/plugins",
            RouteAccess::Authenticated,
            "The catalogue: the newest version of each plugin, by id",
            list_catalogue,
        )
        .query(&[
            ("q", "Words in its id, name, description or publisher"),
            ("after", "`next` of the previous page"),
        ])
        .response_body::<CataloguePage>(),
        Route::new(
            Method::GET,
            "/api/plugins/{id}/{version}",
            RouteAccess::Authenticated,
            "The manifest of one version, byte for byte as it was signed",
            download_manifest,
        )
        .response_body::<serde_json::Map<String, serde_json::Value>>(),
        Route::new(
            Method::GET,
            "/api/plugins/keys",
            RouteAccess::Public,
            "The key list, signed by the root key that clients pin",
            get_key_list,
        )
        .response_body::<serde_json::Map<String, serde_json::Value>>(),
        Route::new(
            Method::GET,
            "/api/plugins/revocations",
            RouteAccess::Public,
            "The revocation list, signed by the same root key",
            get_revocations,
        )
        .response_body::<serde_json::Map<String, serde_json::Value>>(),
    ]
}

#[derive(Deserialize)]
struct CatalogueQuery {
    #[serde(default)]
    q: String,
    after: Option<PluginId>,
}

/// One page of the catalogue.
#[derive(Serialize, schemars::JsonSchema)]
struct CataloguePage {
    plugins: Vec<CatalogueEntry>,
    /// Present if there are more: send it as `after`.
    #[serde(skip_serializing_if = "Option::is_none")]
    next: Option<PluginId>,
}

/// A plugin of the catalogue.
#[derive(Serialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
struct CatalogueEntry {
    id: PluginId,
    version: String,
    name: String,
    description: String,
    publisher: Option<String>,
    content_hash: ContentHash,
    /// Current status. Revoked plugins stay in the catalogue as `revoked`.
    status: String,
    asks_for: PluginPermissions,
    published_at: String,
}

async fn list_catalogue(
    State(state): State<ServerState>,
    KnownActor(_): KnownActor,
    QueryParams(query): QueryParams<CatalogueQuery>,
) -> HandlerResult {
    if query.q.chars().count() > MAX_WORDS {
        return Err(RequestError::invalid_request(format!("q: at most {MAX_WORDS} characters")));
    }
    let found = state
        .stores
        .published_plugins
        .search_published(query.q.trim(), query.after.as_ref(), PAGE + 1)
        .await?;
    let more = found.len() > PAGE;
    let plugins: Vec<_> = found.into_iter().take(PAGE).map(|one| catalogue_entry(&state, one)).collect();
    let next = plugins.last().filter(|_| more).map(|last| last.id.clone());
    ok_json(&CataloguePage { plugins, next })
}

fn catalogue_entry(state: &ServerState, plugin: PublishedPlugin) -> CatalogueEntry {
    let judged = state.plugins.trust.judge_text(&plugin.manifest, Some(&plugin.hash), state.clock.now());
    let (status, asks_for) = match &judged {
        Ok(judged) => (status_name(&judged.verdict.status), judged.verdict.permissions.clone()),
        Err(_) => ("modified", PluginPermissions::default()),
    };
    CatalogueEntry {
        id: plugin.id,
        version: plugin.version,
        name: plugin.name,
        description: plugin.description,
        publisher: plugin.publisher,
        content_hash: plugin.hash,
        status: status.to_owned(),
        asks_for,
        published_at: iso_millis(plugin.at),
    }
}

async fn download_manifest(
    State(stores): State<Stores>,
    KnownActor(_): KnownActor,
    PathParams((id, version)): PathParams<(String, String)>,
) -> HandlerResult {
    let id = parse_plugin_id(&id)?;
    let found = stores.published_plugins.find_published(&id, Some(&version)).await?;
    let found = found.ok_or_else(|| RequestError::not_found(format_args!("plugin {id} {version}")))?;
    Ok(json_document(found.manifest))
}

async fn get_key_list(State(state): State<ServerState>) -> HandlerResult {
    state.plugins.trust.keys_text().map(json_document).ok_or_else(|| RequestError::not_found("key list"))
}

async fn get_revocations(State(state): State<ServerState>) -> HandlerResult {
    state
        .plugins
        .trust
        .revocations_text()
        .map(json_document)
        .ok_or_else(|| RequestError::not_found("revocation list"))
}

/// A signed document, byte for byte.
fn json_document(text: String) -> Response {
    ([(header::CONTENT_TYPE, HeaderValue::from_static("application/json"))], text).into_response()
}
