//! Finds the actor of a request and the user it acts for.
//!
//! The access rule of a route admits a request (see `admission`). Its handler extracts the result:
//!
//! | extractor | who |
//! | --- | --- |
//! | [`KnownActor`] | anyone with a valid credential |
//! | [`AuthenticatedPerson`] | a person with a token, not an app |
//! | [`TargetUser`] | a user, with or without a session |
//! | [`CallerContext`] | a user with a session, and what the caller sees of the user's tools |
//! | [`AppEditor`] | may register and change apps |
//! | [`CuratorActor`] | may sign and revoke plugins |

use std::time::Duration;

use http::{HeaderMap, header};
use sha2::{Digest, Sha256};
use subtle::ConstantTimeEq as _;
use toolyard_authorization::scope::OAuthScope;
use toolyard_core::{CallOwner, Caller, catalog::ViewScope};
use toolyard_platform::{
    clients::ClientAccess,
    users::{self, SessionAccess},
};
use toolyard_protocol::{PackageName, UserId};

use super::{
    Actor, ActorOfUser, Credential, CredentialLease, NoUserNamed, Role, TokenError, cookie::actor_by_cookie,
};
use crate::{
    config::AuthMode,
    error::RequestError,
    state::{ServerExposure, ServerState},
};

/// The header that names a user.
pub(crate) const USER_HEADER: &str = "x-user-id";

/// Why a request is refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AuthRefusal {
    /// No `X-User-Id`. Sent in the legacy error format.
    NoUser,
    /// No session. Sent in the legacy error format.
    NoSession,
    /// A token or key is required.
    NoCredential,
    /// The token or key is invalid.
    BadCredential(String),
    /// Authenticated, but not allowed.
    Forbidden(&'static str),
    /// A connected client that the user did not allow this.
    InsufficientScope(OAuthScope),
    /// Over the rate limit: how long to wait.
    RateLimited(Duration),
}

impl std::fmt::Display for AuthRefusal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::NoUser => f.write_str("name the user in the X-User-Id header"),
            Self::NoSession => f.write_str("this user has no session"),
            Self::NoCredential => f.write_str("send `Authorization: Bearer` with a token or an app's key"),
            Self::BadCredential(why) => f.write_str(why),
            Self::Forbidden(why) => f.write_str(why),
            Self::InsufficientScope(scope) => write!(
                f,
                "the user has not allowed this client to do this; connect it again with the scope `{scope}`"
            ),
            Self::RateLimited(wait) => {
                write!(f, "too many requests; try again in {} s", wait.as_secs() + 1)
            }
        }
    }
}

/// Anyone with a valid credential.
#[derive(Clone)]
pub(crate) struct KnownActor(pub(crate) Actor);

/// A person, by token, or in dev mode by name alone. Not an app.
#[derive(Clone)]
pub(crate) struct AuthenticatedPerson {
    pub(crate) name: String,
    pub(crate) role: Role,
    pub(crate) actor: Actor,
    /// The user they act for. None if dev mode names no user.
    pub(crate) user: Option<UserId>,
}

/// The user that an actor may act for, with or without a session.
#[derive(Clone)]
pub(crate) struct TargetUser {
    pub(crate) user: UserId,
    pub(crate) actor: Actor,
}

impl From<TargetUser> for ActorOfUser {
    fn from(who: TargetUser) -> Self {
        Self { user: who.user, actor: who.actor }
    }
}

/// A user with a session, and what the caller sees of the user's tools.
#[derive(Debug, Clone)]
pub(crate) struct CallerContext {
    pub(crate) user: UserId,
    pub(crate) actor: Actor,
    pub(crate) caller: Caller,
    pub(crate) scope: ViewScope,
    /// How long the caller's credential is valid.
    pub(crate) lease: CredentialLease,
}

impl CallerContext {
    /// The user as an actor, if the caller is the user with a listed token.
    pub(crate) fn user_with_token(&self) -> Option<ActorOfUser> {
        self.lease.token_id()?;
        let actor = || ActorOfUser { user: self.user.clone(), actor: self.actor.clone() };
        (self.caller == Caller::User).then(actor)
    }

    /// The owner of everything that this caller starts.
    pub(crate) fn call_owner(&self) -> CallOwner {
        CallOwner { user: self.user.clone(), caller: self.caller.clone() }
    }
}

impl From<CallerContext> for ActorOfUser {
    fn from(who: CallerContext) -> Self {
        Self { user: who.user, actor: who.actor }
    }
}

/// A curator or operator: may sign and revoke plugins.
#[derive(Clone)]
pub(crate) struct CuratorActor(pub(crate) Actor);

/// May register and change apps: a developer their own, an operator all, an app itself.
#[derive(Clone)]
pub(crate) struct AppEditor(pub(crate) Actor);

