//! The catalogue, and the lists that clients read before they believe anything in it.

use axum::{
    extract::State,
    response::{IntoResponse as _, Response},
};
use http::{HeaderValue, Method, header};
use serde::{Deserialize, Serialize};
use toolyard_core::ports::PublishedPlugin;
use toolyard_platform::plugins::status_word;
use toolyard_protocol::{
    plugin::{ContentHash, Permissions, PluginId},
    session::iso_millis,
};
use toolyard_trust::PluginJudge as _;

use super::{
    super::{Answer, MAX_WORDS, ok},
    id_of,
};
use crate::{
    auth::Anybody,
    error::Failure,
    extract::{Path, Query},
    routes::{Access, Route},
    state::AppState,
};

/// Plugins in one page.
const PAGE: usize = 20;

pub(super) fn routes() -> Vec<Route> {
    vec![
        Route::new(
            Method::GET,
            "/api/plugins",
            Access::Known,
            "The catalogue: the newest version of each plugin, by id",
            list,
        )
        .query(&[
            ("q", "Words in its id, name, description or publisher"),
            ("after", "The id after which to go on: `next` of the page before"),
        ])
        .gives::<Catalogue>(),
        Route::new(
            Method::GET,
            "/api/plugins/{id}/{version}",
            Access::Known,
            "The manifest of one version, byte for byte as it was signed",
            download,
        )
        .gives::<serde_json::Map<String, serde_json::Value>>(),
        Route::new(
            Method::GET,
            "/api/plugins/keys",
            Access::Public,
            "The key list, signed by the root key that clients pin",
            keys,
        )
        .gives::<serde_json::Map<String, serde_json::Value>>(),
        Route::new(
            Method::GET,
            "/api/plugins/revocations",
            Access::Public,
            "What was called back, signed by the same root",
            revocations,
        )
        .gives::<serde_json::Map<String, serde_json::Value>>(),
    ]
}

#[derive(Deserialize)]
struct ListQuery {
    #[serde(default)]
    q: String,
    after: Option<PluginId>,
}

/// One page of the catalogue.
#[derive(Serialize, schemars::JsonSchema)]
struct Catalogue {
    plugins: Vec<CatalogueEntry>,
    /// Where there are more: send it as `after`.
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
    /// What it is now: a plugin that was called back stays in the catalogue as `revoked`.
    status: String,
    asks_for: Permissions,
    published_at: String,
}

async fn list(State(state): State<AppState>, Anybody(_): Anybody, Query(query): Query<ListQuery>) -> Answer {
    if query.q.chars().count() > MAX_WORDS {
        return Err(Failure::invalid(format!("q: at most {MAX_WORDS} characters")));
    }
    let found =
        state.stores.published_plugins.published(query.q.trim(), query.after.as_ref(), PAGE + 1).await?;
    let more = found.len() > PAGE;
    let plugins: Vec<_> = found.into_iter().take(PAGE).map(|one| entry(&state, one)).collect();
    let next = plugins.last().filter(|_| more).map(|last| last.id.clone());
    ok(&Catalogue { plugins, next })
}

fn entry(state: &AppState, plugin: PublishedPlugin) -> CatalogueEntry {
    let judged = state.plugins.trust.judge_text(&plugin.manifest, Some(&plugin.hash), state.clock.now());
    let (status, asks_for) = match &judged {
        Ok(judged) => (status_word(&judged.verdict.status), judged.verdict.permissions.clone()),
        Err(_) => ("modified", Permissions::default()),
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

async fn download(
    State(state): State<AppState>,
    Anybody(_): Anybody,
    Path((id, version)): Path<(String, String)>,
) -> Answer {
    let id = id_of(&id)?;
    let found = state.stores.published_plugins.published_version(&id, Some(&version)).await?;
    let found = found.ok_or_else(|| Failure::not_found(format_args!("plugin {id} {version}")))?;
    Ok(as_it_is(found.manifest))
}

async fn keys(State(state): State<AppState>) -> Answer {
    state.plugins.trust.keys_text().map(as_it_is).ok_or_else(|| Failure::not_found("key list"))
}

async fn revocations(State(state): State<AppState>) -> Answer {
    state.plugins.trust.revocations_text().map(as_it_is).ok_or_else(|| Failure::not_found("revocation list"))
}

/// A signed document, byte for byte.
fn as_it_is(text: String) -> Response {
    ([(header::CONTENT_TYPE, HeaderValue::from_static("application/json"))], text).into_response()
}
