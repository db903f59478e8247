//! Uninstalling an app for a user, with its stored data.

use serde_json::json;
use toolyard_core::ports::Change;
use toolyard_protocol::{PackageName, audit::AuditAction};

use crate::{ActorOfUser, Platform, PlatformError, audit::AuditSubject};

/// Uninstalls an app or an upstream with its settings, grants, stored data and authorizations. A running app is
/// stopped.
pub async fn uninstall(
    platform: &Platform,
    actor: &ActorOfUser,
    package: &PackageName,
) -> Result<(), PlatformError> {
    if !platform.stores.installs.uninstall_app(&actor.user, package).await? {
        return Err(PlatformError::not_found(format_args!("install of {package}")));
    }
    let change = Change::AppUninstalled { user: actor.user.clone(), package: package.clone() };
    platform.stores.announcements.announce(change).await;
    let subject = AuditSubject::of_user(package, &actor.user);
    platform.audit(&actor.actor, AuditAction::AppUninstalled, subject, json!({})).await;
    Ok(())
}
