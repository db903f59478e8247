//! Granting or revoking an app's permission to call the tools of other apps for a user.

use serde_json::json;
use toolyard_core::ports::Change;
use toolyard_protocol::{PackageName, audit::AuditAction};

use crate::{ActorOfUser, Platform, PlatformError, audit::AuditSubject};

/// Gives or revokes the assistant grant of an installed app.
pub async fn grant_assistant(
    platform: &Platform,
    actor: &ActorOfUser,
    package: &PackageName,
    granted: bool,
) -> Result<(), PlatformError> {
    if granted {
        actor.actor.refuse_client("only the user can let an app call the tools of other apps")?;
    }
    if !platform.stores.installs.set_assistant_grant(&actor.user, package, granted).await? {
        return Err(PlatformError::not_found(format_args!("install of {package}")));
    }
    platform.stores.announcements.announce(Change::ViewChanged(actor.user.clone())).await;
    let subject = AuditSubject::of_user(package, &actor.user);
    platform
        .audit(&actor.actor, AuditAction::AppAssistantGrantChanged, subject, json!({ "granted": granted }))
        .await;
    Ok(())
}
