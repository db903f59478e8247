//! Browsers in which users are signed in. The cookie is a signed token with the id of the session, so that a request needs no
//! store. It is valid for the idle time; using it renews it, until the session ends.

use jiff::Timestamp;
use serde_json::json;
use toolyard_core::ports::{BrowserSession, Change, EndedSessions, RevokedTokens, UserAccount};
use toolyard_protocol::{
    TokenId, UserId,
    accounts::{SignInMethod, SignOutEverywhere},
    api::Role,
    audit::AuditAction,
    secret::SecretText,
};

use super::{SignedInUser, later};
use crate::{Actor, Credential, Platform, PlatformError, audit::AuditSubject};

/// Longest description of a browser, in characters.
const MAX_DEVICE: usize = 100;

/// A session that has begun, or goes on: the content of the cookie, and until when it is valid.
#[derive(Debug)]
pub struct StartedSession {
    /// The content of the cookie.
    pub cookie: SecretText,
    /// When the browser may forget it.
    pub expires_at: Timestamp,
    /// The user.
    pub user: UserId,
    /// What they may do.
    pub role: Role,
}

pub(super) async fn start(
    platform: &Platform,
    account: &UserAccount,
    method: SignInMethod,
    device: &str,
) -> Result<StartedSession, PlatformError> {
    let (config, now) = (platform.config.load_full(), platform.clock.now());
    let settings = &config.accounts;
    let mut id = [0; 16];
    platform.ids.fill_random(&mut id);
    let session = BrowserSession {
        id: TokenId::from_bytes(id),
        user: account.id.clone(),
        method,
        device: device.chars().filter(|c| !c.is_control()).take(MAX_DEVICE).collect(),
        started_at: now,
        last_seen_at: now,
        expires_at: later(now, settings.absolute),
    };
    let sessions = &platform.stores.browser_sessions;
    let known_until = later(now, settings.idle);
    let added = sessions.add_browser_session(&session, settings.sessions_per_user, known_until).await?;
    // The role of this moment: it may have changed since the account was read.
    let role = added.ok_or(PlatformError::SignInFailed)?;
    tracing::info!(user = %session.user, session = %session.id, method = method.as_str(), "signed in");
    platform.audit_sign_in(&session.user, &session.id, method).await;
    // The oldest session may have made room.
    platform.stores.announcements.catch_up().await?;
    sign(platform, &session, role)
}

fn sign(platform: &Platform, session: &BrowserSession, role: Role) -> Result<StartedSession, PlatformError> {
    let now = platform.clock.now();
    let expires_at = later(now, platform.config.load().accounts.idle).min(session.expires_at);
    let cookie = platform.tokens.issue_for_session(session, role, now, expires_at).map_err(|error| {
        tracing::error!(%error, "session could not be signed");
        PlatformError::Internal("the session could not be started; see the server's log")
    })?;
    Ok(StartedSession { cookie: SecretText::new(cookie), expires_at, user: session.user.clone(), role })
}

/// Renews the cookie of a session that is in use. None if it is fresh enough, or has ended.
pub async fn renew_session(
    platform: &Platform,
    actor: &Actor,
) -> Result<Option<StartedSession>, PlatformError> {
    let Actor::Person { name, credential, .. } = actor else { return Ok(None) };
    let Credential::Session { id, method, issued_at, started_at, ends_at, .. } = credential else {
        return Ok(None);
    };
    let (now, idle) = (platform.clock.now(), platform.config.load().accounts.idle);
    // Ten times in an idle period: often enough that nobody loses much of it, and rare enough to cost nothing.
    let age = now.as_second() - issued_at;
    if age < i64::try_from(idle.as_secs() / 10).unwrap_or(i64::MAX) {
        return Ok(None);
    }
    let touched = platform.stores.browser_sessions.touch_browser_session(id, now).await?;
    let Some(role) = touched else { return Ok(None) };
    let at = |second: i64| Timestamp::from_second(second).unwrap_or(now);
    let session = BrowserSession {
        id: id.clone(),
        user: UserId::from_stored(name),
        method: *method,
        device: String::new(),
        started_at: at(*started_at),
        last_seen_at: now,
        expires_at: at(*ends_at),
    };
    sign(platform, &session, role).map(Some)
}

/// Ends the session of this browser.
pub async fn sign_out(platform: &Platform, actor: &Actor) -> Result<(), PlatformError> {
    let who = SignedInUser::new(actor)?;
    match &who.session {
        Some(session) => {
            let ended = end_sessions(platform, &who.user, EndedSessions::One(&session.id)).await?;
            audit_signed_out(platform, actor, &who.user, ended).await;
            Ok(())
        }
        None => Ok(()),
    }
}

