//! Installing an app for a user.

use serde_json::json;
use toolyard_core::ports::Change;
use toolyard_protocol::{PackageName, audit::AuditAction};

use crate::{ActorOfUser, Platform, PlatformError, audit::AuditSubject};

/// Installs an app. Installing it twice changes nothing.
pub async fn install(
    platform: &Platform,
    actor: &ActorOfUser,
    package: &PackageName,
) -> Result<(), PlatformError> {
    if !platform.stores.installs.install_app(&actor.user, package, platform.clock.now()).await? {
        return Err(PlatformError::not_found(format_args!("app {package}")));
    }
    platform.stores.announcements.announce(Change::ViewChanged(actor.user.clone())).await;
    let subject = AuditSubject::of_user(package, &actor.user);
    platform.audit(&actor.actor, AuditAction::AppInstalled, subject, json!({})).await;
    Ok(())
}
