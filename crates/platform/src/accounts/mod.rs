//! Accounts: the people who use the platform, how they sign in, and where they are signed in.
//!
//! | to change | look in |
//! | --- | --- |
//! | an account | `create`, `change`, `delete`; `find` and `export` read |
//! | how a user signs in | `password`, `passkey`, `link`, `issuer` |
//! | programs without a browser | `device_login` |
//! | in which browsers a user is signed in | `session` |
//!
//! A failed sign-in says nothing about why: whether an account exists is nobody's business.

mod change;
mod create;
mod delete;
mod device_login;
mod export;
mod failed_attempts;
mod find;
mod issuer;
mod link;
mod passkey;
mod password;
mod password_hash;
mod session;

use std::{num::NonZeroU32, time::Duration};

use jiff::{SignedDuration, Timestamp};
use tokio::sync::Semaphore;
use toolyard_authorization::passkey::RelyingParty;
use toolyard_core::{
    policy::{CallerLimiter, RateLimit},
    ports::UserAccount,
};
use toolyard_protocol::{UserId, accounts::SignInMethod};

pub use self::{
    change::change,
    create::create,
    delete::{delete, delete_own},
    device_login::{
        DeviceLoginOutcome, StartedDeviceLogin, answer_device_login, find_device_login, redeem_device_login,
        start_device_login,
    },
    export::{export, export_own},
    find::{AccountDetails, find, list, own_account},
    issuer::{IssuedIdentity, IssuerRefusal, sign_in_from_issuer},
    link::{FIRST_OPERATOR, OneTimeLink, create_link, first_operator_link, sign_in_with_link},
    passkey::{
        add_passkey, passkey_registration_challenge, passkey_sign_in_challenge, remove_passkey,
        sign_in_with_passkey,
    },
    password::{remove_password, set_password, sign_in_with_password},
    session::{
        StartedSession, end_own_session, end_sessions, list_own_sessions, renew_session, sign_out,
        sign_out_everywhere,
    },
};
use self::{failed_attempts::FailedAttempts, password_hash::PasswordHasher};
use crate::{Actor, Credential, Platform, PlatformError};

/// Longest e-mail address, in characters (RFC 5321).
const MAX_EMAIL: usize = 254;
/// Longest name of a person, of a group, or of a passkey, in characters.
const MAX_NAME: usize = 100;
/// Groups of one account.
const MAX_GROUPS: usize = 64;
/// How long after a sign-in the ways to sign in can be changed without another one.
const RECENT_S: i64 = 15 * 60;

/// Exports at once: each is built in memory.
const EXPORTS_AT_ONCE: usize = 2;
/// Sign-in requests of all people together, on this node.
const ANONYMOUS_RATE: RateLimit =
    RateLimit { per_second: NonZeroU32::MIN.saturating_add(49), burst: NonZeroU32::MIN.saturating_add(499) };

/// How people sign in, and for how long. The operator sets it.
#[derive(Debug, Clone)]
pub struct AccountSettings {
    /// Whether passwords are accepted.
    pub passwords: bool,
    /// Who passkeys are for. None if they are not accepted, or the server has no host name.
    pub passkeys: Option<RelyingParty>,
    /// How long a browser stays signed in without a request.
    pub idle: Duration,
    /// How long a browser stays signed in at all.
    pub absolute: Duration,
    /// Browsers in which one user can be signed in.
    pub sessions_per_user: u32,
    /// Passkeys of one user.
    pub passkeys_per_user: u32,
    /// How many accounts there may be.
    pub max_accounts: u32,
    /// The ids of the issuers.
    pub issuers: Vec<String>,
    /// The longest validity of tokens that people issue for themselves, in days. 0: they cannot.
    pub own_token_days: i64,
}

/// What the verbs of this module remember.
pub struct AccountState {
    attempts: FailedAttempts,
    /// Tries of people who are signed in to find a program by its code.
    code_attempts: FailedAttempts,
    exports: Semaphore,
    passwords: PasswordHasher,
    anonymous: CallerLimiter,
}

impl AccountState {
    /// Rate limit of requests without a credential. One limit for all of them: their sender is unknown.
    pub fn check_rate(&self) -> Result<(), PlatformError> {
        self.anonymous.check("anonymous").map_err(PlatformError::RateLimited)
    }
}

impl Default for AccountState {
    fn default() -> Self {
        Self {
            attempts: FailedAttempts::new(),
            code_attempts: FailedAttempts::new(),
            exports: Semaphore::new(EXPORTS_AT_ONCE),
            passwords: PasswordHasher::new(),
            anonymous: CallerLimiter::new(ANONYMOUS_RATE),
        }
    }
}

/// A user who is signed in in a browser, or in dev mode by name. Someone with only a token cannot change how the user signs in:
/// a stolen token would become an account.
struct SignedInUser {
    user: UserId,
    session: Option<CurrentSession>,
}

