//! Accounts: how people sign in, what they see of their own account, and what operators see of everyone's.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{
    api::Role,
    id::{TokenId, UserId},
    secret::SecretText,
};

/// How a person signed in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum SignInMethod {
    /// With a password.
    Password,
    /// With a passkey.
    Passkey,
    /// With a one-time link of an operator.
    Link,
    /// At an issuer.
    Issuer,
}

impl SignInMethod {
    /// Every method.
    pub const ALL: [Self; 4] = [Self::Password, Self::Passkey, Self::Link, Self::Issuer];

    /// The wire name of the method.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Password => "password",
            Self::Passkey => "passkey",
            Self::Link => "link",
            Self::Issuer => "issuer",
        }
    }
}

/// Response to `GET /api/sign-in`: how people can sign in here.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SignInOptions {
    /// Whether passwords are accepted.
    pub passwords: bool,
    /// Whether passkeys are accepted. They need a host name and HTTPS, or `localhost`.
    pub passkeys: bool,
    /// The identity providers.
    pub issuers: Vec<IssuerInfo>,
    /// Whether anyone on this machine may use any name.
    pub dev_mode: bool,
}

/// An identity provider.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct IssuerInfo {
    /// Its id in URLs.
    pub id: String,
    /// Its name for people.
    pub name: String,
}

/// Body of `POST /api/sign-in/password`.
#[derive(Debug, Clone, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PasswordSignIn {
    /// The user id or the e-mail address.
    pub user: String,
    /// The password.
    #[schemars(with = "String")]
    pub password: SecretText,
}

/// A challenge for a passkey.
#[derive(Debug, Clone, Serialize, Deserialize, schemars::JsonSchema)]
pub struct PasskeyChallenge {
    /// To be sent back unchanged.
    pub state: String,
    /// Options for `navigator.credentials`, in the JSON format of WebAuthn.
    pub options: Value,
}

/// Body of `POST /api/sign-in/passkey`.
#[derive(Debug, Clone, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PasskeySignIn {
    /// The state of the challenge.
    pub state: String,
    /// The credential, as `PublicKeyCredential.toJSON()` returns it.
    pub credential: Value,
}

/// Body of `POST /api/sign-in/link`.
#[derive(Debug, Clone, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LinkSignIn {
    /// The code from the link.
    #[schemars(with = "String")]
    pub code: SecretText,
}

/// Who is signed in now. The cookie of the response is the credential.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SignedIn {
    /// The user.
    pub user_id: UserId,
    /// What they may do.
    pub role: Role,
}

/// What `GET /api/me` tells of the caller's account.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct OwnAccount {
    /// The e-mail address.
    pub email: Option<String>,
    /// The name.
    pub name: Option<String>,
    /// The groups.
    pub groups: Vec<String>,
}

/// What `GET /api/me` tells of the browser session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct OwnSession {
    /// Its id.
    pub id: TokenId,
    /// How the user signed in.
    pub method: SignInMethod,
    /// When, ISO 8601.
    pub started_at: String,
    /// When it ends, however much it is used, ISO 8601.
    pub ends_at: String,
}

/// A browser in which a user is signed in.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct BrowserSessionInfo {
    /// Its id.
    pub id: TokenId,
    /// Whether it is the one that asks.
    pub current: bool,
    /// How the user signed in.
    pub method: SignInMethod,
    /// The browser and the system, as far as it says.
    pub device: String,
    /// When the user signed in, ISO 8601.
    pub started_at: String,
    /// When it was last used, ISO 8601. Updated every few minutes.
    pub last_seen_at: String,
    /// When it ends, ISO 8601.
    pub ends_at: String,
}

/// Response to `GET /api/me/sessions`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct BrowserSessionList {
    /// The sessions, the one that was used last first.
    pub sessions: Vec<BrowserSessionInfo>,
}

/// Response to `GET /api/me/sign-in`: how the caller can sign in.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SignInSettings {
    /// The password, if one is set.
    pub password: Option<PasswordInfo>,
    /// Passkeys, oldest first.
    pub passkeys: Vec<PasskeyInfo>,
    /// The name of the issuer that decides role and groups.
    pub managed_by: Option<String>,
    /// Whether this server accepts passkeys.
    pub passkeys_available: bool,
    /// Whether this server accepts passwords.
    pub passwords_available: bool,
}

/// A password that is set.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PasswordInfo {
    /// When it was set, ISO 8601.
    pub changed_at: String,
}

/// A passkey.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PasskeyInfo {
    /// Its id.
    pub id: String,
    /// What the user calls it.
    pub name: String,
    /// When it was added, ISO 8601.
    pub created_at: String,
    /// When it was last used, ISO 8601.
    pub last_used_at: Option<String>,
}

/// Body of `PUT /api/me/password`.
#[derive(Debug, Clone, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PasswordChange {
    /// The new password.
    #[schemars(with = "String")]
    pub password: SecretText,
    /// The present one, if one is set. Not needed shortly after a sign-in.
    #[serde(default)]
    #[schemars(with = "Option<String>")]
    pub current: Option<SecretText>,
}

/// Body of `POST /api/me/passkeys`.
#[derive(Debug, Clone, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NewPasskey {
    /// The state of the challenge.
    pub state: String,
    /// What the user calls it.
    pub name: String,
    /// The credential, as `PublicKeyCredential.toJSON()` returns it.
    pub credential: Value,
}

/// Body of a deletion: the id of the user, so that none is deleted by mistake.
#[derive(Debug, Clone, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DeletionConfirmation {
    /// The id of the user.
    pub confirm: UserId,
}

