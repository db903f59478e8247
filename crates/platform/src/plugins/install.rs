//! Installing a plugin for a user: parse, judge, check agreement and name conflicts, store.

use serde_json::json;
use toolyard_core::{
    catalog::ViewScope,
    ports::{Change, InstalledPlugin, PluginSwitch},
};
use toolyard_protocol::{
    LocalName, ToolName, UserId,
    audit::AuditAction,
    plugin::{Manifest, PluginId, PluginPermissions},
};
use toolyard_trust::{ManifestChange as PluginUpdate, PluginJudge as _, PluginVerdict, compare_manifests};

use super::{manifest::read_manifest, status_name};
use crate::{ActorOfUser, NeededAgreement, Platform, PlatformError, audit::AuditSubject};

/// A manifest or a plugin of the catalogue, and the permissions that the user grants.
#[derive(Debug, Default)]
pub struct InstallRequest {
    /// The manifest, as it was signed.
    pub manifest: Option<String>,
    /// A plugin of this server's catalogue, instead of a manifest.
    pub catalogue_id: Option<PluginId>,
    /// Its version; by default the latest published one.
    pub version: Option<String>,
    /// The permissions that the user grants; by default those granted to the previous version, or none.
    pub permissions: Option<PluginPermissions>,
    /// Whether the user accepts that an update has an older version, another publisher or another signer.
    pub accept_change: bool,
}

/// Installs a plugin, or another version of it.
pub async fn install(
    platform: &Platform,
    actor: &ActorOfUser,
    request: InstallRequest,
) -> Result<InstalledPlugin, PlatformError> {
    let (user, service) = (&actor.user, &platform.plugins);
    let runs = service.require_enabled()?;
    if request.permissions.is_some() || request.accept_change {
        actor.actor.refuse_client("only the user can agree to what a plugin may do")?;
    }
    let _one_at_a_time = service.installing.lock().await;
    let manifest = find_manifest(platform, &request).await?;
    let verdict = require_runnable(platform, &manifest)?;
    let before = platform.stores.plugins.find_installed(user, &manifest.id).await?;
    // The store also knows about stops before this process started.
    let was_stopped = before.as_ref().is_some_and(|before| {
        before.hash == verdict.content_hash && matches!(before.switch, PluginSwitch::Stopped(_))
    });
    if was_stopped || runs.was_killed_too_often(user, &verdict.content_hash) {
        let text =
            "this version had to be killed too often because it did not stop in time; install another one";
        return Err(PlatformError::conflict(text));
    }
    let granted = require_agreement(&request, &manifest, &verdict, before.as_ref())?;
    require_free_names(platform, user, &manifest).await?;

    let plugin = InstalledPlugin {
        id: manifest.id.clone(),
        version: manifest.version.clone(),
        manifest: manifest.raw().to_owned(),
        hash: verdict.content_hash,
        status: status_name(&verdict.status).to_owned(),
        granted,
        switch: PluginSwitch::On,
        at: before.map_or_else(|| platform.clock.now(), |before| before.at),
    };
    let most = service.bounds.per_user;
    if !platform.stores.plugins.put_plugin(user, &plugin, most).await? {
        return Err(PlatformError::conflict(format!("a user has at most {most} plugins; remove one first")));
    }

    platform.stores.announcements.announce(Change::ViewChanged(user.clone())).await;
    let detail = json!({
        "version": plugin.version,
        "hash": plugin.hash,
        "status": plugin.status,
        "permissions": plugin.granted,
    });
    let subject = AuditSubject::of_user(&plugin.id, user);
    platform.audit(&actor.actor, AuditAction::PluginInstalled, subject, detail).await;
    Ok(plugin)
}

