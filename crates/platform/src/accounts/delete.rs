//! Deleting an account with everything that is stored about the user.

use serde_json::json;
use toolyard_core::ports::{Change, UserAccount};
use toolyard_protocol::{UserId, accounts::DeletionConfirmation, audit::AuditAction};

use super::{SignedInUser, session::end_everything};
use crate::{Actor, Platform, PlatformError, audit::AuditSubject};

/// An operator deletes a user.
pub async fn delete(
    platform: &Platform,
    actor: &Actor,
    user: &UserId,
    request: &DeletionConfirmation,
) -> Result<(), PlatformError> {
    actor.require_operator()?;
    actor.refuse_client("a connected client cannot manage accounts")?;
    if actor.name() == user.as_str() {
        return Err(PlatformError::conflict("to delete your own account, use Settings, Account"));
    }
    delete_user(platform, user, request).await?;
    tracing::info!(%user, by = actor.name(), "user deleted");
    platform.audit(actor, AuditAction::UserDeleted, AuditSubject::user(user), json!({})).await;
    Ok(())
}

/// A user deletes their own account.
pub async fn delete_own(
    platform: &Platform,
    actor: &Actor,
    request: &DeletionConfirmation,
) -> Result<(), PlatformError> {
    let who = SignedInUser::new(actor)?;
    who.require_recent(platform.clock.now())?;
    delete_user(platform, &who.user, request).await?;
    tracing::info!(user = %who.user, "user deleted their account");
    platform.audit(actor, AuditAction::UserDeleted, AuditSubject::user(&who.user), json!({})).await;
    Ok(())
}

async fn delete_user(
    platform: &Platform,
    user: &UserId,
    request: &DeletionConfirmation,
) -> Result<(), PlatformError> {
    if request.confirm != *user {
        return Err(PlatformError::invalid(format!("confirm: expected `{user}`, the id of the user")));
    }
    if let Some(before) = platform.stores.accounts.find_account(user).await? {
        // Disabled first: nothing new may begin while the rest is deleted. This also refuses the last operator.
        let account = UserAccount { disabled_at: Some(platform.clock.now()), ..before.clone() };
        super::change::save_changed(platform, &before, &account).await?;
        platform.stores.announcements.announce(Change::UserDisabled(user.clone())).await;
    }
    end_everything(platform, user).await?;
    platform.stores.personal_data.delete_user(user).await?;
    let announcements = &platform.stores.announcements;
    announcements.announce(Change::ViewChanged(user.clone())).await;
    announcements.announce(Change::ApprovalRulesChanged(user.clone())).await;
    announcements.announce(Change::UserEnabled(user.clone())).await;
    Ok(())
}
