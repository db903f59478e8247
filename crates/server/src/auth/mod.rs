//! Who is asking.
//!
//! | who | credential |
//! | --- | --- |
//! | user, developer, curator, operator | `Authorization: Bearer` + a token of this server, or of the configured issuer |
//! | app | `Authorization: Bearer package:key`; names a user in `X-User-Id` |
//! | anybody, in dev mode on loopback | `X-User-Id` alone; nobody named is the operator |

mod admission;
mod identity;
mod issue;
mod oidc;

pub(crate) use self::admission::Guarded;
pub(crate) use self::identity::{
    ActingFor, Anybody, Builder, Curator, ForUser, Lease, Person, USER_HEADER, acting_for, acting_over_mcp,
    by_credential, identify, named_user,
};
pub use self::{
    identity::Refusal,
    issue::{Listing, OfflineToken, issue_offline},
    oidc::Oidc,
};
pub use toolyard_platform::{
    Actor, ActorOfUser, Credential, NoUserNamed,
    tokens::{TokenDetails, TokenError, TokenSigner},
};
pub use toolyard_protocol::api::Role;
