//! Removing an upstream with everything that belongs to it.

use serde_json::json;
use toolyard_core::ports::Change;
use toolyard_protocol::audit::AuditAction;

use super::{StoredUpstream, check::require_not_managed, find::find_owned};
use crate::{Actor, Platform, PlatformError, audit::AuditSubject};

/// Removes an upstream with its installs, authorizations and lists.
pub async fn remove(platform: &Platform, actor: &Actor, id: &str) -> Result<(), PlatformError> {
    let StoredUpstream { package, owner, record } = find_owned(platform, actor, id).await?;
    if !record.disabled {
        require_not_managed(&record)?;
    }
    platform.stores.apps.remove_app(&package).await?;
    platform.stores.announcements.announce(Change::UpstreamRemoved(package.clone())).await;
    if record.details.for_all {
        platform.stores.announcements.announce(Change::SharedToolsChanged).await;
    }
    let detail = json!({ "owner": owner });
    platform.audit(actor, AuditAction::UpstreamRemoved, AuditSubject::named(package), detail).await;
    Ok(())
}
