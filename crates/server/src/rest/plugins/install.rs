//! `POST /api/plugins/installed`: read, judge, agree, look for clashes, keep.

use axum::{extract::State, response::IntoResponse as _};
use http::StatusCode;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use toolyard_core::{
    catalog::Scope,
    ports::{Change as News, InstalledPlugin, Switch},
};
use toolyard_protocol::{
    LocalName, ToolName, UserId,
    api::{ApiError, ApiErrorCode},
    plugin::{Manifest, Permissions, PluginId},
};
use toolyard_sources::PluginSource;
use toolyard_trust::{Change, Verdict, compare};

use super::{
    super::Answer,
    installed::{source, summary},
    status_word,
};
use crate::{
    auth::ForUser,
    body::LargeJsonBody,
    error::{Failure, json},
    state::AppState,
};

/// Body of `POST /api/plugins/installed`: a manifest, or a plugin of the catalogue.
#[derive(Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct InstallBody {
    /// The manifest, as it was signed.
    #[serde(default)]
    #[schemars(with = "Option<serde_json::Map<String, serde_json::Value>>")]
    manifest: Option<Box<RawValue>>,
    /// A plugin of this server's catalogue, in place of a manifest.
    #[serde(default)]
    catalogue_id: Option<PluginId>,
    /// Its version; without it the one that was published last.
    #[serde(default)]
    version: Option<String>,
    /// What the user agrees to. Without it: what was agreed to for the version before, or nothing.
    #[serde(default)]
    permissions: Option<Permissions>,
    /// Whether the user agrees that an update has an older version, another publisher or another signer.
    #[serde(default)]
    accept_change: bool,
}

/// The answer where the user has to agree first.
#[derive(Serialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct NeedsAgreement {
    error: ApiError,
    /// All that it asks for: send it as `permissions` to agree.
    asks_for: Permissions,
    /// What of that was not agreed to.
    not_agreed: Permissions,
    /// What an update changes; where it asks again, `acceptChange` is needed.
    #[schemars(with = "Option<serde_json::Map<String, serde_json::Value>>")]
    change: Option<Change>,
}

pub(super) async fn handler(
    State(state): State<AppState>,
    who: ForUser,
    LargeJsonBody(body): LargeJsonBody<InstallBody>,
) -> Answer {
    let source = source(&state)?;
    let _one_at_a_time = state.plugins.installing.lock().await;
    let manifest = read(&state, &body).await?;
    let verdict = judged(&state, &manifest)?;
    let before = state.stores.plugins.plugin(&who.user, &manifest.id).await?;
    // The store remembers also what this process never ran.
    let stopped = before.as_ref().is_some_and(|before| {
        before.hash == verdict.content_hash && matches!(before.switch, Switch::Stopped(_))
    });
    if stopped || source.got_stuck(&who.user, &verdict.content_hash) {
        let text =
            "this version had to be killed too often because it did not stop in time; install another one";
        return Err(conflict(text));
    }
    let granted = match agreed(&body, &manifest, &verdict, before.as_ref()) {
        Ok(granted) => granted,
        Err(needs) => return Ok(json(StatusCode::CONFLICT, &*needs).into_response()),
    };
    clashes(&state, source, &who.user, &manifest).await?;
    let row = InstalledPlugin {
        id: manifest.id.clone(),
        version: manifest.version.clone(),
        manifest: manifest.raw().to_owned(),
        hash: verdict.content_hash,
        status: status_word(&verdict.status).to_owned(),
        granted,
        switch: Switch::On,
        at: before.map_or_else(|| state.clock.now(), |before| before.at),
    };
    let most = state.config.plugins.per_user;
    if !state.stores.plugins.put_plugin(&who.user, &row, most).await? {
        return Err(conflict(format!("a user has at most {most} plugins; remove one first")));
    }
    state.signals.publish(News::View(who.user.clone()));
    Ok(json(StatusCode::CREATED, &summary(source.load(&who.user, row))))
}

fn conflict(text: impl Into<String>) -> Failure {
    Failure::new(ApiErrorCode::Conflict, text)
}

async fn read(state: &AppState, body: &InstallBody) -> Result<Manifest, Failure> {
    let text = match (&body.manifest, &body.catalogue_id) {
        (Some(raw), None) => raw.get().to_owned(),
        (None, Some(id)) => {
            let found = state.stores.published.published_version(id, body.version.as_deref()).await?;
            let version = body.version.as_deref().unwrap_or("any version");
            found
                .ok_or_else(|| Failure::not_found(format_args!("plugin {id} ({version}) in the catalogue")))?
                .manifest
        }
        _ => return Err(Failure::invalid("send either `manifest` or `catalogueId`")),
    };
    manifest(state, &text)
}

