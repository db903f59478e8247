//! `POST /api/plugins/installed`.

use axum::extract::State;
use http::StatusCode;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use toolyard_platform::{
    NeededAgreement, PlatformError,
    plugins::{self, InstallRequest},
};
use toolyard_protocol::{
    api::{ApiError, ApiErrorCode},
    plugin::{PluginId, PluginPermissions},
};
use toolyard_trust::ManifestChange;

use super::{
    super::HandlerResult,
    installed::{plugin_source, plugin_summary},
};
use crate::{auth::TargetUser, body::LargeJsonBody, error::json_response, state::ServerState};

/// Body of `POST /api/plugins/installed`: a manifest, or a plugin from the catalogue.
#[derive(Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct InstallBody {
    /// The manifest, as it was signed.
    #[serde(default)]
    #[schemars(with = "Option<serde_json::Map<String, serde_json::Value>>")]
    manifest: Option<Box<RawValue>>,
    /// A plugin from this server's catalogue, instead of a manifest.
    #[serde(default)]
    catalogue_id: Option<PluginId>,
    /// Its version. Default: the one published last.
    #[serde(default)]
    version: Option<String>,
    /// The permissions that the user grants. Default: those granted to the previous version, or none.
    #[serde(default)]
    permissions: Option<PluginPermissions>,
    /// Whether the user accepts an update with an older version, another publisher or another signer.
    #[serde(default)]
    accept_change: bool,
}

/// The response if the user must agree first.
#[derive(Serialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct NeedsAgreement {
    error: ApiError,
    /// All requested permissions: send them as `permissions` to agree.
    asks_for: PluginPermissions,
    /// Requested permissions that were not granted.
    not_agreed: PluginPermissions,
    /// What an update changes. Some changes require `acceptChange`.
    #[schemars(with = "Option<serde_json::Map<String, serde_json::Value>>")]
    change: Option<ManifestChange>,
}

pub(super) async fn install_plugin(
    State(state): State<ServerState>,
    who: TargetUser,
    LargeJsonBody(body): LargeJsonBody<InstallBody>,
) -> HandlerResult {
    let source = plugin_source(&state)?;
    let user = who.user.clone();
    let InstallBody { manifest, catalogue_id, version, permissions, accept_change } = body;
    let manifest = manifest.map(|raw| raw.get().to_owned());
    let request = InstallRequest { manifest, catalogue_id, version, permissions, accept_change };
    match plugins::install(&state.platform, &who.into(), request).await {
        Ok(plugin) => {
            Ok(json_response(StatusCode::CREATED, &plugin_summary(source.load_plugin(&user, plugin))))
        }
        Err(PlatformError::NeedsAgreement(needed)) => {
            let NeededAgreement { message, asks_for, not_agreed, change } = *needed;
            let error = ApiError { code: ApiErrorCode::Conflict, message, problems: Vec::new() };
            Ok(json_response(StatusCode::CONFLICT, &NeedsAgreement { error, asks_for, not_agreed, change }))
        }
        Err(error) => Err(error.into()),
    }
}
