//! A user connects a client.

use jiff::{SignedDuration, Timestamp};
use sha2::{Digest as _, Sha256};
use toolyard_authorization::{
    authorize::ValidAuthorizeRequest,
    client::OAuthClient,
    code::{CodeBinding, code_from_bytes},
    redirect::RedirectHost,
    scope::ScopeSet,
};
use toolyard_core::ports::{Change, ClientGrant};
use toolyard_protocol::{TokenId, audit::AuditAction, secret::SecretText};

use super::{MAX_GRANT_DAYS, audit_grant};
use crate::{Actor, ActorOfUser, Credential, Platform, PlatformError};

/// How long a used or unused code is remembered, in seconds.
const CODE_KEPT_S: i64 = 10 * 60;

/// What the user allows a client.
#[derive(Debug, Clone)]
pub struct ClientConsent {
    /// The scopes that the user left of those that the client asked for.
    pub scopes: ScopeSet,
    /// For how many days. Default: the operator's.
    pub days: Option<u32>,
}

/// What is stored with a code.
#[derive(Debug, Clone, serde::Serialize, serde::Deserialize)]
pub(super) struct StoredCode {
    pub(super) binding: CodeBinding,
    /// Returned in the ID token.
    pub(super) nonce: Option<String>,
    /// When the user agreed, in seconds.
    pub(super) agreed_at: i64,
}

/// Grants a client what the user allows, and returns the code that the client redeems.
pub async fn connect(
    platform: &Platform,
    actor: &ActorOfUser,
    client: &OAuthClient,
    request: &ValidAuthorizeRequest,
    consent: ClientConsent,
) -> Result<SecretText, PlatformError> {
    if !actor.is_user_in_person() {
        return Err(PlatformError::forbidden("only the user can connect a client"));
    }
    let days = consent.days.unwrap_or(platform.config.load().clients.grant_days);
    if !(1..=MAX_GRANT_DAYS).contains(&days) {
        return Err(PlatformError::invalid(format!("days: expected 1 to {MAX_GRANT_DAYS}, got {days}")));
    }
    // A user narrows what was asked for and never widens it: the client said what it is for.
    let scopes = request.scopes.narrow(&consent.scopes).filter(|scopes| !scopes.is_empty());
    let scopes = scopes.ok_or_else(|| PlatformError::invalid("scopes: allow at least one thing"))?;
    let grant = new_grant(platform, actor, client, request, &scopes, days);
    let max = platform.config.load().clients.clients_per_user;
    if !platform.stores.oauth.add_client_grant(&grant, max).await? {
        return Err(PlatformError::QuotaReached(format!(
            "{max} clients are connected; disconnect one, or ask the operator to raise `oauth.clients_per_user`"
        )));
    }
    let (subject, detail) = audit_grant(&grant);
    platform.audit(&actor.actor, AuditAction::ClientConnected, subject, detail).await;
    let code = store_code(platform, &grant.id, request).await?;
    tracing::info!(user = %grant.user, client = grant.client_id, grant = %grant.id, scopes = grant.scopes, "client connected");
    let subject = grant.user.as_str().into();
    platform.stores.announcements.announce(Change::TokenIssued { subject }).await;
    Ok(code)
}

fn new_grant(
    platform: &Platform,
    actor: &ActorOfUser,
    client: &OAuthClient,
    request: &ValidAuthorizeRequest,
    scopes: &ScopeSet,
    days: u32,
) -> ClientGrant {
    let mut id = [0; 16];
    platform.ids.fill_random(&mut id);
    let now = platform.clock.now();
    ClientGrant {
        id: TokenId::from_bytes(id),
        user: actor.user.clone(),
        client_id: client.id.as_str().to_owned(),
        client_name: client.name.as_str().to_owned(),
        client_host: host_name(&request.redirect_uri.redirect_host()),
        scopes: scopes.to_string(),
        created_at: now,
        last_used_at: now,
        made_with: match credential(actor) {
            Some(Credential::Token { id, .. }) => id.clone(),
            _ => None,
        },
        expires_at: now
            .saturating_add(SignedDuration::from_hours(i64::from(days) * 24))
            .unwrap_or(now)
            .min(credential_end(actor)),
        generation: 0,
        rotated_at: None,
        revoked_at: None,
    }
}

fn credential(actor: &ActorOfUser) -> Option<&Credential> {
    match &actor.actor {
        Actor::Person { credential, .. } => Some(credential),
        Actor::App(_) => None,
    }
}

/// When the credential of the user ends. A grant ends with it, so that a stolen or borrowed one cannot be extended.
pub fn credential_end(actor: &ActorOfUser) -> Timestamp {
    let ends = match credential(actor) {
        Some(Credential::Token { expires_at, .. } | Credential::IdentityProvider { expires_at }) => {
            Some(*expires_at)
        }
        _ => None,
    };
    ends.and_then(|seconds| Timestamp::from_second(seconds).ok()).unwrap_or(Timestamp::MAX)
}

async fn store_code(
    platform: &Platform,
    grant: &TokenId,
    request: &ValidAuthorizeRequest,
) -> Result<SecretText, PlatformError> {
    let mut bytes = [0; 32];
    platform.ids.fill_random(&mut bytes);
    let (code, now) = (code_from_bytes(bytes), platform.clock.now());
    let stored = StoredCode {
        binding: request.code_binding(now),
        nonce: request.nonce.clone(),
        agreed_at: now.as_second(),
    };
    let stored = serde_json::to_string(&stored)
        .map_err(|_| PlatformError::Internal("the authorization code could not be stored"))?;
    let until = now.saturating_add(SignedDuration::from_secs(CODE_KEPT_S)).unwrap_or(now);
    platform.stores.oauth.add_code(&code_hash(&code), grant, &stored, until).await?;
    Ok(code)
}

/// Codes are stored by their hash, so that a copy of the database redeems none.
pub(super) fn code_hash(code: &SecretText) -> [u8; 32] {
    Sha256::digest(code.expose()).into()
}

/// The host that the user is shown.
pub fn host_name(host: &RedirectHost) -> String {
    match host {
        RedirectHost::Website(name) | RedirectHost::ThisComputer(name) | RedirectHost::NativeApp(name) => {
            name.clone()
        }
    }
}
