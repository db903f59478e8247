//! Who makes a change: a person with a role, or an app, and the credential.

use std::sync::Arc;

use toolyard_core::catalog::AppEntry;
use toolyard_protocol::{PackageName, TokenId, UserId, accounts::SignInMethod, api::Role};

use crate::{PlatformError, clients::ClientAccess};

/// An actor with a verified credential.
#[derive(Debug, Clone)]
pub enum Actor {
    /// A person, or a program with a person's token.
    Person {
        /// Their name.
        name: String,
        /// Their role.
        role: Role,
        /// How they authenticated.
        credential: Credential,
    },
    /// An app with its API key.
    App(Arc<AppEntry>),
}

/// How a person authenticated.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Credential {
    /// Dev mode: the `X-User-Id` header.
    DevHeader,
    /// This process itself: the platform is embedded in the calling program.
    Embedded,
    /// A token of this server.
    Token {
        /// When it expires, in seconds since 1970.
        expires_at: i64,
        /// Its id, if it is listed.
        id: Option<TokenId>,
    },
    /// An access token of a client that the user connected.
    Client {
        /// When it expires, in seconds since 1970.
        expires_at: i64,
        /// The grant, whose id the token has.
        grant: TokenId,
        /// What the user granted.
        access: Arc<ClientAccess>,
    },
    /// The cookie of a browser in which the user signed in.
    Session {
        /// When the cookie expires if it is not used, in seconds since 1970.
        expires_at: i64,
        /// The session.
        id: TokenId,
        /// How the user signed in.
        method: SignInMethod,
        /// When the cookie was issued, in seconds since 1970.
        issued_at: i64,
        /// When the user signed in, in seconds since 1970.
        started_at: i64,
        /// When the session ends at the latest, in seconds since 1970.
        ends_at: i64,
    },
    /// A token of the configured identity provider.
    IdentityProvider {
        /// When it expires, in seconds since 1970.
        expires_at: i64,
    },
}

/// The actor may act for any user, but named none.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NoUserNamed;

impl Actor {
    /// The name under which changes are recorded.
    pub fn name(&self) -> String {
        match self {
            Self::Person { name, .. } => name.clone(),
            Self::App(app) => format!("app:{}", app.head.package()),
        }
    }

    /// What a client was granted, if this is a client that the user connected.
    pub fn client_access(&self) -> Option<&Arc<ClientAccess>> {
        match self {
            Self::Person { credential: Credential::Client { access, .. }, .. } => Some(access),
            Self::Person { .. } | Self::App(_) => None,
        }
    }

    /// Whether it is an operator.
    pub fn is_operator(&self) -> bool {
        matches!(self, Self::Person { role: Role::Operator, .. })
    }

    /// Whether it is an app.
    pub fn is_app(&self) -> bool {
        matches!(self, Self::App(_))
    }

    /// Refuses everyone but operators.
    pub fn require_operator(&self) -> Result<(), PlatformError> {
        if self.is_operator() {
            return Ok(());
        }
        Err(PlatformError::forbidden("this needs an operator's token"))
    }

    /// Refuses apps; what they may change themselves is checked in the verbs.
    pub fn require_person(&self, why: &'static str) -> Result<(), PlatformError> {
        if self.is_app() { Err(PlatformError::forbidden(why)) } else { Ok(()) }
    }

    /// Refuses a client that the user connected: some decisions are the user's own.
    pub fn refuse_client(&self, why: &'static str) -> Result<(), PlatformError> {
        if self.client_access().is_some() { Err(PlatformError::forbidden(why)) } else { Ok(()) }
    }

    /// Whether this actor may see and change a package that belongs to `owner`.
    pub fn may_change(&self, owner: &str, package: &PackageName) -> bool {
        match self {
            Self::Person { role: Role::Operator, .. } => true,
            Self::Person { role: Role::Developer | Role::Curator, name, .. } => name == owner,
            Self::Person { role: Role::User, .. } => false,
            Self::App(app) => app.head.package() == package,
        }
    }

    /// The user this actor acts for: users act for themselves, operators and apps for the user they name.
    pub fn acting_user(&self, named: Option<UserId>) -> Result<Result<UserId, NoUserNamed>, PlatformError> {
        match (self, named) {
            (Self::Person { role: Role::Operator, .. } | Self::App(_), Some(user)) => Ok(Ok(user)),
            (Self::App(_) | Self::Person { credential: Credential::DevHeader, .. }, None) => {
                Ok(Err(NoUserNamed))
            }
            (Self::Person { name, .. }, named) => {
                let own: UserId = name
                    .parse()
                    .map_err(|_| PlatformError::BadCredential("the token names no user".to_owned()))?;
                match named {
                    Some(other) if other != own => {
                        Err(PlatformError::forbidden("this token is for another user"))
                    }
                    _ => Ok(Ok(own)),
                }
            }
        }
    }
}

/// A user, and who acts for them.
#[derive(Debug, Clone)]
pub struct ActorOfUser {
    /// The user.
    pub user: UserId,
    /// The actor.
    pub actor: Actor,
}

impl ActorOfUser {
    /// Whether the actor is the user in person, and not someone who acts for the user, or a client that the user connected.
    pub fn is_user_in_person(&self) -> bool {
        match &self.actor {
            Actor::Person { credential: Credential::Client { .. }, .. } => false,
            Actor::Person { name, credential, .. } => {
                name == self.user.as_str() || *credential == Credential::DevHeader
            }
            Actor::App(_) => false,
        }
    }
}
