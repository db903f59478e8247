//! Tokens of this server: signed, listed by id, and revoked by id. A token is shown once and never stored.

mod disabled;
mod follow;
mod issue;
mod list;
mod revoke;
mod signer;

use toolyard_core::ports::TokenScope;
use toolyard_protocol::api::Role;

pub(crate) use self::issue::{DAY_S, DEFAULT_DAYS, MAX_DAYS, audit_token, issue_listed};
pub use self::{
    issue::{IssuedSecret, TokenDetails, TokenRequest, issue, sign_listed},
    list::list,
    revoke::revoke,
    signer::{PublicKeySet, TokenClaims, TokenError, TokenSigner},
};
use crate::{Actor, Credential, PlatformError};

/// A person who manages tokens. Apps cannot.
struct TokenHolder<'a> {
    name: &'a str,
    role: Role,
    credential: &'a Credential,
}

impl<'a> TokenHolder<'a> {
    fn new(actor: &'a Actor) -> Result<Self, PlatformError> {
        match actor {
            Actor::Person { credential: Credential::Client { .. }, .. } => {
                Err(PlatformError::forbidden("a connected client cannot manage tokens"))
            }
            Actor::Person { name, role, credential } => Ok(Self { name, role: *role, credential }),
            Actor::App(_) => Err(PlatformError::forbidden("an app key cannot do this")),
        }
    }

    /// The tokens that this person may see and revoke: all, or their own. A person of the same name from another issuer
    /// has the role `user`, so nobody reaches tokens with more rights than their own.
    fn token_scope(&self) -> TokenScope<'a> {
        TokenScope { subject: (self.role != Role::Operator).then_some(self.name), role: self.role }
    }
}
