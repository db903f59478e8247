//! Tokens that no person is asked about: for a program that the operator registered, and for people whose company decides.

use jiff::SignedDuration;
use toolyard_authorization::{
    client::OAuthClient,
    id_jag::IdentityGrant,
    scope::{OAuthScope, ScopeSet},
    token_request::{GrantError, TokenError, TokenRequest},
    token_response::TokenResponse,
};
use toolyard_core::ports::{Change, ClientGrant, UserAccount};
use toolyard_protocol::{TokenId, UserId, audit::AuditAction};

use super::{audit_grant, issue::issue_access_token};
use crate::Platform;

/// The user and scopes of a client with the grant `client_credentials`.
#[derive(Debug, Clone)]
pub struct MachineGrant {
    /// The user.
    pub user: UserId,
    /// What it may do.
    pub scopes: ScopeSet,
}

/// Issues a token to a program that acts without a person (client credentials).
pub async fn issue_to_machine(
    platform: &Platform,
    client: &OAuthClient,
    machine: &MachineGrant,
    request: &TokenRequest,
) -> Result<TokenResponse, TokenError> {
    let scopes = request.effective_scopes(&machine.scopes)?;
    issue(platform, client, &machine.user, &machine.scopes, &scopes).await
}

/// Issues a token for a person whom an identity provider asserted. Its subject must be known here: the person signed in at that
/// provider before.
pub async fn issue_for_identity(
    platform: &Platform,
    client: &OAuthClient,
    identity: &IdentityGrant,
    request: &TokenRequest,
) -> Result<TokenResponse, TokenError> {
    let is_first = platform.stores.oauth.use_id_once(&identity.used.replay_key, identity.used.remember_until);
    if !is_first.await.map_err(store_failed)? {
        return Err(GrantError::AssertionReplayed.into());
    }
    let account = find_account(platform, identity).await?;
    let user = account.filter(|account| account.disabled_at.is_none()).ok_or(GrantError::UnknownUser)?.id;
    let usual = ScopeSet::from([OAuthScope::ToolsRead, OAuthScope::ToolsWrite]);
    // What the provider permits, or what a client gets by default.
    let granted = identity.scopes.clone().unwrap_or(usual);
    let scopes = request.effective_scopes(&granted)?;
    issue(platform, client, &user, &granted, &scopes).await
}

/// By the subject alone: an address can become someone else's.
async fn find_account(
    platform: &Platform,
    identity: &IdentityGrant,
) -> Result<Option<UserAccount>, TokenError> {
    let known = platform.stores.sign_in.find_identity(&identity.provider, &identity.subject).await;
    match known.map_err(store_failed)? {
        Some(user) => platform.stores.accounts.find_account(&user).await.map_err(store_failed),
        None => Ok(None),
    }
}

/// Issues an access token of the grant of this client, which is made if there is none. There is no refresh token: the client
/// authenticates again.
async fn issue(
    platform: &Platform,
    client: &OAuthClient,
    user: &UserId,
    granted: &ScopeSet,
    scopes: &ScopeSet,
) -> Result<TokenResponse, TokenError> {
    if scopes.is_empty() {
        return Err(GrantError::ScopeExceeded.into());
    }
    if platform.tokens.is_disabled(user.as_str()) {
        return Err(GrantError::UnknownUser.into());
    }
    let grant = find_or_add_grant(platform, client, user, granted).await?;
    issue_access_token(platform, client, &grant, scopes)
}

async fn find_or_add_grant(
    platform: &Platform,
    client: &OAuthClient,
    user: &UserId,
    granted: &ScopeSet,
) -> Result<ClientGrant, TokenError> {
    let (store, now) = (&platform.stores.oauth, platform.clock.now());
    let scopes = granted.to_string();
    let known = store.list_client_grants(user, now).await.map_err(store_failed)?;
    // One that ends soon would cut its tokens short.
    let lasts = |grant: &ClientGrant| grant.expires_at.as_second() - now.as_second() > DAY_S;
    let is_same = |grant: &ClientGrant| grant.client_id == client.id.as_str() && grant.scopes == scopes;
    if let Some(grant) = known.into_iter().find(|grant| is_same(grant) && lasts(grant)) {
        return Ok(grant);
    }
    let mut id = [0; 16];
    platform.ids.fill_random(&mut id);
    let days = i64::from(platform.config.load().clients.grant_days).max(2);
    let grant = ClientGrant {
        id: TokenId::from_bytes(id),
        user: user.clone(),
        client_id: client.id.as_str().to_owned(),
        client_name: client.name.as_str().to_owned(),
        client_host: String::new(),
        scopes,
        made_with: None,
        created_at: now,
        last_used_at: now,
        expires_at: now.saturating_add(SignedDuration::from_hours(days * 24)).unwrap_or(now),
        generation: 0,
        rotated_at: None,
        revoked_at: None,
    };
    if !store
        .add_client_grant(&grant, platform.config.load().clients.clients_per_user)
        .await
        .map_err(store_failed)?
    {
        return Err(TokenError::TemporarilyUnavailable);
    }
    tracing::info!(%user, client = grant.client_id, grant = %grant.id, scopes = grant.scopes, "client connected without a person");
    let subject = user.as_str().into();
    platform.stores.announcements.announce(Change::TokenIssued { subject }).await;
    let (subject, detail) = audit_grant(&grant);
    platform.audit_client(&grant.client_id, AuditAction::ClientConnected, subject, detail).await;
    Ok(grant)
}

const DAY_S: i64 = 24 * 60 * 60;

fn store_failed(error: toolyard_core::ports::StoreError) -> TokenError {
    tracing::error!(%error, "store failed while issuing a token");
    TokenError::ServerError
}
