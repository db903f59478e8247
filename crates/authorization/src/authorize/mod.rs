//! Authorization requests: what a client asks a person for.
//!
//! There are two classes of failure. While client and redirect URI are in doubt, the person gets a page: a redirect would
//! make this server forward people and errors to any address. After that, errors go back to the client, with `state` and
//! `iss`.

mod error;
mod prompt;
mod query;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::{
    client::ClientId,
    code::{CODE_LIFETIME_S, CodeBinding},
    issuer::IssuerOrigin,
    pkce::CodeChallenge,
    redirect::{RedirectUri, code_redirect, error_redirect},
    resource::ResourceIdentifier,
    scope::ScopeSet,
};

pub use error::{AuthorizeError, AuthorizePageError, AuthorizeRefusal};
pub use prompt::{PromptSet, PromptValue};
pub use query::{AuthorizeQuery, AuthorizeRules, MAX_LOGIN_HINT_BYTES, MAX_NONCE_BYTES, MAX_STATE_BYTES};

/// An authorization request that passed all rules. Serializable, so that it can be sealed while the person signs in.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ValidAuthorizeRequest {
    /// The client.
    pub client_id: ClientId,
    /// Where the response goes, with the port that the client chose.
    pub redirect_uri: RedirectUri,
    /// Returned to the client unchanged.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub state: Option<String>,
    /// The scopes, or the default ones.
    pub scopes: ScopeSet,
    /// Scopes of others that were ignored, for the log.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unknown_scopes: Vec<String>,
    /// The challenge of PKCE.
    pub code_challenge: CodeChallenge,
    /// The resource that the token will be for.
    pub resource: ResourceIdentifier,
    /// What the person must see.
    #[serde(default, skip_serializing_if = "PromptSet::is_empty")]
    pub prompt: PromptSet,
    /// The account that the client expects. A hint: it must never choose the account without the person.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub login_hint: Option<String>,
    /// Returned in the ID token.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub nonce: Option<String>,
    /// The longest time since the person signed in, in seconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_age_s: Option<u32>,
}

impl ValidAuthorizeRequest {
    /// The redirect that brings a code to the client.
    pub fn code_location(&self, code: &str, issuer: &IssuerOrigin) -> String {
        code_redirect(&self.redirect_uri, code, self.state.as_deref(), issuer)
    }

    /// The redirect that brings an error to the client, for example that the person denied the request.
    pub fn error_location(&self, error: AuthorizeError, issuer: &IssuerOrigin) -> String {
        error_redirect(&self.redirect_uri, error.code(), &error.to_string(), self.state.as_deref(), issuer)
    }

    /// What the code is bound to, to be stored with it.
    pub fn code_binding(&self, now: Timestamp) -> CodeBinding {
        CodeBinding {
            client_id: self.client_id.clone(),
            redirect_uri: self.redirect_uri.clone(),
            resource: self.resource.clone(),
            code_challenge: self.code_challenge.clone(),
            expires_at: now.saturating_add(jiff::SignedDuration::from_secs(CODE_LIFETIME_S)).unwrap_or(now),
        }
    }

    /// Whether the person must sign in again, given when they last did.
    pub fn needs_login(&self, signed_in_at: Timestamp, now: Timestamp) -> bool {
        let age = now.as_second().saturating_sub(signed_in_at.as_second());
        self.prompt.has(PromptValue::Login) || self.max_age_s.is_some_and(|most| age > i64::from(most))
    }
}

#[cfg(test)]
mod tests;
