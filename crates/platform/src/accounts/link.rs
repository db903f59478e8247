//! One-time links: how a user signs in for the first time, or after losing every other way.

use std::time::Duration;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::json;
use toolyard_protocol::{UserId, accounts::SignInMethod, api::Role, audit::AuditAction, secret::SecretText};

use super::{
    StartedSession, admit,
    create::{new_account, save_new},
    later,
};
use crate::{
    Actor, Platform, PlatformError,
    audit::AuditSubject,
    sealed_state::{OpenedState, SealPurpose, seal, unseal},
};

/// The id of the first operator, unless another one is chosen.
pub const FIRST_OPERATOR: &str = "operator";
/// How long a link can be used.
const LINK_VALIDITY: Duration = Duration::from_secs(24 * 60 * 60);

#[derive(Serialize, Deserialize)]
struct LinkData {
    user: UserId,
    /// When it was made, in milliseconds.
    made_at: i64,
    /// Creates the account of the first operator. Worthless as soon as there is one.
    first_operator: bool,
}

/// A link that signs a user in once.
#[derive(Debug)]
pub struct OneTimeLink {
    /// The secret part.
    pub code: SecretText,
    /// Until when it can be used.
    pub expires_at: Timestamp,
}

/// Makes a link for a user who has an account.
pub async fn create_link(
    platform: &Platform,
    actor: &Actor,
    user: &UserId,
) -> Result<OneTimeLink, PlatformError> {
    actor.require_operator()?;
    actor.refuse_client("a connected client cannot manage accounts")?;
    let account = platform.stores.accounts.find_account(user).await?;
    let account = account.ok_or_else(|| PlatformError::not_found(format_args!("account of {user}")))?;
    if account.disabled_at.is_some() {
        return Err(PlatformError::conflict("this account is disabled; enable it first"));
    }
    tracing::info!(%user, by = actor.name(), "one-time link created");
    let link = make_link(platform, user.clone(), false)?;
    platform.audit(actor, AuditAction::UserLinkCreated, AuditSubject::user(user), json!({})).await;
    Ok(link)
}

/// Makes a link for the first operator. None if there is an operator who can sign in.
pub async fn first_operator_link(
    platform: &Platform,
    user: UserId,
) -> Result<Option<OneTimeLink>, PlatformError> {
    if platform.stores.accounts.has_operator().await? {
        return Ok(None);
    }
    make_link(platform, user, true).map(Some)
}

fn make_link(platform: &Platform, user: UserId, first_operator: bool) -> Result<OneTimeLink, PlatformError> {
    let now = platform.clock.now();
    let expires_at = later(now, LINK_VALIDITY);
    let data = LinkData { user, made_at: now.as_millisecond(), first_operator };
    let code = SecretText::new(seal(platform, SealPurpose::SignInLink, expires_at, data)?);
    Ok(OneTimeLink { code, expires_at })
}

/// Signs in with a link. It works once.
pub async fn sign_in_with_link(
    platform: &Platform,
    code: &SecretText,
    device: &str,
) -> Result<StartedSession, PlatformError> {
    let opened = unseal::<LinkData>(platform, SealPurpose::SignInLink, code.expose());
    let Some(opened) = opened else {
        platform.audit_failed_sign_in(None, SignInMethod::Link).await;
        return Err(PlatformError::SignInFailed);
    };
    let signed_in = use_link(platform, &opened, device).await;
    if matches!(signed_in, Err(PlatformError::SignInFailed)) {
        platform.audit_failed_sign_in(Some(&opened.data.user), SignInMethod::Link).await;
    }
    signed_in
}

async fn use_link(
    platform: &Platform,
    opened: &OpenedState<LinkData>,
    device: &str,
) -> Result<StartedSession, PlatformError> {
    if !opened.use_once(platform).await? {
        return Err(PlatformError::SignInFailed);
    }
    let user = &opened.data.user;
    if opened.data.first_operator {
        create_first_operator(platform, user).await?;
    } else {
        // A link from before the account was enabled again, or of someone who had the same name.
        let account = platform.stores.accounts.find_account(user).await?;
        let is_current =
            account.is_some_and(|account| account.links_from.as_millisecond() <= opened.data.made_at);
        if !is_current {
            return Err(PlatformError::SignInFailed);
        }
    }
    admit(platform, user, SignInMethod::Link, device).await
}

async fn create_first_operator(platform: &Platform, user: &UserId) -> Result<(), PlatformError> {
    let accounts = &platform.stores.accounts;
    // An old link neither promotes an existing account nor creates a second operator.
    if accounts.has_operator().await? || accounts.find_account(user).await?.is_some() {
        return Err(PlatformError::SignInFailed);
    }
    let account =
        toolyard_core::ports::UserAccount { role: Role::Operator, ..new_account(platform, user.clone()) };
    save_new(platform, &account).await?;
    let detail = json!({ "role": Role::Operator.as_str(), "firstOperator": true });
    platform.audit_user(user, AuditAction::UserCreated, AuditSubject::user(user), detail).await;
    Ok(())
}