/// Whether a manifest is small enough for this server.
pub(super) fn fits(state: &AppState, text: &str) -> Result<(), Failure> {
    let most = state.config.plugins.manifest_bytes;
    if text.len() <= most {
        return Ok(());
    }
    let text = format!("the manifest has {} bytes; at most {most}", text.len());
    Err(Failure::new(ApiErrorCode::TooLarge, text))
}

/// A manifest within the bounds of this server.
pub(super) fn manifest(state: &AppState, text: &str) -> Result<Manifest, Failure> {
    fits(state, text)?;
    let manifest = Manifest::read(text.as_bytes())
        .map_err(|error| Failure::problems("the manifest cannot be used", error.problems))?;
    let host = semver::Version::parse(env!("CARGO_PKG_VERSION"));
    if host.is_ok_and(|host| manifest.needs_newer_host(&host)) {
        return Err(conflict("the plugin needs a newer server than this one"));
    }
    Ok(manifest)
}

/// Only what may run is installed.
fn judged(state: &AppState, manifest: &Manifest) -> Result<Verdict, Failure> {
    let verdict = state.plugins.trust.judge(manifest, None, state.clock.now());
    let verdict =
        verdict.map_err(|problem| Failure::problems("the manifest cannot be used", vec![problem]))?;
    if verdict.runs {
        return Ok(verdict);
    }
    let text =
        format!("{} is not run here ({}): {}", manifest.id, status_word(&verdict.status), verdict.reason);
    Err(Failure::new(ApiErrorCode::Forbidden, text))
}

/// What the user agreed to, or what they still have to agree to.
fn agreed(
    body: &InstallBody,
    manifest: &Manifest,
    verdict: &Verdict,
    before: Option<&InstalledPlugin>,
) -> Result<Permissions, Box<NeedsAgreement>> {
    let agreed = body.permissions.clone().or_else(|| before.map(|before| before.granted.clone()));
    let agreed = agreed.unwrap_or_default();
    let not_agreed = verdict.permissions.beyond(&agreed);
    let old = before.and_then(|before| Manifest::read(before.manifest.as_bytes()).ok());
    let change = old.map(|old| compare(&old, manifest));
    let other = |change: &Change| change.downgrade || change.publisher_changed || change.signer_changed;
    let asks_again = change.as_ref().is_some_and(other) && !body.accept_change;
    if not_agreed.is_empty() && !asks_again {
        return Ok(verdict.permissions.within(&agreed));
    }
    let message = if not_agreed.is_empty() {
        format!("{} changed in a way that the user has to agree to: see `change`", manifest.id)
    } else {
        format!("{} asks for more than the user agreed to: see `notAgreed`", manifest.id)
    };
    let error = ApiError { code: ApiErrorCode::Conflict, message, problems: Vec::new() };
    Err(Box::new(NeedsAgreement { error, asks_for: verdict.permissions.clone(), not_agreed, change }))
}

/// Tools of two plugins must not have the same name: clients show them without their package. And no tool may have the
/// alias of another.
async fn clashes(
    state: &AppState,
    source: &PluginSource,
    user: &UserId,
    manifest: &Manifest,
) -> Result<(), Failure> {
    let own = manifest.id.package().ok_or_else(|| Failure::invalid("the id is too long"))?;
    let is_new = |name: &str| manifest.tools.iter().any(|tool| tool.name == name);
    for row in state.stores.plugins.plugins(user).await? {
        let other = source.load(user, row);
        let Some(theirs) = other.manifest.filter(|_| other.row.id != manifest.id) else { continue };
        if let Some(tool) = theirs.tools.iter().find(|tool| is_new(&tool.name)) {
            let text = format!(
                "{}:{} and {}:{} have the same name; remove one of the two plugins",
                manifest.id, tool.name, theirs.id, tool.name
            );
            return Err(conflict(text));
        }
    }
    let names = manifest.tools.iter().filter_map(|tool| tool.name.parse::<LocalName>().ok());
    let new: Vec<ToolName> = names.map(|name| ToolName::new(&own, &name)).collect();
    let view = state.catalog.view(user, Scope::Everything).await?;
    for tool in view.tools().filter(|tool| *tool.name.package() != own) {
        if let Some(name) = new.iter().find(|name| name.alias() == tool.alias) {
            let text = format!("{name} and {} have the same alias, {}", tool.name, tool.alias);
            return Err(conflict(text));
        }
    }
    Ok(())
}
