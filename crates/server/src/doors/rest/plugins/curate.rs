//! What curators do: audit a plugin, sign it, revoke it.

use axum::extract::State;
use http::Method;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use toolyard_platform::{
    PlatformError,
    plugins::{self, RevokeRequest},
};
use toolyard_protocol::{
    plugin::{ContentHash, Manifest},
    raw::to_raw,
};
use toolyard_trust::Report;

use super::{
    super::{Answer, ok},
    id_of,
};
use crate::{
    auth::{Anybody, Curator},
    body::{JsonBody, LargeJsonBody},
    extract::Path,
    routes::{Access, Route},
    state::AppState,
};

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
    Curator(actor): Curator,
    LargeJsonBody(body): LargeJsonBody<SignBody>,
) -> Answer {
    let signed = plugins::sign(&state.platform, &actor, body.manifest.get()).await?;
    let raw =
        |manifest: Manifest| RawValue::from_string(manifest.raw().to_owned()).unwrap_or_else(|_| to_raw(&()));
    ok(&SignAnswer {
        signed: signed.manifest.is_some(),
        content_hash: signed.content_hash,
        report: signed.report,
        manifest: signed.manifest.map(raw),
    })
}

async fn revoke(
    State(state): State<AppState>,
    Curator(actor): Curator,
    Path(id): Path<String>,
    JsonBody(RevokeBody { version, content_hash, reason }): JsonBody<RevokeBody>,
) -> Answer {
    let request = RevokeRequest { version, content_hash, reason };
    ok(&RevokeAnswer { revoked: plugins::revoke(&state.platform, &actor, id_of(&id)?, request).await? })
}

async fn reload(State(state): State<AppState>, Anybody(_): Anybody) -> Answer {
    let changed = plugins::reload_lists(&state.platform).await.map_err(PlatformError::from)?;
    ok(&ReloadAnswer { changed })
}
