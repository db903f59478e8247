//! A client gives its tokens back, or asks whether one is valid.

use toolyard_authorization::client_auth::AuthenticatedClient;
use toolyard_core::ports::ClientGrant;
use toolyard_protocol::{TokenId, audit::AuditAction, secret::SecretText};

use super::{audit_grant, disconnect::end_grant, issue::refresh_keys};
use crate::{Platform, PlatformError};

/// The grant of an access or refresh token of this client, if the token is valid. An access token has the id of its grant.
pub async fn find_token(
    platform: &Platform,
    who: &AuthenticatedClient,
    token: &SecretText,
) -> Result<Option<ClientGrant>, PlatformError> {
    find_grant(platform, who, token, |presented, current| presented == current).await
}

/// Which generations of a refresh token count.
async fn find_grant(
    platform: &Platform,
    who: &AuthenticatedClient,
    token: &SecretText,
    counts: fn(u32, u32) -> bool,
) -> Result<Option<ClientGrant>, PlatformError> {
    let now = platform.clock.now();
    let refresh = refresh_keys(platform).and_then(|keys| keys.read_token(token.expose()));
    let id: Option<TokenId> = match refresh {
        Some(refresh) => refresh.grant.to_string().parse().ok(),
        None => platform.tokens.verify(token.expose(), now).ok().and_then(|claims| claims.jti.clone()),
    };
    let Some(id) = id else { return Ok(None) };
    let grant = platform.stores.oauth.find_client_grant(&id).await?;
    let is_valid = |grant: &ClientGrant| {
        let is_current = refresh.is_none_or(|refresh| counts(refresh.generation, grant.generation));
        grant.client_id == who.id().as_str()
            && grant.revoked_at.is_none()
            && grant.expires_at > now
            && is_current
    };
    Ok(grant.filter(is_valid))
}

/// Revokes a token of this client with everything that follows from its grant. A token that is not valid, or another client's,
/// is left alone, and the client learns nothing about it (RFC 7009).
pub async fn revoke_token(
    platform: &Platform,
    who: &AuthenticatedClient,
    token: &SecretText,
) -> Result<(), PlatformError> {
    // A refresh token that was rotated out also ends the connection.
    if let Some(grant) = find_grant(platform, who, token, |presented, current| presented <= current).await?
        && let Some(ended) = end_grant(platform, &grant.id, None).await?
    {
        let (subject, detail) = audit_grant(&ended);
        let action = AuditAction::ClientDisconnected;
        platform.audit_client(&ended.client_id, action, subject, detail).await;
    }
    Ok(())
}