/// The sessions of the user, and which one this is.
pub async fn list_own_sessions(
    platform: &Platform,
    actor: &Actor,
) -> Result<(Vec<BrowserSession>, Option<TokenId>), PlatformError> {
    let who = SignedInUser::new(actor)?;
    let sessions = &platform.stores.browser_sessions;
    let sessions = sessions.list_browser_sessions(&who.user, platform.clock.now()).await?;
    Ok((sessions, who.session.map(|session| session.id)))
}

/// Ends one of the user's sessions, or all but this one.
pub async fn end_own_session(
    platform: &Platform,
    actor: &Actor,
    id: Option<&TokenId>,
) -> Result<(), PlatformError> {
    let who = SignedInUser::new(actor)?;
    let which = match (id, &who.session) {
        (Some(id), _) => EndedSessions::One(id),
        (None, Some(current)) => EndedSessions::AllBut(&current.id),
        (None, None) => EndedSessions::All,
    };
    let ended = end_sessions(platform, &who.user, which).await?;
    if ended == 0 && id.is_some() {
        return Err(PlatformError::not_found("session"));
    }
    audit_signed_out(platform, actor, &who.user, ended).await;
    Ok(())
}

async fn audit_signed_out(platform: &Platform, actor: &Actor, user: &UserId, sessions: usize) {
    let detail = json!({ "sessions": sessions });
    platform.audit(actor, AuditAction::AccountSignedOut, AuditSubject::user(user), detail).await;
}

/// An operator signs a user out.
pub async fn sign_out_everywhere(
    platform: &Platform,
    actor: &Actor,
    user: &UserId,
    what: SignOutEverywhere,
) -> Result<(), PlatformError> {
    actor.require_operator()?;
    actor.refuse_client("a connected client cannot manage accounts")?;
    end_all_sessions(platform, user).await?;
    if what.tokens {
        revoke_tokens(platform, user, RevokedTokens::Own).await?;
    }
    if what.clients {
        revoke_grants(platform, user).await?;
    }
    tracing::info!(%user, tokens = what.tokens, clients = what.clients, by = actor.name(), "user signed out");
    let detail = json!({ "tokens": what.tokens, "clients": what.clients });
    platform.audit(actor, AuditAction::UserSignedOut, AuditSubject::user(user), detail).await;
    Ok(())
}

/// Ends sessions of a user, and returns how many.
pub async fn end_sessions(
    platform: &Platform,
    user: &UserId,
    which: EndedSessions<'_>,
) -> Result<usize, PlatformError> {
    let sessions = &platform.stores.browser_sessions;
    let now = platform.clock.now();
    let known_until = later(now, platform.config.load().accounts.idle);
    let ended = sessions.end_browser_sessions(user, which, now, known_until).await?;
    for session in &ended {
        announce_end(platform, session.id.clone(), user.as_str(), session.expires_at).await;
    }
    Ok(ended.len())
}

pub(super) async fn end_all_sessions(platform: &Platform, user: &UserId) -> Result<(), PlatformError> {
    end_sessions(platform, user, EndedSessions::All).await.map(drop)
}

pub(super) async fn revoke_tokens(
    platform: &Platform,
    user: &UserId,
    which: RevokedTokens,
) -> Result<(), PlatformError> {
    let now = platform.clock.now();
    let tokens = platform.stores.tokens.revoke_tokens_of(user.as_str(), which, now).await?;
    for token in tokens {
        announce_end(platform, token.id, &token.subject, token.expires_at).await;
    }
    Ok(())
}

async fn revoke_grants(platform: &Platform, user: &UserId) -> Result<(), PlatformError> {
    let grants = platform.stores.oauth.revoke_client_grants_of(user, platform.clock.now()).await?;
    for grant in grants {
        announce_end(platform, grant.id, grant.user.as_str(), grant.expires_at).await;
    }
    Ok(())
}

async fn announce_end(platform: &Platform, id: TokenId, subject: &str, expires_at: Timestamp) {
    let change = Change::TokenRevoked { id, subject: subject.into(), expires_at };
    platform.stores.announcements.announce(change).await;
}

/// Ends everything that acts for a user: browsers, tokens, clients, and the live session with its devices and apps.
pub(super) async fn end_everything(platform: &Platform, user: &UserId) -> Result<(), PlatformError> {
    end_all_sessions(platform, user).await?;
    revoke_tokens(platform, user, RevokedTokens::OwnAndIssued).await?;
    revoke_grants(platform, user).await?;
    platform.sessions.end_session(user).await;
    Ok(())
}
