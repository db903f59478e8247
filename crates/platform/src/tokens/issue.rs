//! Issuing a token that can be listed and revoked.

use jiff::Timestamp;
use serde_json::{Value, json};
use toolyard_core::ports::{AddTokenOutcome, Change, Clock, IdGenerator, IssuedToken};
use toolyard_protocol::{TokenId, UserId, api::Role, audit::AuditAction, session::iso_millis};

use super::{TokenError, TokenHolder, TokenSigner};
use crate::{Actor, Credential, Platform, PlatformError, audit::AuditSubject};

/// Longest name of a token, in characters.
const MAX_NAME: usize = 100;
/// How many days a token is valid by default.
pub(crate) const DEFAULT_DAYS: i64 = 30;
/// The longest validity, in days.
pub(crate) const MAX_DAYS: i64 = 365;
pub(crate) const DAY_S: i64 = 24 * 60 * 60;

/// The requested token.
#[derive(Debug)]
pub struct TokenRequest {
    /// Its purpose, in at most 100 characters.
    pub name: String,
    /// Operators only: the subject; by default the actor.
    pub user: Option<UserId>,
    /// Operators only: the role; by default `user`.
    pub role: Option<Role>,
    /// How long it is valid.
    pub days: Option<i64>,
}

/// A new token, shown only once, and its list entry.
#[derive(Debug)]
pub struct IssuedSecret {
    /// The token.
    pub token: String,
    /// Its list entry.
    pub listed: IssuedToken,
}

/// Issues a token.
pub async fn issue(
    platform: &Platform,
    actor: &Actor,
    request: TokenRequest,
) -> Result<IssuedSecret, PlatformError> {
    let holder = TokenHolder::new(actor)?;
    let name = request.name.trim();
    if name.is_empty() || name.chars().count() > MAX_NAME || name.chars().any(char::is_control) {
        let text = format!("name: expected 1 to {MAX_NAME} characters that say what it is for");
        return Err(PlatformError::invalid(text));
    }
    let days = request.days.unwrap_or(DEFAULT_DAYS);
    if !(1..=MAX_DAYS).contains(&days) {
        return Err(PlatformError::invalid(format!("days: expected 1 to {MAX_DAYS}")));
    }
    let role = request.role.unwrap_or(Role::User);
    let subject = request.user.map_or_else(|| holder.name.to_owned(), |user| user.as_str().to_owned());
    if holder.role != Role::Operator && (subject != holder.name || role != Role::User) {
        let text = "only an operator may issue tokens for others, or with another role than user";
        return Err(PlatformError::forbidden(text));
    }
    let seconds = validity_seconds(platform, &holder, days * DAY_S)?;
    let made_with = match holder.credential {
        Credential::Token { id, .. } => id.as_ref(),
        Credential::DevHeader
        | Credential::Embedded
        | Credential::Client { .. }
        // A token goes on working after a sign-out; `sign out everywhere` can revoke it.
        | Credential::Session { .. }
        | Credential::IdentityProvider { .. } => None,
    };
    let details = TokenDetails { name, subject: &subject, role, seconds, by: holder.name, made_with };
    let issued = issue_listed(platform, details).await?;
    let (subject, detail) = audit_token(&issued.listed);
    platform.audit(actor, AuditAction::TokenIssued, subject, detail).await;
    Ok(issued)
}

/// A token as the audit log names it.
pub(crate) fn audit_token(token: &IssuedToken) -> (AuditSubject, Value) {
    let subject = match token.subject.parse() {
        Ok(user) => AuditSubject::of_user(&token.id, &user),
        Err(_) => AuditSubject::named(&token.id),
    };
    let detail = json!({
        "name": token.name,
        "subject": token.subject,
        "role": token.role.as_str(),
        "expiresAt": iso_millis(token.expires_at),
    });
    (subject, detail)
}

