//! What curators do: audit a plugin, sign it, revoke it.

use std::sync::Arc;

use axum::extract::State;
use http::Method;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use toolyard_platform::Platform;
use toolyard_platform::{
    PlatformError,
    plugins::{self, RevokeRequest},
};
use toolyard_protocol::{
    plugin::{ContentHash, Manifest},
    raw::to_raw,
};
use toolyard_trust::AuditReport;

use super::{
    super::{HandlerResult, ok_json},
    parse_plugin_id,
};
use crate::{
    auth::{CuratorActor, KnownActor},
    body::{JsonBody, LargeJsonBody},
    extract::PathParams,
    routes::{Route, RouteAccess},
    state::ServerState,
};

pub(super) fn routes() -> Vec<Route> {
    vec![
        Route::audited(
            Method::POST,
            "/api/plugins/sign",
            RouteAccess::Curator,
            "Audits a plugin; if it passes, signs it and adds it to the catalogue",
            sign_plugin,
        )
        .request_body::<SignBody>()
        .response_body::<SignAnswer>(),
        Route::audited(
            Method::POST,
            "/api/plugins/{id}/revoke",
            RouteAccess::Curator,
            "Revokes a plugin permanently: one version, one content hash, or all of it",
            revoke_plugin,
        )
        .request_body::<RevokeBody>()
        .response_body::<RevokeAnswer>(),
        Route::new(
            Method::POST,
            "/api/plugins/reload",
            RouteAccess::Operator,
            "Reloads the key list and the revocation list",
            reload_lists,
        )
        .response_body::<ReloadAnswer>(),
    ]
}

/// Body of `POST /api/plugins/sign`.
#[derive(Deserialize, schemars::JsonSchema)]
struct SignBody {
    /// The manifest.
    #[schemars(with = "serde_json::Map<String, serde_json::Value>")]
    manifest: Box<RawValue>,
}

/// The result of an audit.
#[derive(Serialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
struct SignAnswer {
    /// Whether it was signed and added to the catalogue.
    signed: bool,
    content_hash: ContentHash,
    /// The findings: `{passes, findings: [{severity, code, place, text}]}`.
    #[schemars(with = "serde_json::Map<String, serde_json::Value>")]
    report: AuditReport,
    /// The signed manifest.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<serde_json::Map<String, serde_json::Value>>")]
    manifest: Option<Box<RawValue>>,
}

/// Body of `POST /api/plugins/{id}/revoke`. Without version and hash, it revokes every version.
#[derive(Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct RevokeBody {
    /// A version in the catalogue.
    version: Option<String>,
    /// A content hash, under any id.
    content_hash: Option<ContentHash>,
    /// The reason, for people.
    #[serde(default)]
    reason: String,
}

#[derive(Serialize, schemars::JsonSchema)]
struct RevokeAnswer {
    /// False if it was revoked already.
    revoked: bool,
}

#[derive(Serialize, schemars::JsonSchema)]
struct ReloadAnswer {
    /// Whether a list changed.
    changed: bool,
}

async fn sign_plugin(
    State(platform): State<Arc<Platform>>,
    CuratorActor(actor): CuratorActor,
    LargeJsonBody(body): LargeJsonBody<SignBody>,
) -> HandlerResult {
    let signed = plugins::sign(&platform, &actor, body.manifest.get()).await?;
    let raw =
        |manifest: Manifest| RawValue::from_string(manifest.raw().to_owned()).unwrap_or_else(|_| to_raw(&()));
    ok_json(&SignAnswer {
        signed: signed.manifest.is_some(),
        content_hash: signed.content_hash,
        report: signed.report,
        manifest: signed.manifest.map(raw),
    })
}

async fn revoke_plugin(
    State(state): State<ServerState>,
    CuratorActor(actor): CuratorActor,
    PathParams(id): PathParams<String>,
    JsonBody(RevokeBody { version, content_hash, reason }): JsonBody<RevokeBody>,
) -> HandlerResult {
    let request = RevokeRequest { version, content_hash, reason };
    ok_json(&RevokeAnswer {
        revoked: plugins::revoke(&state.platform, &actor, parse_plugin_id(&id)?, request).await?,
    })
}

async fn reload_lists(State(platform): State<Arc<Platform>>, KnownActor(_): KnownActor) -> HandlerResult {
    let changed = plugins::reload_lists(&platform).await.map_err(PlatformError::from)?;
    ok_json(&ReloadAnswer { changed })
}