async fn find_manifest(platform: &Platform, request: &InstallRequest) -> Result<Manifest, PlatformError> {
    let text = match (&request.manifest, &request.catalogue_id) {
        (Some(text), None) => text.clone(),
        (None, Some(id)) => {
            let version = request.version.as_deref();
            let found = platform.stores.published_plugins.find_published(id, version).await?;
            let version = version.unwrap_or("any version");
            let missing =
                || PlatformError::not_found(format_args!("plugin {id} ({version}) in the catalogue"));
            found.ok_or_else(missing)?.manifest
        }
        _ => return Err(PlatformError::invalid("send either `manifest` or `catalogueId`")),
    };
    read_manifest(platform, &text)
}

/// Fails unless the plugin may run.
fn require_runnable(platform: &Platform, manifest: &Manifest) -> Result<PluginVerdict, PlatformError> {
    let verdict = platform.plugins.trust.judge(manifest, None, platform.clock.now());
    let verdict = verdict
        .map_err(|problem| PlatformError::invalid_with("the manifest cannot be used", vec![problem]))?;
    if verdict.runs {
        return Ok(verdict);
    }
    let (id, status) = (&manifest.id, status_name(&verdict.status));
    Err(PlatformError::forbidden(format!("{id} is not run here ({status}): {}", verdict.reason)))
}

/// The granted permissions, or an error with what the user still has to agree to.
fn require_agreement(
    request: &InstallRequest,
    manifest: &Manifest,
    verdict: &PluginVerdict,
    before: Option<&InstalledPlugin>,
) -> Result<PluginPermissions, PlatformError> {
    let agreed = request.permissions.clone().or_else(|| before.map(|before| before.granted.clone()));
    let agreed = agreed.unwrap_or_default();
    let not_agreed = verdict.permissions.added_since(&agreed);
    let old = before.and_then(|before| Manifest::parse(before.manifest.as_bytes()).ok());
    let change = old.map(|old| compare_manifests(&old, manifest));
    let is_other =
        |change: &PluginUpdate| change.downgrade || change.publisher_changed || change.signer_changed;
    let asks_again = change.as_ref().is_some_and(is_other) && !request.accept_change;
    if not_agreed.is_empty() && !asks_again {
        return Ok(verdict.permissions.intersect(&agreed));
    }
    let message = if not_agreed.is_empty() {
        format!("{} changed in a way that the user has to agree to: see `change`", manifest.id)
    } else {
        format!("{} asks for more than the user agreed to: see `notAgreed`", manifest.id)
    };
    let asks_for = verdict.permissions.clone();
    Err(PlatformError::NeedsAgreement(Box::new(NeededAgreement { message, asks_for, not_agreed, change })))
}

/// Tools of two plugins must not have the same name, because clients show them without their package. No tool may have
/// the alias of another.
async fn require_free_names(
    platform: &Platform,
    user: &UserId,
    manifest: &Manifest,
) -> Result<(), PlatformError> {
    let own = manifest.id.package().ok_or_else(|| PlatformError::invalid("the id is too long"))?;
    let is_new = |name: &str| manifest.tools.iter().any(|tool| tool.name == name);
    let now = platform.clock.now();
    for other in
        platform.stores.plugins.list_installed(user).await?.iter().filter(|other| other.id != manifest.id)
    {
        let Ok(judged) = platform.plugins.trust.judge_text(&other.manifest, Some(&other.hash), now) else {
            continue;
        };
        if let Some(tool) = judged.manifest.tools.iter().find(|tool| is_new(&tool.name)) {
            let text = format!(
                "{}:{} and {}:{} have the same name; remove one of the two plugins",
                manifest.id, tool.name, judged.manifest.id, tool.name
            );
            return Err(PlatformError::conflict(text));
        }
    }
    let names = manifest.tools.iter().filter_map(|tool| tool.name.parse::<LocalName>().ok());
    let new: Vec<ToolName> = names.map(|name| ToolName::new(&own, &name)).collect();
    let view = platform.catalog.view(user, ViewScope::Everything).await?;
    for tool in view.tools().filter(|tool| *tool.name.package() != own) {
        if let Some(name) = new.iter().find(|name| name.alias() == tool.alias) {
            let text = format!("{name} and {} have the same alias, {}", tool.name, tool.alias);
            return Err(PlatformError::conflict(text));
        }
    }
    Ok(())
}
