//! Who is asking.
//!
//! | who | credential |
//! | --- | --- |
//! | user, developer, curator, operator | `Authorization: Bearer` + a token of this server, or of the configured issuer |
//! | app | `Authorization: Bearer package:key`; names a user in `X-User-Id` |
//! | anybody, in dev mode on loopback | `X-User-Id` alone; nobody named is the operator |

mod identity;
mod issue;
mod oidc;
mod tokens;

pub(crate) use self::identity::{
    ActingFor, Anybody, Builder, Curator, ForUser, Lease, Person, USER_HEADER, acting, acting_over_mcp,
    by_credential, identify, named_user,
};
pub(crate) use self::issue::issue;
pub use self::{
    identity::{Identity, Proof, Refusal},
    issue::{Listing, OfflineToken, Wanted, issue_offline},
    oidc::Oidc,
    tokens::{Claims, Role, TokenError, Tokens},
};
