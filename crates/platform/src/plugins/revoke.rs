//! Revoking plugins, and reloading the lists of keys and revocations.

use serde_json::json;
use toolyard_core::ports::Change;
use toolyard_protocol::{
    audit::AuditAction,
    plugin::{ContentHash, PluginId},
    text::truncate_chars,
};
use toolyard_trust::RevokedPlugin;

use super::{TrustError, sign::require_curator};
use crate::{Actor, Platform, PlatformError, audit::AuditSubject};

/// How much of the reason the audit log keeps, in characters.
const MAX_AUDITED_REASON: usize = 200;

/// What to revoke. Without version and hash, every version of the plugin is revoked.
#[derive(Debug, Default)]
pub struct RevokeRequest {
    /// A version of the catalogue.
    pub version: Option<String>,
    /// A content hash, under any id.
    pub content_hash: Option<ContentHash>,
    /// The reason, for people.
    pub reason: String,
}

/// Revokes a plugin permanently. False if it had been revoked before.
pub async fn revoke(
    platform: &Platform,
    actor: &Actor,
    id: PluginId,
    request: RevokeRequest,
) -> Result<bool, PlatformError> {
    require_curator(actor)?;
    let content_hash = match (request.content_hash, &request.version) {
        (Some(hash), None) => Some(hash),
        (None, None) => None,
        (None, Some(version)) => {
            let found = platform.stores.published_plugins.find_published(&id, Some(version)).await?;
            let missing =
                || PlatformError::not_found(format_args!("version {version} of {id} in the catalogue"));
            Some(found.ok_or_else(missing)?.hash)
        }
        (Some(_), Some(_)) => return Err(PlatformError::invalid("send either `version` or `contentHash`")),
    };
    let subject = AuditSubject::named(&id);
    let detail = json!({
        "version": request.version,
        "hash": content_hash,
        "reason": truncate_chars(&request.reason, MAX_AUDITED_REASON),
    });
    let plugin = RevokedPlugin { id, content_hash, reason: request.reason };
    let revoked = platform.plugins.trust.revoke(plugin, platform.clock.now()).await?;
    // Any user may have it: all views are rebuilt, and calls check the verdict again before they run.
    platform.stores.announcements.announce(Change::PluginListsChanged).await;
    if revoked {
        platform.audit(actor, AuditAction::PluginRevoked, subject, detail).await;
    }
    Ok(revoked)
}

/// Reloads the lists of keys and revocations. True if one changed.
pub async fn reload_lists(platform: &Platform) -> Result<bool, TrustError> {
    let is_new = platform.plugins.trust.refresh(platform.clock.now()).await?;
    if is_new {
        platform.stores.announcements.announce(Change::PluginListsChanged).await;
    }
    Ok(is_new)
}
