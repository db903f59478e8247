//! Withdrawing a user's authorization of an upstream.

use toolyard_core::ports::Change;

use super::find::find_for_user;
use crate::{ActorOfUser, Platform, PlatformError};

/// Removes the user's tokens of an upstream; its connections for the user are closed.
pub async fn forget_authorization(
    platform: &Platform,
    actor: &ActorOfUser,
    id: &str,
) -> Result<(), PlatformError> {
    let upstream = find_for_user(platform, &actor.user, id).await?;
    platform.stores.upstream_tokens.set_token(&upstream.package, &actor.user, None).await?;
    let change = Change::AuthorizationChanged { user: actor.user.clone(), package: upstream.package };
    platform.stores.announcements.announce(change).await;
    Ok(())
}
