//! Withdrawing a user's authorization of an upstream.

use serde_json::json;
use toolyard_core::ports::Change;
use toolyard_protocol::audit::AuditAction;

use super::find::find_for_user;
use crate::{ActorOfUser, Platform, PlatformError, audit::AuditSubject};

/// Removes the user's tokens of an upstream; its connections for the user are closed.
pub async fn forget_authorization(
    platform: &Platform,
    actor: &ActorOfUser,
    id: &str,
) -> Result<(), PlatformError> {
    let upstream = find_for_user(platform, &actor.user, id).await?;
    platform.stores.upstream_tokens.set_token(&upstream.package, &actor.user, None).await?;
    let subject = AuditSubject::of_user(&upstream.package, &actor.user);
    let change = Change::AuthorizationChanged { user: actor.user.clone(), package: upstream.package };
    platform.stores.announcements.announce(change).await;
    platform.audit(&actor.actor, AuditAction::UpstreamAuthorizationRemoved, subject, json!({})).await;
    Ok(())
}
