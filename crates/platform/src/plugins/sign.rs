//! What a curator does with a plugin: audit, sign, publish in the catalogue.

use serde_json::json;
use toolyard_core::ports::{Change, PublishedPlugin};
use toolyard_protocol::{
    api::Role,
    audit::AuditAction,
    plugin::{ContentHash, Manifest},
};
use toolyard_trust::{AuditReport, audit_manifest, manifest_hash};

use super::manifest::{read_manifest, require_size};
use crate::{Actor, Platform, PlatformError, audit::AuditSubject};

/// Segments of this server's own routes: `/installed/{id}` and `/{id}/revoke`. A plugin with such a name could not be
/// fetched.
const RESERVED_ID: &str = "installed";
const RESERVED_VERSION: &str = "revoke";

/// The result of an audit, and the signed manifest if the audit passed.
#[derive(Debug)]
pub struct SignedPlugin {
    /// The hash of the content.
    pub content_hash: ContentHash,
    /// The audit report.
    pub report: AuditReport,
    /// The signed manifest, which is in the catalogue; None if the audit failed.
    pub manifest: Option<Manifest>,
}

/// Refuses everyone but curators and operators.
pub(super) fn require_curator(actor: &Actor) -> Result<(), PlatformError> {
    match actor {
        Actor::Person { role: Role::Curator | Role::Operator, .. } => Ok(()),
        _ => Err(PlatformError::forbidden("this needs a curator's or operator's token")),
    }
}

/// Audits a plugin; if the audit passes, signs and publishes it.
pub async fn sign(platform: &Platform, actor: &Actor, manifest: &str) -> Result<SignedPlugin, PlatformError> {
    require_curator(actor)?;
    platform.limits.check_costly(actor)?;
    let manifest = read_manifest(platform, manifest)?;
    if manifest.id.as_str() == RESERVED_ID {
        return Err(PlatformError::invalid(format!("`{RESERVED_ID}` cannot be the id of a plugin here")));
    }
    if manifest.version == RESERVED_VERSION {
        return Err(PlatformError::invalid(format!("`{RESERVED_VERSION}` cannot be a version here")));
    }
    let report = audit_manifest(&manifest);
    let content_hash = manifest_hash(&manifest)
        .map_err(|problem| PlatformError::invalid_with("the manifest cannot be signed", vec![problem]))?;
    if !report.passes {
        return Ok(SignedPlugin { content_hash, report, manifest: None });
    }
    let signed = platform.plugins.trust.sign(&manifest, platform.clock.now())?;
    // The signature adds to the size: a plugin that could not be installed must not be published.
    require_size(platform, signed.raw())?;
    publish_signed(platform, actor, &signed, &content_hash).await?;
    Ok(SignedPlugin { content_hash, report, manifest: Some(signed) })
}

async fn publish_signed(
    platform: &Platform,
    actor: &Actor,
    signed: &Manifest,
    hash: &ContentHash,
) -> Result<(), PlatformError> {
    let plugin = PublishedPlugin {
        id: signed.id.clone(),
        version: signed.version.clone(),
        name: signed.name.clone(),
        description: signed.description.clone(),
        publisher: signed.publisher.clone(),
        hash: hash.clone(),
        manifest: signed.raw().to_owned(),
        by: actor.name(),
        at: platform.clock.now(),
    };
    let most = platform.plugins.bounds.catalogue;
    if !platform.stores.published_plugins.publish_plugin(&plugin, most).await? {
        return Err(PlatformError::conflict(format!(
            "{} {} is in the catalogue with other content, or the catalogue has its {most} versions; raise the version",
            signed.id, signed.version
        )));
    }
    platform.stores.announcements.announce(Change::PluginCatalogueChanged).await;
    let detail = json!({ "version": plugin.version, "hash": hash, "publisher": plugin.publisher });
    platform.audit(actor, AuditAction::PluginPublished, AuditSubject::named(&plugin.id), detail).await;
    Ok(())
}
