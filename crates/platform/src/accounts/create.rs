//! Creating an account.

use serde_json::json;
use toolyard_core::ports::{SaveAccountOutcome, UserAccount};
use toolyard_protocol::{UserId, accounts::NewAccount, api::Role, audit::AuditAction};

use super::{checked_email, checked_groups, checked_name};
use crate::{Actor, Platform, PlatformError, audit::AuditSubject};

/// Creates an account. It has no way to sign in yet: a one-time link is the first.
pub async fn create(
    platform: &Platform,
    actor: &Actor,
    request: NewAccount,
) -> Result<UserAccount, PlatformError> {
    actor.require_operator()?;
    actor.refuse_client("a connected client cannot manage accounts")?;
    let account = UserAccount {
        email: checked_email(request.email)?,
        name: checked_name("name", request.name)?,
        role: request.role.unwrap_or(Role::User),
        groups: checked_groups(request.groups)?,
        ..new_account(platform, request.user_id)
    };
    save_new(platform, &account).await?;
    tracing::info!(user = %account.id, role = account.role.as_str(), by = actor.name(), "account created");
    let detail = json!({ "role": account.role.as_str(), "groups": account.groups });
    platform.audit(actor, AuditAction::UserCreated, AuditSubject::user(&account.id), detail).await;
    Ok(account)
}

/// An account without anything.
pub(super) fn new_account(platform: &Platform, id: UserId) -> UserAccount {
    UserAccount {
        id,
        email: None,
        name: None,
        role: Role::User,
        groups: Vec::new(),
        managed_by: None,
        created_at: platform.clock.now(),
        links_from: platform.clock.now(),
        last_seen_at: None,
        disabled_at: None,
    }
}

pub(super) async fn save_new(platform: &Platform, account: &UserAccount) -> Result<(), PlatformError> {
    let max = platform.config.load().accounts.max_accounts;
    match platform.stores.accounts.add_account(account, max).await? {
        SaveAccountOutcome::Saved => Ok(()),
        SaveAccountOutcome::EmailTaken => Err(email_taken()),
        SaveAccountOutcome::QuotaReached => Err(PlatformError::QuotaReached(format!(
            "there are {max} accounts; delete some, or raise `sign_in.max_accounts`"
        ))),
        SaveAccountOutcome::WrongState | SaveAccountOutcome::LastOperator => {
            Err(PlatformError::conflict(format!("{} has an account already", account.id)))
        }
    }
}

pub(super) fn email_taken() -> PlatformError {
    PlatformError::conflict("another account has this e-mail address")
}

/// The account of a user, created if there is none.
pub(super) async fn ensure_account(platform: &Platform, user: &UserId) -> Result<UserAccount, PlatformError> {
    let account = new_account(platform, user.clone());
    match save_new(platform, &account).await {
        // Two requests at once.
        Err(PlatformError::Conflict(_)) => {}
        saved => saved?,
    }
    let stored = platform.stores.accounts.find_account(user).await?;
    stored.ok_or_else(|| PlatformError::not_found("account"))
}
