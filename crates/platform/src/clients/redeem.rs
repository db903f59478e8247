//! A client redeems its code.

use jiff::Timestamp;
use toolyard_authorization::{
    client::OAuthClient,
    client_auth::AuthenticatedClient,
    code::CodeRedemption,
    id_token::{IdTokenClaims, SignIn, UserProfile},
    issuer::IssuerOrigin,
    scope::ScopeSet,
    token_request::{GrantError, TokenError, TokenRequest},
    token_response::TokenResponse,
};
use toolyard_core::{
    catalog::ViewScope,
    ports::{ClientGrant, RedeemedCode, StoreError},
};
use toolyard_protocol::{TokenId, UserId, audit::AuditAction, secret::SecretText};

use super::{
    access::ClientAccess,
    audit_grant,
    connect::{StoredCode, code_hash},
    disconnect::end_grant,
    issue::issue_tokens,
};
use crate::Platform;

/// Redeems a code, once. A second use ends the grant: someone has a copy of the code.
pub async fn redeem(
    platform: &Platform,
    client: &OAuthClient,
    who: &AuthenticatedClient,
    redemption: &CodeRedemption,
    request: &TokenRequest,
    issuer: &IssuerOrigin,
) -> Result<TokenResponse, TokenError> {
    let now = platform.clock.now();
    let found = platform.stores.oauth.redeem_code(&code_hash(&redemption.code), now).await;
    let (grant, stored) = match found.map_err(store_failed)? {
        RedeemedCode::Fresh { grant, binding } => (grant, binding),
        RedeemedCode::Used { grant } => {
            revoke(platform, &grant, "authorization code used twice").await;
            return Err(GrantError::CodeUnknown.into());
        }
        RedeemedCode::Unknown => return Err(GrantError::CodeUnknown.into()),
    };
    let stored: StoredCode = serde_json::from_str(&stored).map_err(|_| TokenError::ServerError)?;
    if let Err(error) = stored.binding.check(who, redemption, request.resource.as_deref(), now) {
        // The code is used up, so nothing can come of this grant any more.
        revoke(platform, &grant, "authorization code refused").await;
        return Err(error.into());
    }
    let grant = current_grant(platform, &grant).await?;
    let scopes = request.effective_scopes(&granted_scopes(&grant))?;
    let mut tokens = issue_tokens(platform, client, &grant, &scopes, grant.generation)?;
    let claims = IdTokenClaims::for_sign_in(&SignIn {
        issuer,
        client_id: who.id(),
        profile: &user_profile(&grant.user),
        scopes: &scopes,
        nonce: stored.nonce.as_deref(),
        signed_in_at: Timestamp::from_second(stored.agreed_at).unwrap_or(now),
        now,
    });
    if let Some(claims) = claims {
        let signed = platform.tokens.sign_claims(&claims).map_err(|_| TokenError::ServerError)?;
        tokens.id_token = Some(SecretText::new(signed));
    }
    Ok(tokens)
}

/// What this server knows about a user. A user id can be an e-mail address; nothing here proves that it was verified.
pub fn user_profile(user: &UserId) -> UserProfile {
    let email = user.as_str().contains('@').then(|| user.to_string());
    UserProfile { subject: user.to_string(), name: None, email, email_verified: false }
}

/// A grant that was neither revoked nor has expired.
pub(super) async fn current_grant(platform: &Platform, id: &TokenId) -> Result<ClientGrant, TokenError> {
    let grant = platform.stores.oauth.find_client_grant(id).await.map_err(store_failed)?;
    let grant = grant.ok_or(GrantError::RefreshUnknown)?;
    if grant.revoked_at.is_some() {
        return Err(GrantError::RefreshRevoked.into());
    }
    if grant.expires_at <= platform.clock.now() {
        return Err(GrantError::RefreshExpired.into());
    }
    Ok(grant)
}

/// What the client of a grant sees now. None if it was disconnected.
pub async fn view_scope(platform: &Platform, id: &TokenId) -> Result<Option<ViewScope>, StoreError> {
    let grant = platform.stores.oauth.find_client_grant(id).await?;
    let now = platform.clock.now();
    let grant = grant.filter(|grant| grant.revoked_at.is_none() && grant.expires_at > now);
    Ok(grant.map(|grant| {
        let access = ClientAccess::new(grant.client_id.clone(), granted_scopes(&grant));
        ViewScope::Client(access.view)
    }))
}

/// What a grant permits.
pub(super) fn granted_scopes(grant: &ClientGrant) -> ScopeSet {
    ScopeSet::parse(&grant.scopes).map(|parsed| parsed.scopes).unwrap_or_default()
}

/// Ends a grant after an attack or a mistake.
pub(super) async fn revoke(platform: &Platform, grant: &TokenId, reason: &'static str) {
    tracing::warn!(%grant, reason, "grant of a client revoked");
    match end_grant(platform, grant, None).await {
        Ok(Some(ended)) => {
            let (subject, mut detail) = audit_grant(&ended);
            detail["reason"] = reason.into();
            let action = AuditAction::ClientDisconnected;
            platform.audit_client(&ended.client_id, action, subject, detail).await;
        }
        Ok(None) => {}
        Err(error) => tracing::error!(%error, %grant, "grant not revoked"),
    }
}

pub(super) fn store_failed(error: StoreError) -> TokenError {
    tracing::error!(%error, "store failed at the token endpoint");
    TokenError::ServerError
}
