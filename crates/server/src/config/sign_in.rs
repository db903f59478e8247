//! How people sign in in a browser.

use std::{collections::HashSet, time::Duration};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use toolyard_authorization::{
    issuer::IssuerOrigin,
    passkey::RelyingParty,
    sign_in_rules::{ClaimRule, check_claim_rules},
};
use toolyard_platform::accounts::AccountSettings;

/// How people sign in in a browser: section `[sign_in]`.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct SignInConfig {
    /// Whether passwords are accepted.
    pub passwords: bool,
    /// Whether passkeys are accepted. They also need a host name in `server.public_url`, or `localhost`.
    pub passkeys: bool,
    /// How long a browser stays signed in without a request, in hours.
    pub idle_hours: u32,
    /// How long a browser stays signed in at all, in days.
    pub max_days: u32,
    /// Browsers in which one user can be signed in. Beyond it, the one that was used longest ago is signed out.
    pub sessions_per_user: u32,
    /// Passkeys of one user.
    pub passkeys_per_user: u32,
    /// How many accounts there may be.
    pub max_accounts: u32,
    /// The longest validity of tokens that users issue for themselves after a sign-in, in days. 0: only operators issue tokens.
    pub own_token_days: u32,
    /// Identity providers at which people sign in.
    pub issuers: Vec<IssuerConfig>,
}

impl Default for SignInConfig {
    fn default() -> Self {
        Self {
            passwords: true,
            passkeys: true,
            idle_hours: 24,
            max_days: 30,
            sessions_per_user: 20,
            passkeys_per_user: 20,
            max_accounts: 100_000,
            own_token_days: 90,
            issuers: Vec::new(),
        }
    }
}

/// An OpenID Connect provider at which people sign in.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct IssuerConfig {
    /// Its id in URLs: lower-case letters, digits and hyphens. The redirect URI is `<public URL>/sign-in/<id>/callback`.
    pub id: String,
    /// Its name on the button.
    pub name: String,
    /// The issuer, exactly as in its discovery document.
    pub issuer: String,
    /// Our client id there.
    pub client_id: String,
    /// The environment variable that holds our client secret there. Without it, the client is public.
    #[serde(default)]
    pub client_secret_env: Option<String>,
    /// The scopes to ask for.
    #[serde(default = "default_scopes")]
    pub scopes: Vec<String>,
    /// The claim that is the user's id. `email` is case-insensitive, every other claim is case-sensitive.
    #[serde(default = "default_user_claim")]
    pub user_claim: String,
    /// Whether the e-mail address must be verified (`email_verified: true`). Set it to false only if the issuer verifies every
    /// address and leaves the claim out.
    #[serde(default = "default_true")]
    pub require_email_verified: bool,
    /// Whether clients may exchange identity assertions (ID-JAG) of this issuer for access tokens: the company decides which
    /// clients its people use, and nobody is asked.
    #[serde(default)]
    pub identity_assertions: bool,
    /// Whether the issuer may be on a private network or on this machine.
    #[serde(default)]
    pub allow_private_network: bool,
    /// Who may sign in, and with which role and groups. Whom no rule names is refused.
    #[serde(default)]
    pub rules: Vec<ClaimRule>,
}

fn default_scopes() -> Vec<String> {
    ["openid", "email", "profile"].map(str::to_owned).to_vec()
}

fn default_user_claim() -> String {
    "email".to_owned()
}

fn default_true() -> bool {
    true
}

/// A mistake in the configuration, with its path.
pub(super) struct SignInMistake {
    pub(super) path: String,
    pub(super) message: String,
}

impl SignInConfig {
    pub(super) fn check(&self) -> Result<(), SignInMistake> {
        let mistake = |path: String, message: &str| SignInMistake { path, message: message.to_owned() };
        let mut ids = HashSet::new();
        for (number, issuer) in self.issuers.iter().enumerate() {
            let at = |name: &str| format!("sign_in.issuers[{number}].{name}");
            let is_id = (1..=32).contains(&issuer.id.len())
                && issuer
                    .id
                    .bytes()
                    .all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-');
            if !is_id {
                return Err(mistake(at("id"), "expected 1 to 32 lower-case letters, digits and hyphens"));
            }
            if !ids.insert(&issuer.id) {
                return Err(mistake(at("id"), "another issuer has this id"));
            }
            if !(issuer.issuer.starts_with("https://") || issuer.issuer.starts_with("http://")) {
                return Err(mistake(
                    at("issuer"),
                    "expected a URL, exactly as in the issuer's discovery document",
                ));
            }
            if issuer.name.trim().is_empty() || issuer.client_id.is_empty() {
                return Err(mistake(at("name"), "a name and a client_id are required"));
            }
            if !issuer.scopes.iter().any(|scope| scope == "openid") {
                return Err(mistake(at("scopes"), "`openid` is required"));
            }
            if issuer.rules.is_empty() {
                let message = "no rule, so nobody could sign in; `rules = [{ role = \"user\" }]` admits everyone of this issuer";
                return Err(mistake(at("rules"), message));
            }
            check_claim_rules(&issuer.rules).map_err(|error| mistake(at("rules"), &error.to_string()))?;
        }
        Ok(())
    }

    pub(crate) fn settings(&self, base_url: &str) -> AccountSettings {
        let origin = base_url.parse::<IssuerOrigin>().ok();
        let party = origin.as_ref().and_then(RelyingParty::from_issuer);
        // Browsers have passkeys only where nobody can listen.
        let is_secure =
            |party: &RelyingParty| party.origin.starts_with("https://") || party.id == "localhost";
        AccountSettings {
            passwords: self.passwords,
            passkeys: party.filter(|party| self.passkeys && is_secure(party)),
            idle: Duration::from_secs(u64::from(self.idle_hours.max(1)) * 60 * 60),
            absolute: Duration::from_secs(u64::from(self.max_days.max(1)) * 24 * 60 * 60),
            sessions_per_user: self.sessions_per_user.max(1),
            passkeys_per_user: self.passkeys_per_user,
            max_accounts: self.max_accounts,
            issuers: self.issuers.iter().map(|issuer| issuer.id.clone()).collect(),
            own_token_days: i64::from(self.own_token_days),
        }
    }
}
