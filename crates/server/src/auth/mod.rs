//! Authentication and authorization of requests.
//!
//! | who | credential |
//! | --- | --- |
//! | user, developer, curator, operator | `Authorization: Bearer` + a token of this server, or of the configured issuer |
//! | the same, in a browser | a cookie, from this server's own pages only |
//! | app | `Authorization: Bearer package:key`; names a user in `X-User-Id` |
//! | anyone, in dev mode on loopback | `X-User-Id` alone; without it, the operator |

mod admission;
mod cookie;
mod identity;
mod issue;
mod oidc;
mod scrape_token;

pub(crate) use self::admission::GuardedHandler;
pub(crate) use self::cookie::{
    SessionCookies, actor_by_cookie, actor_by_returning_cookie, cookie_value, ended_cookie, session_cookie,
    session_times, set_cookie,
};
pub(crate) use self::identity::{
    AppEditor, AuthenticatedPerson, CallerContext, CuratorActor, KnownActor, TargetUser, USER_HEADER,
    actor_by_credential, app_of_socket, bearer_credential, caller_context, caller_from_headers,
    identify_actor, require_scope, routed_user, user_from_header,
};
pub(crate) use self::oidc::user_from_claims;
pub(crate) use self::scrape_token::ScrapeToken;
pub use self::{
    identity::AuthRefusal,
    issue::{OfflineToken, TokenListing, issue_offline},
    oidc::OidcVerifier,
};
pub use toolyard_platform::{
    Actor, ActorOfUser, Credential, CredentialLease, NoUserNamed,
    tokens::{TokenDetails, TokenError, TokenSigner},
};
pub use toolyard_protocol::api::Role;
