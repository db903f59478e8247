//! Removing an app with everything that belongs to it.

use serde_json::json;
use toolyard_core::ports::Change;
use toolyard_protocol::{PackageName, audit::AuditAction};

use super::find::find_owned;
use crate::{Actor, Platform, PlatformError, audit::AuditSubject};

/// Removes an app with its tools, installs, settings and stored data. Running instances are stopped.
pub async fn remove(platform: &Platform, actor: &Actor, package: &PackageName) -> Result<(), PlatformError> {
    let app = find_owned(platform, actor, package).await?;
    actor.require_person("an app key cannot remove the app; use a developer's token")?;
    platform.stores.apps.remove_app(package).await?;
    platform.stores.announcements.announce(Change::AppRemoved(package.clone())).await;
    let detail = json!({ "owner": app.owner });
    platform.audit(actor, AuditAction::AppRemoved, AuditSubject::named(package), detail).await;
    Ok(())
}
