//! Passwords.

use serde_json::json;
use toolyard_core::ports::{EndedSessions, RemoveMethodOutcome, StoredPassword, UserAccount};
use toolyard_protocol::{
    UserId,
    accounts::{PasswordChange, PasswordSignIn, SignInMethod},
    audit::AuditAction,
    secret::SecretText,
};

use super::{
    MAX_EMAIL, SignedInUser, StartedSession, account_of, managing_issuer, require_own_account, session,
};
use crate::{Actor, Platform, PlatformError, audit::AuditSubject};

/// Shortest and longest password, in characters.
const LENGTH: std::ops::RangeInclusive<usize> = 12..=256;

/// Signs in with a password.
pub async fn sign_in_with_password(
    platform: &Platform,
    request: PasswordSignIn,
    device: &str,
) -> Result<StartedSession, PlatformError> {
    require_passwords(platform)?;
    let name = request.user.trim();
    let is_plausible =
        name.chars().count() <= MAX_EMAIL && request.password.expose().chars().count() <= *LENGTH.end();
    if !is_plausible {
        return Err(PlatformError::SignInFailed);
    }
    let account = find_by_name(platform, name).await?;
    // By what was typed: a count by account would tell which names belong together.
    platform.accounts.attempts.begin(name, platform.clock.now())?;
    let hash = match &account {
        Some(account) => platform.stores.sign_in.sign_in_methods(&account.id).await?.password,
        None => None,
    };
    let fits = platform.accounts.passwords.verify(request.password, hash.map(|stored| stored.hash)).await?;
    let may =
        |account: &UserAccount| account.disabled_at.is_none() && managing_issuer(platform, account).is_none();
    let named = account.as_ref().map(|account| account.id.clone());
    let account = account.filter(|account| fits && may(account));
    let Some(account) = account else {
        tracing::info!("sign-in with a password failed");
        platform.audit_failed_sign_in(named.as_ref(), SignInMethod::Password).await;
        return Err(PlatformError::SignInFailed);
    };
    platform.accounts.attempts.succeed(name);
    session::start(platform, &account, SignInMethod::Password, device).await
}

async fn find_by_name(platform: &Platform, name: &str) -> Result<Option<UserAccount>, PlatformError> {
    let accounts = &platform.stores.accounts;
    if let Ok(user) = name.parse::<UserId>()
        && let Some(account) = accounts.find_account(&user).await?
    {
        return Ok(Some(account));
    }
    Ok(accounts.find_account_by_email(&name.to_lowercase()).await?)
}

/// Sets the user's password. Other browsers are signed out.
pub async fn set_password(
    platform: &Platform,
    actor: &Actor,
    request: PasswordChange,
) -> Result<(), PlatformError> {
    require_passwords(platform)?;
    let who = SignedInUser::new(actor)?;
    let account = account_of(platform, &who).await?;
    require_own_account(platform, &account)?;
    check_strength(&request.password, &account)?;
    let now = platform.clock.now();
    let stored = platform.stores.sign_in.sign_in_methods(&who.user).await?.password;
    match (request.current, stored) {
        (Some(current), Some(stored)) => {
            platform.accounts.attempts.begin(who.user.as_str(), now)?;
            if !platform.accounts.passwords.verify(current, Some(stored.hash)).await? {
                return Err(PlatformError::SignInFailed);
            }
            platform.accounts.attempts.succeed(who.user.as_str());
        }
        _ => who.require_recent(now)?,
    }
    let hash = platform.accounts.passwords.hash(request.password, &*platform.ids).await?;
    platform.stores.sign_in.set_password(&who.user, &StoredPassword { hash, changed_at: now }).await?;
    let which = who.session.as_ref().map_or(EndedSessions::All, |session| EndedSessions::AllBut(&session.id));
    session::end_sessions(platform, &who.user, which).await?;
    tracing::info!(user = %who.user, "password set");
    platform.audit(actor, AuditAction::AccountPasswordSet, AuditSubject::user(&who.user), json!({})).await;
    Ok(())
}

/// Removes the user's password, if there is another way to sign in.
pub async fn remove_password(platform: &Platform, actor: &Actor) -> Result<(), PlatformError> {
    let who = SignedInUser::new(actor)?;
    who.require_recent(platform.clock.now())?;
    let outcome = platform.stores.sign_in.remove_password(&who.user).await?;
    removal_result(outcome, "password")?;
    platform
        .audit(actor, AuditAction::AccountPasswordRemoved, AuditSubject::user(&who.user), json!({}))
        .await;
    Ok(())
}

pub(super) fn removal_result(outcome: RemoveMethodOutcome, what: &str) -> Result<(), PlatformError> {
    match outcome {
        RemoveMethodOutcome::Removed => Ok(()),
        RemoveMethodOutcome::Unknown => Err(PlatformError::not_found(what)),
        RemoveMethodOutcome::OnlyOne => {
            Err(PlatformError::conflict("this is your only way to sign in; add another one first"))
        }
    }
}

fn require_passwords(platform: &Platform) -> Result<(), PlatformError> {
    if platform.config.load().accounts.passwords {
        return Ok(());
    }
    Err(PlatformError::forbidden("this server does not accept passwords (`sign_in.passwords`)"))
}

fn check_strength(password: &SecretText, account: &UserAccount) -> Result<(), PlatformError> {
    let text = password.expose();
    let (fewest, most) = (LENGTH.start(), LENGTH.end());
    if !LENGTH.contains(&text.chars().count()) {
        return Err(PlatformError::invalid(format!("password: expected {fewest} to {most} characters")));
    }
    let lower = text.to_lowercase();
    let is_name = lower == account.id.as_str() || account.email.as_deref() == Some(lower.as_str());
    let mut distinct: Vec<char> = lower.chars().collect();
    distinct.sort_unstable();
    distinct.dedup();
    if is_name || distinct.len() < 5 {
        return Err(PlatformError::invalid(
            "password: too easy to guess; several random words are a good choice",
        ));
    }
    Ok(())
}
