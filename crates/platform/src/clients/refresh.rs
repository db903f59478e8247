//! A client gets its next tokens.

use toolyard_authorization::{
    client::OAuthClient,
    client_auth::AuthenticatedClient,
    refresh::{GrantState, RefreshDecision, decide_rotation},
    token_request::{GrantError, TokenError, TokenRequest},
    token_response::TokenResponse,
};
use toolyard_core::ports::ClientGrant;
use toolyard_protocol::{TokenId, secret::SecretText};

use super::{
    issue::{issue_tokens, refresh_keys},
    redeem::{granted_scopes, revoke, store_failed},
};
use crate::Platform;

/// How often a decision is repeated because another request of the client was faster.
const MAX_ATTEMPTS: usize = 3;

/// Renews the tokens of a grant. The refresh token is replaced; for a short time the one before gets the same successor,
/// because processes of a client share it. Later it is a sign of theft and ends the grant.
pub async fn refresh(
    platform: &Platform,
    client: &OAuthClient,
    who: &AuthenticatedClient,
    token: &SecretText,
    request: &TokenRequest,
) -> Result<TokenResponse, TokenError> {
    let keys = refresh_keys(platform).ok_or(TokenError::ServerError)?;
    let token = keys.read_token(token.expose()).ok_or(GrantError::RefreshUnknown)?;
    let id: TokenId = token.grant.to_string().parse().map_err(|_| GrantError::RefreshUnknown)?;
    for _ in 0..MAX_ATTEMPTS {
        let grant = platform.stores.oauth.find_client_grant(&id).await.map_err(store_failed)?;
        let grant = grant.ok_or(GrantError::RefreshUnknown)?;
        if grant.client_id != who.id().as_str() {
            return Err(GrantError::RefreshClient.into());
        }
        // Before anything changes: a request that asks for too much must not use up the token.
        let scopes = request.effective_scopes(&granted_scopes(&grant))?;
        let now = platform.clock.now();
        let generation = match decide_rotation(&grant_state(&grant), token.generation, now) {
            RefreshDecision::Rotate { next } => {
                let rotated = platform.stores.oauth.rotate_client_grant(&id, token.generation, now).await;
                if !rotated.map_err(store_failed)? {
                    continue;
                }
                next
            }
            RefreshDecision::RepeatSuccessor { current } => current,
            RefreshDecision::Replay => {
                revoke(platform, &id, "refresh token used again").await;
                return Err(GrantError::RefreshReplayed.into());
            }
            RefreshDecision::NotIssued => return Err(GrantError::RefreshUnknown.into()),
            RefreshDecision::Expired => return Err(GrantError::RefreshExpired.into()),
            RefreshDecision::Revoked => return Err(GrantError::RefreshRevoked.into()),
        };
        return issue_tokens(platform, client, &grant, &scopes, generation);
    }
    Err(TokenError::TemporarilyUnavailable)
}

fn grant_state(grant: &ClientGrant) -> GrantState {
    GrantState {
        generation: grant.generation,
        rotated_at: grant.rotated_at,
        is_revoked: grant.revoked_at.is_some(),
        expires_at: grant.expires_at,
    }
}
