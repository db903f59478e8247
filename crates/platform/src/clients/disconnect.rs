//! Disconnecting a client: its tokens are refused from now on, and its streams and sockets end.

use toolyard_core::ports::{Change, ClientGrant};
use toolyard_protocol::{TokenId, UserId, audit::AuditAction};

use super::audit_grant;
use crate::{ActorOfUser, Platform, PlatformError};

/// Disconnects a client of the user.
pub async fn disconnect(platform: &Platform, actor: &ActorOfUser, id: &TokenId) -> Result<(), PlatformError> {
    let ended = end_grant(platform, id, Some(&actor.user)).await?;
    let grant = ended.ok_or_else(|| PlatformError::not_found(format_args!("connected client {id}")))?;
    let (subject, detail) = audit_grant(&grant);
    platform.audit(&actor.actor, AuditAction::ClientDisconnected, subject, detail).await;
    Ok(())
}

/// Revokes a grant, of this user if one is given. None if there is none, or it was revoked before. The caller records it.
pub(super) async fn end_grant(
    platform: &Platform,
    id: &TokenId,
    user: Option<&UserId>,
) -> Result<Option<ClientGrant>, PlatformError> {
    let revoked = platform.stores.oauth.revoke_client_grant(id, user, platform.clock.now()).await?;
    let Some(grant) = revoked else { return Ok(None) };
    tracing::info!(user = %grant.user, client = grant.client_id, grant = %id, "client disconnected");
    let change = Change::TokenRevoked {
        id: grant.id.clone(),
        subject: grant.user.as_str().into(),
        expires_at: grant.expires_at,
    };
    platform.stores.announcements.announce(change).await;
    Ok(Some(grant))
}
