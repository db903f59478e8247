//! Removing an upstream with everything that belongs to it.

use toolyard_core::ports::Change;

use super::{StoredUpstream, check::require_not_managed, find::find_owned};
use crate::{Actor, Platform, PlatformError};

/// Removes an upstream with its installs, authorizations and lists.
pub async fn remove(platform: &Platform, actor: &Actor, id: &str) -> Result<(), PlatformError> {
    let StoredUpstream { package, record, .. } = find_owned(platform, actor, id).await?;
    if !record.disabled {
        require_not_managed(&record)?;
    }
    platform.stores.apps.remove_app(&package).await?;
    platform.stores.announcements.announce(Change::UpstreamRemoved(package)).await;
    if record.details.for_all {
        platform.stores.announcements.announce(Change::SharedToolsChanged).await;
    }
    Ok(())
}
