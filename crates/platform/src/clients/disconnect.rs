//! Disconnecting a client: its tokens are refused from now on, and its streams and sockets end.

use toolyard_core::ports::Change;
use toolyard_protocol::{TokenId, UserId};

use crate::{ActorOfUser, Platform, PlatformError};

/// Disconnects a client of the user.
pub async fn disconnect(platform: &Platform, actor: &ActorOfUser, id: &TokenId) -> Result<(), PlatformError> {
    if end_grant(platform, id, Some(&actor.user)).await? {
        return Ok(());
    }
    Err(PlatformError::not_found(format_args!("connected client {id}")))
}

/// Revokes a grant, of this user if one is given. False if there is none, or it was revoked before.
pub(super) async fn end_grant(
    platform: &Platform,
    id: &TokenId,
    user: Option<&UserId>,
) -> Result<bool, PlatformError> {
    let revoked = platform.stores.oauth.revoke_client_grant(id, user, platform.clock.now()).await?;
    let Some(grant) = revoked else { return Ok(false) };
    tracing::info!(user = %grant.user, client = grant.client_id, grant = %id, "client disconnected");
    let change = Change::TokenRevoked {
        id: grant.id,
        subject: grant.user.as_str().into(),
        expires_at: grant.expires_at,
    };
    platform.stores.announcements.announce(change).await;
    Ok(true)
}
