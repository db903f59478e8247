//! Changing an account. Who loses a role, or is disabled, is signed out at once.

use serde_json::json;
use toolyard_core::ports::{Change, RevokedTokens, SaveAccountOutcome, UserAccount};
use toolyard_protocol::{UserId, accounts::AccountChange, audit::AuditAction};

use super::{
    checked_email, checked_groups, checked_name,
    create::{email_taken, ensure_account},
    session::end_everything,
};
use crate::{Actor, Platform, PlatformError, audit::AuditSubject};

/// Changes an account. To disable a user who has none creates it.
pub async fn change(
    platform: &Platform,
    actor: &Actor,
    user: &UserId,
    request: AccountChange,
) -> Result<UserAccount, PlatformError> {
    actor.require_operator()?;
    actor.refuse_client("a connected client cannot manage accounts")?;
    let stored = platform.stores.accounts.find_account(user).await?;
    let before = match stored {
        Some(account) => account,
        None if request.disabled == Some(true) => ensure_account(platform, user).await?,
        None => return Err(PlatformError::not_found(format_args!("account of {user}"))),
    };
    let changed = changed_account(platform, &before, request)?;
    let (loses_role, is_disabled) = (changed.role < before.role, changed.disabled_at.is_some());
    if actor.name() == user.as_str() && (loses_role || is_disabled) {
        let text = "you cannot disable yourself or give up your own role; another operator can";
        return Err(PlatformError::conflict(text));
    }
    save_changed(platform, &before, &changed).await?;
    tracing::info!(%user, role = changed.role.as_str(), disabled = is_disabled, by = actor.name(), "account changed");
    // Before everything else: what follows may fail.
    audit_change(platform, actor, &before, &changed).await;
    if is_disabled && before.disabled_at.is_none() {
        // From here on every request is refused; then everything that is open ends.
        platform.stores.announcements.announce(Change::UserDisabled(user.clone())).await;
        end_everything(platform, user).await?;
    } else if !is_disabled && before.disabled_at.is_some() {
        platform.stores.announcements.announce(Change::UserEnabled(user.clone())).await;
    }
    if changed.role != before.role {
        // Cookies say which role they have.
        super::session::end_all_sessions(platform, user).await?;
    }
    if loses_role {
        super::session::revoke_tokens(platform, user, RevokedTokens::OwnAndIssued).await?;
    }
    Ok(changed)
}

/// One entry for each kind of change.
async fn audit_change(platform: &Platform, actor: &Actor, before: &UserAccount, changed: &UserAccount) {
    let subject = || AuditSubject::user(&changed.id);
    if changed.role != before.role {
        let detail = json!({ "from": before.role.as_str(), "to": changed.role.as_str() });
        platform.audit(actor, AuditAction::UserRoleChanged, subject(), detail).await;
    }
    match (before.disabled_at, changed.disabled_at) {
        (None, Some(_)) => platform.audit(actor, AuditAction::UserDisabled, subject(), json!({})).await,
        (Some(_), None) => platform.audit(actor, AuditAction::UserEnabled, subject(), json!({})).await,
        _ => {}
    }
    let fields = [
        ("email", changed.email != before.email),
        ("name", changed.name != before.name),
        ("groups", changed.groups != before.groups),
    ];
    let fields: Vec<_> =
        fields.into_iter().filter(|(_, is_changed)| *is_changed).map(|(name, _)| name).collect();
    if !fields.is_empty() {
        let detail = json!({ "fields": fields, "groups": changed.groups });
        platform.audit(actor, AuditAction::UserChanged, subject(), detail).await;
    }
}

fn changed_account(
    platform: &Platform,
    before: &UserAccount,
    request: AccountChange,
) -> Result<UserAccount, PlatformError> {
    let mut account = before.clone();
    let changes_access = request.role.is_some_and(|role| role != before.role) || request.groups.is_some();
    if let Some(issuer) = super::managing_issuer(platform, before).filter(|_| changes_access) {
        return Err(PlatformError::conflict(format!(
            "role and groups of this account come from the issuer `{issuer}`; change them there, or the rules in \
             `sign_in.issuers`"
        )));
    }
    if let Some(email) = request.email {
        account.email = checked_email(email)?;
    }
    if let Some(name) = request.name {
        account.name = checked_name("name", name)?;
    }
    if let Some(role) = request.role {
        account.role = role;
    }
    if let Some(groups) = request.groups {
        account.groups = checked_groups(groups)?;
    }
    account.disabled_at = match request.disabled {
        Some(true) => before.disabled_at.or_else(|| Some(platform.clock.now())),
        Some(false) => None,
        None => before.disabled_at,
    };
    if before.disabled_at.is_some() && account.disabled_at.is_none() {
        account.links_from = platform.clock.now();
    }
    Ok(account)
}

pub(super) async fn save_changed(
    platform: &Platform,
    before: &UserAccount,
    account: &UserAccount,
) -> Result<(), PlatformError> {
    match platform.stores.accounts.change_account(before, account).await? {
        SaveAccountOutcome::Saved => Ok(()),
        SaveAccountOutcome::EmailTaken => Err(email_taken()),
        SaveAccountOutcome::LastOperator => {
            Err(PlatformError::conflict("this is the last operator; make someone else an operator first"))
        }
        SaveAccountOutcome::WrongState | SaveAccountOutcome::QuotaReached => {
            Err(PlatformError::conflict("the account was changed or deleted meanwhile; try again"))
        }
    }
}
