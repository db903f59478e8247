//! Signing in at an identity provider. Its rules decide who may, and with which role and groups, at every sign-in.

use toolyard_authorization::sign_in_rules::AccountAccess;
use toolyard_core::ports::UserAccount;
use toolyard_protocol::{UserId, accounts::SignInMethod};

use super::{
    StartedSession,
    change::save_changed,
    checked_email, checked_groups, checked_name,
    create::{new_account, save_new},
    session,
};
use crate::{Platform, PlatformError};

/// Who an issuer says it is. The signature was verified.
#[derive(Debug)]
pub struct IssuedIdentity {
    /// The id of the issuer in our configuration.
    pub issuer_id: String,
    /// The issuer.
    pub issuer: String,
    /// Who it is there, for good.
    pub subject: String,
    /// Who it is here.
    pub user: UserId,
    /// The e-mail address, if the issuer verified it.
    pub email: Option<String>,
    /// The name.
    pub name: Option<String>,
    /// What the rules allow. None: no rule admits this person.
    pub access: Option<AccountAccess>,
}

/// Why someone whom an issuer knows is not signed in.
#[derive(Debug, thiserror::Error)]
pub enum IssuerRefusal {
    /// No rule admits this person.
    #[error("no rule of this issuer admits the account")]
    NotAllowed,
    /// The account is disabled.
    #[error("the account is disabled")]
    Disabled,
    /// Someone who signs in otherwise has this user id.
    #[error("an account with this user id exists, and signs in otherwise")]
    Taken,
    /// It failed here.
    #[error(transparent)]
    Failed(#[from] PlatformError),
}

impl From<toolyard_core::ports::StoreError> for IssuerRefusal {
    fn from(error: toolyard_core::ports::StoreError) -> Self {
        Self::Failed(error.into())
    }
}

/// Signs in a person whom an issuer knows. The first time an account is created, or one that has no way to sign in yet is
/// taken over.
pub async fn sign_in_from_issuer(
    platform: &Platform,
    identity: IssuedIdentity,
    device: &str,
) -> Result<StartedSession, IssuerRefusal> {
    let access = identity.access.as_ref().ok_or(IssuerRefusal::NotAllowed)?;
    let before = find_or_create(platform, &identity).await?;
    if before.disabled_at.is_some() {
        return Err(IssuerRefusal::Disabled);
    }
    let account = UserAccount {
        role: access.role,
        groups: checked_groups(access.groups.iter().cloned().collect())?,
        // What the issuer does not tell stays.
        name: checked_name("name", identity.name).ok().flatten().or(before.name.clone()),
        managed_by: Some(identity.issuer_id),
        ..before.clone()
    };
    save_changed(platform, &account).await?;
    if account.role != before.role {
        session::end_all_sessions(platform, &account.id).await?;
    }
    if account.role < before.role {
        session::revoke_tokens(platform, &account.id).await?;
    }
    Ok(session::start(platform, &account, SignInMethod::Issuer, device).await?)
}

async fn find_or_create(
    platform: &Platform,
    identity: &IssuedIdentity,
) -> Result<UserAccount, IssuerRefusal> {
    let (accounts, sign_in) = (&platform.stores.accounts, &platform.stores.sign_in);
    let known = sign_in.find_identity(&identity.issuer, &identity.subject).await?;
    if let Some(user) = known {
        let account = accounts.find_account(&user).await?;
        return account.ok_or(IssuerRefusal::Failed(PlatformError::SignInFailed));
    }
    let account = match accounts.find_account(&identity.user).await? {
        Some(account) => {
            // Two issuers may know two people by the same address.
            let methods = sign_in.sign_in_methods(&account.id).await?;
            if methods.password.is_some() || !methods.passkeys.is_empty() || methods.identities > 0 {
                return Err(IssuerRefusal::Taken);
            }
            account
        }
        None => create_account(platform, identity).await?,
    };
    if sign_in.add_identity(&identity.issuer, &identity.subject, &account.id).await? {
        Ok(account)
    } else {
        Err(IssuerRefusal::Taken)
    }
}

async fn create_account(
    platform: &Platform,
    identity: &IssuedIdentity,
) -> Result<UserAccount, PlatformError> {
    let email = checked_email(identity.email.clone()).ok().flatten();
    let account = UserAccount { email, ..new_account(platform, identity.user.clone()) };
    match save_new(platform, &account).await {
        // Another account has the address; it is not needed.
        Err(PlatformError::Conflict(_)) => {
            let account = UserAccount { email: None, ..account };
            save_new(platform, &account).await?;
            Ok(account)
        }
        saved => saved.map(|()| account),
    }
}