/// Body of `POST /api/users`.
#[derive(Debug, Clone, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct NewAccount {
    /// The user.
    pub user_id: UserId,
    /// The e-mail address.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub email: Option<String>,
    /// The name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// What they may do. Default: `user`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub role: Option<Role>,
    /// The groups.
    #[serde(default)]
    pub groups: Vec<String>,
    /// Whether to return a one-time sign-in link.
    #[serde(default)]
    pub invite: bool,
}

/// Response to `POST /api/users`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct CreatedAccount {
    /// The account.
    pub user: AccountInfo,
    /// The link, if one was wanted. It is shown once.
    pub link: Option<SignInLink>,
}

/// A one-time sign-in link.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SignInLink {
    /// The link. The first person to open it is signed in.
    pub url: String,
    /// Until when it can be used, ISO 8601.
    pub expires_at: String,
}

/// Body of `PATCH /api/users/{id}`: what changes.
#[derive(Debug, Clone, Default, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct AccountChange {
    /// The e-mail address; null removes it.
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    pub email: Option<Option<String>>,
    /// The name; null removes it.
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    pub name: Option<Option<String>>,
    /// What they may do.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub role: Option<Role>,
    /// The groups.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub groups: Option<Vec<String>>,
    /// Whether the account is disabled. Disabling ends everything that is open, and revokes tokens and clients.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub disabled: Option<bool>,
}

/// Tells null from a missing member.
fn present<'de, D: serde::Deserializer<'de>>(value: D) -> Result<Option<Option<String>>, D::Error> {
    Option::<String>::deserialize(value).map(Some)
}

/// Body of `POST /api/users/{id}/sign-out`.
#[derive(Debug, Clone, Copy, Default, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SignOutEverywhere {
    /// Whether the user's tokens are revoked too.
    #[serde(default)]
    pub tokens: bool,
    /// Whether the user's clients are disconnected too.
    #[serde(default)]
    pub clients: bool,
}

/// An account, for operators.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AccountInfo {
    /// The user.
    pub user_id: UserId,
    /// The e-mail address.
    pub email: Option<String>,
    /// The name.
    pub name: Option<String>,
    /// What they may do.
    pub role: Role,
    /// The groups.
    pub groups: Vec<String>,
    /// When it was created, ISO 8601.
    pub created_at: String,
    /// When they were last seen in a browser, ISO 8601.
    pub last_seen_at: Option<String>,
    /// Since when it is disabled, ISO 8601.
    pub disabled_at: Option<String>,
    /// The name of the issuer that decides role and groups.
    pub managed_by: Option<String>,
    /// Whether a password is set.
    pub has_password: bool,
    /// How many passkeys they have.
    pub passkeys: usize,
    /// The browsers in which they are signed in.
    pub sessions: Vec<BrowserSessionInfo>,
    /// How many tokens they have that are valid.
    pub tokens: usize,
    /// How many clients they connected.
    pub clients: usize,
    /// How many apps they installed.
    pub apps: usize,
    /// How many calls were made for them in the last 30 days.
    #[serde(rename = "calls30Days")]
    pub calls_30_days: u64,
}

/// Body of `POST /api/sign-in/device`: a program wants a token.
#[derive(Debug, Clone, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DeviceLoginRequest {
    /// What the program calls itself, such as `toolyard on my laptop`.
    pub name: String,
}

/// Response to `POST /api/sign-in/device`.
#[derive(Debug, Clone, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct DeviceLoginStarted {
    /// The secret with which the program asks for its token.
    #[schemars(with = "String")]
    pub device_code: SecretText,
    /// The code that the person compares or types.
    pub user_code: String,
    /// The page where the person types it.
    pub url: String,
    /// The page with the code.
    pub url_with_code: String,
    /// Until when the person can agree, ISO 8601.
    pub expires_at: String,
    /// How often the program may ask, in seconds.
    pub interval_s: u32,
}

/// Body of `POST /api/sign-in/device/token`.
#[derive(Debug, Clone, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct DeviceTokenRequest {
    /// The secret of the program.
    #[schemars(with = "String")]
    pub device_code: SecretText,
}

/// The token of a program that a person agreed to. It is shown once.
#[derive(Debug, Clone, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct DeviceToken {
    /// The token.
    #[schemars(with = "String")]
    pub token: SecretText,
    /// When it expires, ISO 8601.
    pub expires_at: String,
    /// Whose it is.
    pub user_id: UserId,
    /// What it may do.
    pub role: Role,
}

/// Response to `POST /api/sign-in/device/token` while the person has not answered.
#[derive(Debug, Clone, Serialize, Deserialize, schemars::JsonSchema)]
pub struct DeviceLoginPending {
    /// Always true.
    pub pending: bool,
}

/// Response to `GET /api/device-logins/{code}`: the program that asks.
#[derive(Debug, Clone, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct DeviceLoginInfo {
    /// The code.
    pub user_code: String,
    /// What the program calls itself.
    pub name: String,
    /// When it asked, ISO 8601.
    pub created_at: String,
    /// Until when it can be answered, ISO 8601.
    pub expires_at: String,
}

/// Body of `POST /api/device-logins/{code}`.
#[derive(Debug, Clone, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DeviceLoginAnswer {
    /// Whether the program gets a token.
    pub approve: bool,
    /// For how many days. Default: 30, or the operator's limit.
    #[serde(default)]
    pub days: Option<u32>,
}
