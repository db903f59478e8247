//! Reading accounts.

use toolyard_core::ports::{AccountQuery, BrowserSession, SignInMethods, UserAccount};
use toolyard_protocol::UserId;

use super::SignedInUser;
use crate::{Actor, Platform, PlatformError};

/// An account, how the user signs in, and where they are signed in.
#[derive(Debug)]
pub struct AccountDetails {
    /// The account.
    pub account: UserAccount,
    /// How the user signs in.
    pub methods: SignInMethods,
    /// Where they are signed in.
    pub sessions: Vec<BrowserSession>,
}

/// The account of a user, for operators.
pub async fn find(
    platform: &Platform,
    actor: &Actor,
    user: &UserId,
) -> Result<AccountDetails, PlatformError> {
    actor.require_operator()?;
    let account = platform.stores.accounts.find_account(user).await?;
    let account = account.ok_or_else(|| PlatformError::not_found(format_args!("account of {user}")))?;
    details(platform, account).await
}

async fn details(platform: &Platform, account: UserAccount) -> Result<AccountDetails, PlatformError> {
    let methods = platform.stores.sign_in.sign_in_methods(&account.id).await?;
    let sessions = &platform.stores.browser_sessions;
    let sessions = sessions.list_browser_sessions(&account.id, platform.clock.now()).await?;
    Ok(AccountDetails { account, methods, sessions })
}

/// The own account.
pub async fn own_account(platform: &Platform, actor: &Actor) -> Result<AccountDetails, PlatformError> {
    let who = SignedInUser::new(actor)?;
    let account = super::account_of(platform, &who).await?;
    details(platform, account).await
}

/// Accounts by user id, for operators.
pub async fn list(
    platform: &Platform,
    actor: &Actor,
    query: AccountQuery<'_>,
) -> Result<Vec<UserAccount>, PlatformError> {
    actor.require_operator()?;
    Ok(platform.stores.accounts.list_accounts(query).await?)
}
