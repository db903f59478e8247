//! Signing in at an identity provider. Its rules decide who may, and with which role and groups, at every sign-in.

use serde_json::json;
use toolyard_authorization::sign_in_rules::AccountAccess;
use toolyard_core::ports::{RevokedTokens, UserAccount};
use toolyard_protocol::{UserId, accounts::SignInMethod, audit::AuditAction};

use super::{
    StartedSession,
    change::save_changed,
    checked_email, checked_groups, checked_name,
    create::{new_account, save_new},
    session,
};
use crate::{Platform, PlatformError, audit::AuditSubject};

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

impl IssuerRefusal {
    /// Whether the person was refused, as opposed to a failure of this server.
    fn is_refusal(&self) -> bool {
        match self {
            Self::NotAllowed | Self::Disabled | Self::Taken => true,
            Self::Failed(error) => matches!(error, PlatformError::SignInFailed),
        }
    }
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
    let known = platform.stores.sign_in.find_identity(&identity.issuer, &identity.subject).await?;
    let signed_in = sign_in_known(platform, &identity, known.as_ref(), device).await;
    if matches!(&signed_in, Err(error) if error.is_refusal()) {
        platform.audit_failed_sign_in(known.as_ref(), SignInMethod::Issuer).await;
    }
    signed_in
}

async fn sign_in_known(
    platform: &Platform,
    identity: &IssuedIdentity,
    known: Option<&UserId>,
    device: &str,
) -> Result<StartedSession, IssuerRefusal> {
    let Some(access) = &identity.access else {
        // The provider no longer admits them, so nothing that they have here may go on.
        if let Some(user) = known {
            session::end_everything(platform, user).await?;
        }
        return Err(IssuerRefusal::NotAllowed);
    };
    let before = match known {
        Some(user) => platform.stores.accounts.find_account(user).await?,
        None => Some(find_or_create(platform, identity).await?),
    };
    let before = before.ok_or(PlatformError::SignInFailed)?;
    if before.disabled_at.is_some() {
        return Err(IssuerRefusal::Disabled);
    }
    let account = UserAccount {
        role: access.role,
        groups: checked_groups(access.groups.iter().cloned().collect())?,
        // What the issuer does not tell stays.
        name: checked_name("name", identity.name.clone()).ok().flatten().or(before.name.clone()),
        managed_by: Some(identity.issuer_id.clone()),
        ..before.clone()
    };
    save_changed(platform, &before, &account).await?;
    if account.role != before.role {
        let detail = json!({
            "from": before.role.as_str(),
            "to": account.role.as_str(),
            "issuer": identity.issuer_id,
        });
        let subject = AuditSubject::user(&account.id);
        platform.audit_user(&account.id, AuditAction::UserRoleChanged, subject, detail).await;
    }
    let sign_in = &platform.stores.sign_in;
    if !sign_in.add_identity(&identity.issuer, &identity.subject, &account.id).await? {
        return Err(IssuerRefusal::Taken);
    }
    if account.role != before.role {
        session::end_all_sessions(platform, &account.id).await?;
    }
    if account.role < before.role {
        session::revoke_tokens(platform, &account.id, RevokedTokens::OwnAndIssued).await?;
    }
    Ok(session::start(platform, &account, SignInMethod::Issuer, device).await?)
}

/// The account of someone who comes for the first time.
async fn find_or_create(
    platform: &Platform,
    identity: &IssuedIdentity,
) -> Result<UserAccount, IssuerRefusal> {
    let Some(account) = platform.stores.accounts.find_account(&identity.user).await? else {
        let account = create_account(platform, identity).await?;
        let detail = json!({ "role": account.role.as_str(), "issuer": identity.issuer_id });
        let subject = AuditSubject::user(&account.id);
        platform.audit_user(&account.id, AuditAction::UserCreated, subject, detail).await;
        return Ok(account);
    };
    // Two issuers may know two people by the same address, and a link is a way to sign in as well.
    let methods = platform.stores.sign_in.sign_in_methods(&account.id).await?;
    let is_used = methods.password.is_some()
        || !methods.passkeys.is_empty()
        || methods.identities > 0
        || account.last_seen_at.is_some();
    if is_used { Err(IssuerRefusal::Taken) } else { Ok(account) }
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