fn header_text<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    headers.get(name).and_then(|value| value.to_str().ok())
}

/// The user that the header names.
pub(crate) fn user_from_header(headers: &HeaderMap) -> Result<Option<UserId>, RequestError> {
    let mut values = headers.get_all(USER_HEADER).iter();
    let Some(value) = values.next() else { return Ok(None) };
    // A proxy in front of us may read another one of two values than we do.
    if values.next().is_some() {
        return Err(RequestError::invalid_request(format!(
            "{USER_HEADER}: sent more than once; send it once"
        )));
    }
    // Unreadable is not the same as missing: the request would count as another user's.
    let text = std::str::from_utf8(value.as_bytes())
        .map_err(|_| RequestError::invalid_request(format!("{USER_HEADER}: expected UTF-8")))?;
    if text.is_empty() {
        return Ok(None);
    }
    text.parse().map(Some).map_err(|error| RequestError::invalid_request(format!("{USER_HEADER}: {error}")))
}

/// Whether a page of another site made the browser send this request, for example by an image or a link. Requests with an
/// Origin were already checked by it. To a browser another port of this machine is the same site; to us it is not.
fn is_cross_site(headers: &HeaderMap) -> bool {
    let site = header_text(headers, "sec-fetch-site");
    site.is_some_and(|site| !matches!(site, "same-origin" | "none")) && !headers.contains_key(header::ORIGIN)
}

/// The credential of `Authorization: Bearer`. The scheme is case-insensitive (RFC 9110).
pub(crate) fn bearer_credential(headers: &HeaderMap) -> Option<&str> {
    let (scheme, credential) = header_text(headers, header::AUTHORIZATION.as_str())?.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then_some(credential.trim())
}

/// The actor, by credential, or in dev mode by header. A connected client needs the scope `account`: what it may do without it
/// goes through [`caller_from_headers`].
pub(crate) async fn identify_actor(state: &ServerState, headers: &HeaderMap) -> Result<Actor, RequestError> {
    let actor = actor_from_headers(state, headers).await?;
    require_scope(&actor, OAuthScope::Account)?;
    Ok(actor)
}

/// Refuses a connected client that was not granted a scope. Everyone else has no scopes. For tools any of their scopes will do:
/// the executor checks which calls it allows.
pub(crate) fn require_scope(actor: &Actor, scope: OAuthScope) -> Result<(), RequestError> {
    let is_granted = |access: &ClientAccess| match scope {
        OAuthScope::ToolsRead => access.has_tools(),
        _ => access.scopes.has(&scope),
    };
    match actor.client_access() {
        Some(access) if !is_granted(access) => Err(AuthRefusal::InsufficientScope(scope).into()),
        _ => Ok(()),
    }
}

async fn actor_from_headers(state: &ServerState, headers: &HeaderMap) -> Result<Actor, RequestError> {
    match bearer_credential(headers) {
        Some(credential) => actor_by_credential(state, credential).await,
        None if headers.contains_key(header::AUTHORIZATION) => {
            Err(AuthRefusal::BadCredential("expected `Authorization: Bearer …`".to_owned()).into())
        }
        None => match actor_by_cookie(state, headers) {
            // In dev mode nobody needs a session, so an old cookie is no obstacle.
            Some(Err(_)) if state.auth_mode == AuthMode::Dev => actor_without_credential(state, headers),
            Some(by_cookie) => by_cookie,
            None => actor_without_credential(state, headers),
        },
    }
}

/// The actor of a request without a credential: an embedded server and dev mode trust every caller that reaches them.
fn actor_without_credential(state: &ServerState, headers: &HeaderMap) -> Result<Actor, RequestError> {
    match () {
        () if state.exposure == ServerExposure::Embedded => {
            let user = user_from_header(headers)?.ok_or(AuthRefusal::NoUser)?;
            let (name, credential) = (user.as_str().to_owned(), Credential::Embedded);
            Ok(Actor::Person { name, role: Role::User, credential })
        }
        () if state.auth_mode == AuthMode::Dev && is_cross_site(headers) => Err(AuthRefusal::Forbidden(
            "a web page of another site sent this request, and in dev mode no credential shows that you wanted it; \
             open this address yourself, or send a token",
        )
        .into()),
        () if state.auth_mode == AuthMode::Dev => Ok(match user_from_header(headers)? {
            Some(user) => Actor::Person {
                name: user.as_str().to_owned(),
                role: Role::Operator,
                credential: Credential::DevHeader,
            },
            None => Actor::Person { name: "dev".to_owned(), role: Role::Operator, credential: Credential::DevHeader },
        }),
        () => Err(AuthRefusal::NoCredential.into()),
    }
}