struct CurrentSession {
    id: toolyard_protocol::TokenId,
    started_at: i64,
}

impl SignedInUser {
    fn new(actor: &Actor) -> Result<Self, PlatformError> {
        let refused = || {
            PlatformError::forbidden(
                "sign in in the browser: a token cannot see or change how its user signs in",
            )
        };
        let Actor::Person { name, credential, .. } = actor else { return Err(refused()) };
        let session = match credential {
            Credential::Session { id, started_at, .. } => {
                Some(CurrentSession { id: id.clone(), started_at: *started_at })
            }
            Credential::DevHeader => None,
            _ => return Err(refused()),
        };
        Ok(Self { user: name.parse().map_err(|_| refused())?, session })
    }

    /// Refuses a session that was begun a while ago: someone else may sit at the browser now.
    fn require_recent(&self, now: Timestamp) -> Result<(), PlatformError> {
        match &self.session {
            Some(session) if now.as_second() - session.started_at > RECENT_S => {
                Err(PlatformError::SignInAgain)
            }
            _ => Ok(()),
        }
    }
}

/// The account of a user in dev mode is created when it is needed first.
async fn account_of(platform: &Platform, who: &SignedInUser) -> Result<UserAccount, PlatformError> {
    if let Some(account) = platform.stores.accounts.find_account(&who.user).await? {
        return Ok(account);
    }
    if who.session.is_some() {
        return Err(PlatformError::not_found("account"));
    }
    create::ensure_account(platform, &who.user).await
}

/// The issuer that manages an account, if it is still configured. Its people sign in there, or not at all.
fn managing_issuer<'a>(platform: &Platform, account: &'a UserAccount) -> Option<&'a String> {
    account.managed_by.as_ref().filter(|id| platform.config.load().accounts.issuers.contains(id))
}

/// Refuses another way to sign in to an account that an issuer manages: it would outlive the issuer's decision.
fn require_own_account(platform: &Platform, account: &UserAccount) -> Result<(), PlatformError> {
    match managing_issuer(platform, account) {
        Some(issuer) => Err(PlatformError::conflict(format!(
            "this account is managed by the issuer `{issuer}`: sign in there, without a password or passkey"
        ))),
        None => Ok(()),
    }
}

/// The text is trimmed, and empty counts as missing.
fn checked_name(what: &str, text: Option<String>) -> Result<Option<String>, PlatformError> {
    let Some(text) = text.map(|text| text.trim().to_owned()).filter(|text| !text.is_empty()) else {
        return Ok(None);
    };
    if text.chars().count() > MAX_NAME || text.chars().any(char::is_control) {
        return Err(PlatformError::invalid(format!("{what}: expected 1 to {MAX_NAME} characters")));
    }
    Ok(Some(text))
}

/// In lower case, as it is compared.
fn checked_email(text: Option<String>) -> Result<Option<String>, PlatformError> {
    let Some(text) = text.map(|text| text.trim().to_lowercase()).filter(|text| !text.is_empty()) else {
        return Ok(None);
    };
    let is_address = text.chars().count() <= MAX_EMAIL
        && text
            .split_once('@')
            .is_some_and(|(name, host)| !name.is_empty() && !host.is_empty() && !host.contains('@'))
        && !text.chars().any(|c| c.is_control() || c.is_whitespace());
    if is_address {
        Ok(Some(text))
    } else {
        Err(PlatformError::invalid("email: expected an address, such as ada@example.com"))
    }
}

fn checked_groups(groups: Vec<String>) -> Result<Vec<String>, PlatformError> {
    let mut checked = Vec::new();
    for group in groups {
        checked.extend(checked_name("groups", Some(group))?);
    }
    checked.sort();
    checked.dedup();
    if checked.len() > MAX_GROUPS {
        return Err(PlatformError::invalid(format!("groups: at most {MAX_GROUPS}")));
    }
    Ok(checked)
}

/// Some time after another.
fn later(now: Timestamp, by: Duration) -> Timestamp {
    let by = SignedDuration::try_from(by).unwrap_or(SignedDuration::MAX);
    now.saturating_add(by).unwrap_or(Timestamp::MAX)
}

/// Signs a user in who has proved who they are.
async fn admit(
    platform: &Platform,
    user: &UserId,
    method: SignInMethod,
    device: &str,
) -> Result<StartedSession, PlatformError> {
    let account = platform.stores.accounts.find_account(user).await?;
    let account =
        account.filter(|account| account.disabled_at.is_none()).ok_or(PlatformError::SignInFailed)?;
    // An operator's link is the operator's decision.
    if method != SignInMethod::Link && managing_issuer(platform, &account).is_some() {
        return Err(PlatformError::SignInFailed);
    }
    session::start(platform, &account, method, device).await
}