/// Signs a token, adds it to the list if the quota allows it, and announces it. The caller has checked the details, and records
/// it.
pub(crate) async fn issue_listed(
    platform: &Platform,
    details: TokenDetails<'_>,
) -> Result<IssuedSecret, PlatformError> {
    let issued =
        sign_listed(&platform.tokens, &*platform.clock, &*platform.ids, details).map_err(|error| {
            tracing::error!(%error, "token could not be signed");
            PlatformError::Internal("the token could not be issued; see the server's log")
        })?;
    add_to_list(platform, &issued.listed).await?;
    let subject = details.subject.into();
    platform.stores.announcements.announce(Change::TokenIssued { subject }).await;
    Ok(issued)
}

async fn add_to_list(platform: &Platform, token: &IssuedToken) -> Result<(), PlatformError> {
    let room = platform.config.load().token_quota;
    match platform.stores.tokens.add_token(token, room).await? {
        AddTokenOutcome::Listed => Ok(()),
        AddTokenOutcome::QuotaReached => Err(PlatformError::QuotaReached(format!(
            "{} has {} unexpired tokens, or the server has {}; wait until some expire, or ask the operator to raise \
             `quotas.tokens_per_user` or `quotas.tokens`",
            token.subject, room.of_subject, room.of_all
        ))),
        AddTokenOutcome::Revoked => Err(PlatformError::BadCredential("the token was revoked".to_owned())),
    }
}

/// The validity of a token that this person issues: never longer than that of their own credential, so that a stolen or
/// borrowed credential cannot be extended.
fn validity_seconds(
    platform: &Platform,
    holder: &TokenHolder<'_>,
    wanted: i64,
) -> Result<i64, PlatformError> {
    let now = platform.clock.now();
    match holder.credential {
        _ if holder.role == Role::Operator => Ok(wanted),
        Credential::DevHeader | Credential::Embedded => Ok(wanted),
        Credential::Token { expires_at, .. } | Credential::Client { expires_at, .. } => {
            Ok(wanted.min(expires_at.saturating_sub(now.as_second())))
        }
        Credential::Session { .. } | Credential::IdentityProvider { .. } => {
            match platform.config.load().accounts.own_token_days {
                ..=0 => Err(PlatformError::forbidden(
                    "tokens are issued by operators here (`sign_in.own_token_days` is 0); ask one",
                )),
                days => Ok(wanted.min(days * DAY_S)),
            }
        }
    }
}

/// What is signed and listed.
#[derive(Debug, Clone, Copy)]
pub struct TokenDetails<'a> {
    /// Its purpose.
    pub name: &'a str,
    /// Its subject.
    pub subject: &'a str,
    /// Its role.
    pub role: Role,
    /// Its validity, in seconds.
    pub seconds: i64,
    /// Who issues it.
    pub by: &'a str,
    /// The token it is issued with, if that one is listed.
    pub made_with: Option<&'a TokenId>,
}

/// Signs a token with a new id. The caller adds it to the list: the server, or a command if no server runs.
pub fn sign_listed(
    signer: &TokenSigner,
    clock: &dyn Clock,
    ids: &dyn IdGenerator,
    details: TokenDetails<'_>,
) -> Result<IssuedSecret, TokenError> {
    let TokenDetails { name, subject, role, seconds, by, made_with } = details;
    let mut bytes = [0; 16];
    ids.fill_random(&mut bytes);
    let (id, now) = (TokenId::from_bytes(bytes), clock.now());
    let token = signer.issue_with_id(Some(id.clone()), subject, role, now, seconds)?;
    let expires_at =
        Timestamp::from_second(now.as_second().saturating_add(seconds)).unwrap_or(Timestamp::MAX);
    let listed = IssuedToken {
        id,
        name: name.to_owned(),
        subject: subject.to_owned(),
        role,
        created_at: now,
        expires_at,
        created_by: by.to_owned(),
        made_with: made_with.cloned(),
        revoked_at: None,
    };
    Ok(IssuedSecret { token, listed })
}
