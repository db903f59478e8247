//! What curators do: look at a plugin, sign it, call it back.

use axum::extract::State;
use http::Method;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use toolyard_core::ports::{Change, PublishedPlugin, RecordChange};
use toolyard_protocol::{
    api::ApiErrorCode,
    plugin::{ContentHash, Manifest},
    raw::to_raw,
};
use toolyard_trust::{Report, RevokedPlugin, audit, hash};

use super::{
    super::{Answer, ok},
    id_of, install,
};
use crate::{
    auth::{Anybody, Curator, Refusal},
    body::{JsonBody, LargeJsonBody},
    error::Failure,
    extract::Path,
    routes::{Access, Route},
    state::AppState,
};

/// Segments of our own routes: `/installed/{id}` and `/{id}/revoke`. What has these names could not be fetched.
const RESERVED_ID: &str = "installed";
const RESERVED_VERSION: &str = "revoke";

pub(super) fn routes() -> Vec<Route> {
    vec![
        Route::new(
            Method::POST,
            "/api/plugins/sign",
            Access::Curator,
            "Looks at a plugin, and where nothing forbids it signs it and adds it to the catalogue",
            sign,
        )
        .takes::<SignBody>()
        .gives::<SignAnswer>(),
        Route::new(
            Method::POST,
            "/api/plugins/{id}/revoke",
            Access::Curator,
            "Calls a plugin back: a version, a content, or all of it",
            revoke,
        )
        .takes::<RevokeBody>()
        .gives::<RevokeAnswer>(),
        Route::new(
            Method::POST,
            "/api/plugins/reload",
            Access::Operator,
            "Reads the key list and the revocation list again",
            reload,
        )
        .gives::<ReloadAnswer>(),
    ]
}

/// Body of `POST /api/plugins/sign`.
#[derive(Deserialize, schemars::JsonSchema)]
struct SignBody {
    /// The manifest.
    #[schemars(with = "serde_json::Map<String, serde_json::Value>")]
    manifest: Box<RawValue>,
}

/// What a look at a plugin came to.
#[derive(Serialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
struct SignAnswer {
    /// Whether it was signed, and is in the catalogue.
    signed: bool,
    content_hash: ContentHash,
    /// What was found: `{passes, findings: [{severity, code, place, text}]}`.
    #[schemars(with = "serde_json::Map<String, serde_json::Value>")]
    report: Report,
    /// The signed manifest.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<serde_json::Map<String, serde_json::Value>>")]
    manifest: Option<Box<RawValue>>,
}

/// Body of `POST /api/plugins/{id}/revoke`. Without version and hash: every version of it.
#[derive(Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct RevokeBody {
    /// A version of the catalogue.
    version: Option<String>,
    /// A content, under whatever id.
    content_hash: Option<ContentHash>,
    /// For people.
    #[serde(default)]
    reason: String,
}

#[derive(Serialize, schemars::JsonSchema)]
struct RevokeAnswer {
    /// False where that had been said before.
    revoked: bool,
}

#[derive(Serialize, schemars::JsonSchema)]
struct ReloadAnswer {
    /// Whether a list is new.
    changed: bool,
}

async fn sign(
    State(state): State<AppState>,
    Curator(who): Curator,
    LargeJsonBody(body): LargeJsonBody<SignBody>,
) -> Answer {
    state.management.check_costly(&who)?;
    let manifest = install::manifest(&state, body.manifest.get())?;
    if manifest.id.as_str() == RESERVED_ID {
        return Err(Failure::invalid(format!("`{RESERVED_ID}` cannot be the id of a plugin here")));
    }
    if manifest.version == RESERVED_VERSION {
        return Err(Failure::invalid(format!("`{RESERVED_VERSION}` cannot be a version here")));
    }
    let report = audit(&manifest);
    let unreadable = |problem| Failure::problems("the manifest cannot be signed", vec![problem]);
    let content_hash = hash(&manifest).map_err(unreadable)?;
    if !report.passes {
        return ok(&SignAnswer { signed: false, content_hash, report, manifest: None });
    }
    let signed = state.plugins.trust.sign(&manifest, state.clock.now())?;
    // The signature takes some room: what could not be installed does not go into the catalogue.
    install::fits(&state, signed.raw())?;
    publish(&state, &signed, &content_hash, who.name()).await?;
    let raw = RawValue::from_string(signed.raw().to_owned()).unwrap_or_else(|_| to_raw(&()));
    ok(&SignAnswer { signed: true, content_hash, report, manifest: Some(raw) })
}

async fn publish(state: &AppState, signed: &Manifest, hash: &ContentHash, by: String) -> Result<(), Failure> {
    let plugin = PublishedPlugin {
        id: signed.id.clone(),
        version: signed.version.clone(),
        name: signed.name.clone(),
        description: signed.description.clone(),
        publisher: signed.publisher.clone(),
        hash: hash.clone(),
        manifest: signed.raw().to_owned(),
        by,
        at: state.clock.now(),
    };
    let most = state.config.plugins.catalogue;
    if state.stores.published.publish_plugin(&plugin, most).await? {
        state.signals.publish(Change::Records(RecordChange::PluginCatalogue));
        return Ok(());
    }
    let text = format!(
        "{} {} is in the catalogue with other content, or the catalogue has its {most} versions; raise the version",
        signed.id, signed.version
    );
    Err(Failure::new(ApiErrorCode::Conflict, text))
}

async fn revoke(
    State(state): State<AppState>,
    Curator(_): Curator,
    Path(id): Path<String>,
    JsonBody(body): JsonBody<RevokeBody>,
) -> Answer {
    let id = id_of(&id)?;
    let content_hash = match (body.content_hash, &body.version) {
        (Some(hash), None) => Some(hash),
        (None, None) => None,
        (None, Some(version)) => {
            let found = state.stores.published.published_version(&id, Some(version)).await?;
            let missing = || Failure::not_found(format_args!("version {version} of {id} in the catalogue"));
            Some(found.ok_or_else(missing)?.hash)
        }
        (Some(_), Some(_)) => return Err(Failure::invalid("send either `version` or `contentHash`")),
    };
    let plugin = RevokedPlugin { id, content_hash, reason: body.reason };
    let revoked = state.plugins.trust.revoke(plugin, state.clock.now()).await?;
    // Every user may have it: all views are made anew, and calls under way judge again before they run.
    state.signals.publish(Change::Everybody);
    ok(&RevokeAnswer { revoked })
}

async fn reload(State(state): State<AppState>, Anybody(who): Anybody) -> Answer {
    if !who.is_operator() {
        return Err(Refusal::Forbidden("this needs an operator's token").into());
    }
    let changed = state.plugins.refresh(&*state.clock, &*state.signals).await?;
    ok(&ReloadAnswer { changed })
}
