//! How long a credential is valid.

use std::sync::Arc;

use jiff::Timestamp;
use toolyard_protocol::TokenId;

use crate::{Actor, Credential, tokens::TokenSigner};

/// How long a credential is valid. Tickets, streams and sockets check it after the request that opened them.
#[derive(Debug, Clone, Default)]
pub struct CredentialLease {
    /// When the token expires, in seconds since 1970.
    until: Option<i64>,
    /// The id of the token.
    token: Option<TokenId>,
    /// The person, who may be disabled.
    person: Option<Arc<str>>,
}

impl CredentialLease {
    /// Whether the credential has expired or was revoked.
    pub fn is_expired(&self, tokens: &TokenSigner, now: Timestamp) -> bool {
        let is_revoked = self.token.as_ref().is_some_and(|id| tokens.is_revoked(id));
        let is_disabled = self.person.as_ref().is_some_and(|name| tokens.is_disabled(name));
        is_revoked || is_disabled || self.until.is_some_and(|until| until <= now.as_second())
    }

    /// The id of the token, if the credential is a listed token.
    pub fn token_id(&self) -> Option<&TokenId> {
        self.token.as_ref()
    }
}

impl From<&Actor> for CredentialLease {
    /// An app's key does not expire.
    fn from(who: &Actor) -> Self {
        match who {
            Actor::Person { credential, name, .. } => {
                Self { person: Some(name.as_str().into()), ..credential.into() }
            }
            Actor::App(_) => Self::default(),
        }
    }
}

impl From<&Credential> for CredentialLease {
    fn from(credential: &Credential) -> Self {
        match credential {
            Credential::DevHeader | Credential::Embedded => Self::default(),
            Credential::Token { expires_at, id } => {
                Self { until: Some(*expires_at), token: id.clone(), person: None }
            }
            Credential::Client { expires_at, grant, .. } => {
                Self { until: Some(*expires_at), token: Some(grant.clone()), person: None }
            }
            // What was opened lasts as long as the session: the browser renews the cookie, and a stream cannot.
            Credential::Session { id, ends_at, .. } => {
                Self { until: Some(*ends_at), token: Some(id.clone()), person: None }
            }
            Credential::IdentityProvider { expires_at } => {
                Self { until: Some(*expires_at), token: None, person: None }
            }
        }
    }
}
