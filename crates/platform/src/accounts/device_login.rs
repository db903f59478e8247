//! `toolyard login`, and other programs that have no browser: a person agrees in one, and the program gets a token.

use std::time::Duration;

use serde_json::json;
use sha2::{Digest as _, Sha256};
use toolyard_authorization::device::{UserCode, device_code_from_bytes};
use toolyard_core::ports::{DeviceLogin, DeviceLoginConsent, RedeemedDeviceLogin};
use toolyard_protocol::{UserId, accounts::DeviceLoginAnswer, audit::AuditAction, secret::SecretText};

use super::{SignedInUser, checked_name, later};
use crate::{
    Actor, Platform, PlatformError,
    audit::AuditSubject,
    tokens::{DAY_S, DEFAULT_DAYS, IssuedSecret, MAX_DAYS, TokenDetails, audit_token, issue_listed},
};

/// How long a person may take.
const LOGIN_VALIDITY: Duration = Duration::from_secs(10 * 60);
/// Programs that may wait at once.
const MAX_WAITING: u32 = 1_000;

/// A program that waits, and its secret.
#[derive(Debug)]
pub struct StartedDeviceLogin {
    /// The secret with which the program asks for its token.
    pub device_code: SecretText,
    /// The code that the person compares.
    pub user_code: UserCode,
    /// The rest.
    pub login: DeviceLogin,
}

/// What a program that asks for its token gets.
#[derive(Debug)]
pub enum DeviceLoginOutcome {
    /// Nobody has answered yet.
    Waiting,
    /// The token.
    Token(IssuedSecret),
}

/// A program asks for a token.
pub async fn start_device_login(
    platform: &Platform,
    name: String,
) -> Result<StartedDeviceLogin, PlatformError> {
    let name = checked_name("name", Some(name))?;
    let name =
        name.ok_or_else(|| PlatformError::invalid("name: say which program it is, and where it runs"))?;
    let (mut secret, mut code) = ([0; 32], [0; 8]);
    platform.ids.fill_random(&mut secret);
    platform.ids.fill_random(&mut code);
    let (device_code, user_code) = (device_code_from_bytes(secret), UserCode::from_bytes(code));
    let now = platform.clock.now();
    let login = DeviceLogin {
        user_code: user_code.as_str().to_owned(),
        name,
        created_at: now,
        until: later(now, LOGIN_VALIDITY),
        is_answered: false,
    };
    let logins = &platform.stores.device_logins;
    if !logins.add_device_login(&code_hash(&device_code), &login, MAX_WAITING).await? {
        return Err(PlatformError::Unavailable(
            "too many programs wait for a sign-in; try again later".to_owned(),
        ));
    }
    Ok(StartedDeviceLogin { device_code, user_code, login })
}

/// The program that asks, for the person who is to agree.
pub async fn find_device_login(
    platform: &Platform,
    actor: &Actor,
    typed: &str,
) -> Result<(UserCode, DeviceLogin), PlatformError> {
    let who = SignedInUser::new(actor)?;
    // So that nobody finds the programs of others by trying codes.
    platform.accounts.code_attempts.begin(who.user.as_str(), platform.clock.now())?;
    let code = UserCode::parse_typed(typed).map_err(|error| PlatformError::invalid(error.to_string()))?;
    let found = platform.stores.device_logins.find_device_login(code.as_str(), platform.clock.now()).await?;
    let found = found.ok_or_else(|| PlatformError::not_found("program that waits with this code"))?;
    platform.accounts.code_attempts.succeed(who.user.as_str());
    Ok((code, found))
}

/// A person agrees or refuses.
pub async fn answer_device_login(
    platform: &Platform,
    actor: &Actor,
    typed: &str,
    answer: &DeviceLoginAnswer,
) -> Result<(), PlatformError> {
    let (code, login) = find_device_login(platform, actor, typed).await?;
    let who = SignedInUser::new(actor)?;
    let consent = if answer.approve { Some(consent(platform, actor, &who.user, answer.days)?) } else { None };
    let logins = &platform.stores.device_logins;
    let now = platform.clock.now();
    if !logins.answer_device_login(code.as_str(), &who.user, consent.as_ref(), now).await? {
        return Err(PlatformError::conflict("this program was answered already"));
    }
    tracing::info!(user = %who.user, approved = answer.approve, "device login answered");
    let (subject, detail) =
        (AuditSubject::user(&who.user), json!({ "approved": answer.approve, "program": login.name }));
    platform.audit(actor, AuditAction::AccountDeviceLoginAnswered, subject, detail).await;
    Ok(())
}

fn consent(
    platform: &Platform,
    actor: &Actor,
    user: &UserId,
    days: Option<u32>,
) -> Result<DeviceLoginConsent, PlatformError> {
    let Actor::Person { role, .. } = actor else {
        return Err(PlatformError::forbidden("an app key cannot do this"));
    };
    let own = platform.config.load().accounts.own_token_days;
    let most = if actor.is_operator() { MAX_DAYS } else { own.min(MAX_DAYS) };
    if most <= 0 {
        let text = "tokens are issued by operators here (`sign_in.own_token_days` is 0); ask one";
        return Err(PlatformError::forbidden(text));
    }
    let days = days.map_or(DEFAULT_DAYS.min(most), i64::from);
    if !(1..=most).contains(&days) {
        return Err(PlatformError::invalid(format!("days: expected 1 to {most}, got {days}")));
    }
    // At most 365.
    let days = u32::try_from(days).unwrap_or_default();
    Ok(DeviceLoginConsent { user: user.clone(), role: *role, days })
}

/// The program asks for its token. It gets it once.
pub async fn redeem_device_login(
    platform: &Platform,
    device_code: &SecretText,
) -> Result<DeviceLoginOutcome, PlatformError> {
    let now = platform.clock.now();
    let redeemed = platform.stores.device_logins.redeem_device_login(&code_hash(device_code), now).await?;
    let (name, consent) = match redeemed {
        RedeemedDeviceLogin::Waiting => return Ok(DeviceLoginOutcome::Waiting),
        RedeemedDeviceLogin::Gone => return Err(PlatformError::SignInFailed),
        RedeemedDeviceLogin::Agreed { name, consent } => (name, consent),
    };
    // The account may have been disabled, or have lost its role, since the person agreed.
    let account = platform.stores.accounts.find_account(&consent.user).await?;
    let role = account.as_ref().map_or(consent.role, |account| account.role.min(consent.role));
    if platform.tokens.is_disabled(consent.user.as_str()) {
        return Err(PlatformError::SignInFailed);
    }
    let subject = consent.user.as_str();
    let seconds = i64::from(consent.days) * DAY_S;
    let details = TokenDetails { name: &name, subject, role, seconds, by: subject, made_with: None };
    let issued = issue_listed(platform, details).await?;
    let (target, detail) = audit_token(&issued.listed);
    platform.audit_user(&consent.user, AuditAction::TokenIssued, target, detail).await;
    Ok(DeviceLoginOutcome::Token(issued))
}

/// Stored by its hash, so that a copy of the database redeems nothing.
fn code_hash(code: &SecretText) -> [u8; 32] {
    Sha256::digest(code.expose()).into()
}