/// The actor of a credential. An app's key is `package:key`; a token has no colon.
pub(crate) async fn actor_by_credential(
    state: &ServerState,
    credential: &str,
) -> Result<Actor, RequestError> {
    if let Some((package, key)) = credential.split_once(':') {
        let refused = || AuthRefusal::BadCredential("the API key is not valid for this app".to_owned());
        let package: PackageName = package.parse().map_err(|_| refused())?;
        let app = state.catalog.find_app(&package).await?.ok_or_else(refused)?;
        let keys = app.head.record.keys().ok_or_else(refused)?;
        let fits = bool::from(Sha256::digest(key.as_bytes()).as_slice().ct_eq(&keys.key_hash));
        return if fits { Ok(Actor::App(app)) } else { Err(refused().into()) };
    }
    let now = state.clock.now();
    let error = match state.tokens.verify(credential, now) {
        Ok(claims) => {
            let credential = claims.credential();
            if state.oauth.is_none() && matches!(credential, Credential::Client { .. }) {
                let text = "this server no longer accepts connected clients".to_owned();
                return Err(AuthRefusal::BadCredential(text).into());
            }
            // Normalized like a user id, so that one person has one name as a developer and as a user. A name that is no valid
            // user id, such as that of a CI job, stays as it is and acts for no user.
            let name =
                claims.sub.parse().map_or_else(|_| claims.sub.clone(), |user: UserId| user.to_string());
            return Ok(Actor::Person { name, role: claims.role, credential });
        }
        Err(error) => error,
    };
    match &state.oidc {
        // A revoked token is certainly ours, so the identity provider is not asked.
        Some(_) if matches!(error, TokenError::Revoked | TokenError::Disabled) => {
            Err(AuthRefusal::BadCredential(error.to_string()).into())
        }
        Some(oidc) => match oidc.verify(credential, now).await {
            Ok((user, _)) if state.tokens.is_disabled(user.as_str()) => {
                Err(AuthRefusal::BadCredential(TokenError::Disabled.to_string()).into())
            }
            Ok((user, until)) => {
                let credential = Credential::IdentityProvider { expires_at: until };
                Ok(Actor::Person { name: user.as_str().to_owned(), role: Role::User, credential })
            }
            Err(error) => Err(AuthRefusal::BadCredential(error.to_string()).into()),
        },
        None => Err(AuthRefusal::BadCredential(error.to_string()).into()),
    }
}

/// The user that an actor acts for: users for themselves, operators and apps for the user that the header names.
pub(super) fn target_user(headers: &HeaderMap, who: &Actor) -> Result<UserId, RequestError> {
    resolve_user(who, user_from_header(headers)?)
}

/// The user that an actor acts for, given the user that it names.
fn resolve_user(who: &Actor, named: Option<UserId>) -> Result<UserId, RequestError> {
    who.acting_user(named)?.map_err(|NoUserNamed| AuthRefusal::NoUser.into())
}

/// The user that a request acts for, to find the node that runs it. None if nobody may act so: then any node refuses it.
pub(crate) async fn routed_user(
    state: &ServerState,
    headers: &HeaderMap,
    named: Option<UserId>,
) -> Option<UserId> {
    let actor = actor_from_headers(state, headers).await.ok()?;
    let named = named.or(user_from_header(headers).ok()?);
    actor.acting_user(named).ok()?.ok()
}

/// The user whose app opens a socket and sends its key in headers, to find the node that has the user's session.
pub(crate) async fn app_of_socket(state: &ServerState, headers: &HeaderMap) -> Option<UserId> {
    let (package, key) = (header_text(headers, "x-package-name")?, header_text(headers, "x-api-key")?);
    let actor = actor_by_credential(state, &format!("{package}:{key}")).await.ok()?;
    let user = user_from_header(headers).ok()??;
    matches!(actor, Actor::App(_)).then_some(user)
}

/// The context of a caller, in the session of the user it acts for.
pub(crate) async fn caller_context(
    state: &ServerState,
    actor: Actor,
    named: Option<UserId>,
) -> Result<CallerContext, RequestError> {
    let who = ActorOfUser { user: resolve_user(&actor, named)?, actor };
    let SessionAccess { caller, scope } = users::open_session(&state.platform, &who).await?;
    let ActorOfUser { user, actor } = who;
    Ok(CallerContext { user, caller, scope, lease: CredentialLease::from(&actor), actor })
}

/// The context of the caller that the headers identify. A connected client needs this scope.
pub(crate) async fn caller_from_headers(
    state: &ServerState,
    headers: &HeaderMap,
    scope: OAuthScope,
) -> Result<CallerContext, RequestError> {
    let who = actor_from_headers(state, headers).await?;
    require_scope(&who, scope)?;
    caller_context(state, who, user_from_header(headers)?).await
}
