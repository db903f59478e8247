//! Tokens of a grant.

use toolyard_authorization::{
    client::OAuthClient,
    grant_type::GrantType,
    refresh::{GrantId, RefreshKeys, RefreshToken},
    scope::ScopeSet,
    token_request::TokenError,
    token_response::{TokenKind, TokenResponse},
};
use toolyard_core::ports::ClientGrant;
use toolyard_protocol::secret::SecretText;

use crate::Platform;

/// Signs the tokens of a grant. The refresh token is the one of this generation.
pub(super) fn issue_tokens(
    platform: &Platform,
    client: &OAuthClient,
    grant: &ClientGrant,
    scopes: &ScopeSet,
    generation: u32,
) -> Result<TokenResponse, TokenError> {
    let refresh_token = match client.allows_grant(GrantType::RefreshToken) {
        true => {
            let id = GrantId::try_from(grant.id.as_str().to_owned()).map_err(|_| TokenError::ServerError)?;
            let keys = refresh_keys(platform).ok_or(TokenError::ServerError)?;
            Some(keys.write_token(RefreshToken { grant: id, generation }))
        }
        false => None,
    };
    Ok(TokenResponse { refresh_token, ..issue_access_token(platform, client, grant, scopes)? })
}

/// Signs an access token of a grant, alone.
pub(super) fn issue_access_token(
    platform: &Platform,
    client: &OAuthClient,
    grant: &ClientGrant,
    scopes: &ScopeSet,
) -> Result<TokenResponse, TokenError> {
    let now = platform.clock.now();
    let left = grant.expires_at.as_second().saturating_sub(now.as_second());
    let seconds = access_token_seconds(platform, client, grant).min(left);
    let failed = |_| TokenError::ServerError;
    let access_token = platform.tokens.issue_for_grant(grant, scopes, now, seconds).map_err(failed)?;
    Ok(TokenResponse {
        access_token: SecretText::new(access_token),
        token_type: TokenKind::Bearer,
        expires_in: u32::try_from(seconds).unwrap_or(0),
        refresh_token: None,
        scope: scopes.clone(),
        id_token: None,
    })
}

/// The keys of refresh tokens, derived from the root keys.
pub(super) fn refresh_keys(platform: &Platform) -> Option<RefreshKeys> {
    let mut keys = platform.secrets.derive_keys("refresh-tokens").into_iter();
    Some(RefreshKeys::new(keys.next()?, keys.next()))
}

/// How long an access token is valid: the client's own setting, or that of its host, or the default.
fn access_token_seconds(platform: &Platform, client: &OAuthClient, grant: &ClientGrant) -> i64 {
    let config = platform.config.load();
    let settings = &config.clients;
    let for_host = settings.access_token_hosts.get(&grant.client_host.to_ascii_lowercase());
    let default = for_host.unwrap_or(&settings.access_token).as_secs();
    client.access_token_lifetime(u32::try_from(default).unwrap_or(u32::MAX)).into()
}
