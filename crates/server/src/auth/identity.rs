//! From the headers of a request to who is asking, and for whom.
//!
//! The access rule of a route admits a request (see `admission`); its handler takes what the rule found out: [`CallerContext`] (a user
//! with a session), [`TargetUser`] (a user, session or not), [`AppEditor`] (may register and change apps), [`CuratorActor`] (may sign
//! plugins), [`AuthenticatedPerson`] (somebody with a token, no app), [`KnownActor`] (somebody we know).

use std::time::Duration;

use http::{HeaderMap, header};
use jiff::Timestamp;
use sha2::{Digest, Sha256};
use subtle::ConstantTimeEq as _;
use toolyard_core::{CallOwner, Caller, catalog::ViewScope};
use toolyard_protocol::{PackageName, TokenId, UserId};

use super::{Actor, ActorOfUser, Credential, NoUserNamed, Role, TokenError, TokenSigner};
use crate::{
    config::AuthMode,
    error::RequestError,
    state::{ServerExposure, ServerState},
};

/// Header that names a user.
pub(crate) const USER_HEADER: &str = "x-user-id";

/// How long a credential is good. What stays open looks at it.
#[derive(Debug, Clone, Default)]
pub(crate) struct CredentialLease {
    /// When the token ends, in seconds since 1970.
    until: Option<i64>,
    /// Which token.
    token: Option<TokenId>,
}

impl CredentialLease {
    /// Whether the credential is good no longer.
    pub(crate) fn is_expired(&self, tokens: &TokenSigner, now: Timestamp) -> bool {
        self.until.is_some_and(|until| until <= now.as_second()) || self.is_revoked(tokens)
    }

    /// Whether the token was called back.
    fn is_revoked(&self, tokens: &TokenSigner) -> bool {
        self.token.as_ref().is_some_and(|id| tokens.is_revoked(id))
    }
}

impl From<Actor> for CredentialLease {
    /// An app's key has no end.
    fn from(who: Actor) -> Self {
        match who {
            Actor::Person { credential, .. } => credential.into(),
            Actor::App(_) => Self::default(),
        }
    }
}

impl From<Credential> for CredentialLease {
    fn from(credential: Credential) -> Self {
        match credential {
            Credential::DevHeader | Credential::Embedded => Self::default(),
            Credential::Token { expires_at, id } => Self { until: Some(expires_at), token: id },
            Credential::IdentityProvider { expires_at } => Self { until: Some(expires_at), token: None },
        }
    }
}

/// Why nobody is let in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AuthRefusal {
    /// No `X-User-Id`; told in the old form.
    NoUser,
    /// No session; told in the old form.
    NoSession,
    /// A token or key is needed.
    NoCredential,
    /// The token or key is not believed.
    BadCredential(String),
    /// Known, and not allowed.
    Forbidden(&'static str),
    /// Known, and asking too often: how long to wait.
    RateLimited(Duration),
}

impl std::fmt::Display for AuthRefusal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::NoUser => f.write_str("say for which user, in X-User-Id"),
            Self::NoSession => f.write_str("this user has no session"),
            Self::NoCredential => f.write_str("send `Authorization: Bearer` with a token or an app's key"),
            Self::BadCredential(why) => f.write_str(why),
            Self::Forbidden(why) => f.write_str(why),
            Self::RateLimited(wait) => {
                write!(f, "too many requests; try again in {} s", wait.as_secs() + 1)
            }
        }
    }
}

/// Somebody we know.
#[derive(Clone)]
pub(crate) struct KnownActor(pub(crate) Actor);

/// A person: by token, or in dev mode by name alone. No app.
#[derive(Clone)]
pub(crate) struct AuthenticatedPerson {
    pub(crate) name: String,
    pub(crate) role: Role,
    pub(crate) actor: Actor,
    /// For whom they ask; nobody in dev mode, where nobody is named.
    pub(crate) user: Option<UserId>,
}

/// A user, named by a credential that may; with or without a session.
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

/// A user with a session, and what of the user's tools the caller sees.
#[derive(Debug, Clone)]
pub(crate) struct CallerContext {
    pub(crate) user: UserId,
    pub(crate) caller: Caller,
    pub(crate) scope: ViewScope,
    /// How long that is so.
    pub(crate) lease: CredentialLease,
}

impl CallerContext {
    /// To whom belongs what is started here.
    pub(crate) fn call_owner(&self) -> CallOwner {
        CallOwner { user: self.user.clone(), caller: self.caller.clone() }
    }
}

/// Whoever may sign plugins and call them back.
#[derive(Clone)]
pub(crate) struct CuratorActor(pub(crate) Actor);

/// Whoever may register and change apps: a developer their own, an operator all, an app itself.
#[derive(Clone)]
pub(crate) struct AppEditor(pub(crate) Actor);

fn header_text<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    headers.get(name).and_then(|value| value.to_str().ok())
}

/// The user whom the header names.
pub(crate) fn user_from_header(headers: &HeaderMap) -> Result<Option<UserId>, RequestError> {
    let mut values = headers.get_all(USER_HEADER).iter();
    let Some(value) = values.next() else { return Ok(None) };
    // Which of two was meant, a proxy in front of us may see differently.
    if values.next().is_some() {
        return Err(RequestError::invalid_request(format!(
            "{USER_HEADER}: sent more than once; send it once"
        )));
    }
    // Unreadable is not the same as missing: the request would be somebody else's.
    let text = std::str::from_utf8(value.as_bytes())
        .map_err(|_| RequestError::invalid_request(format!("{USER_HEADER}: expected UTF-8")))?;
    if text.is_empty() {
        return Ok(None);
    }
    text.parse().map(Some).map_err(|error| RequestError::invalid_request(format!("{USER_HEADER}: {error}")))
}

/// Whether a page of another site makes the browser send this request, as with a picture or a link. A request with an
/// Origin was judged by that already. Another port of this machine counts as the same site to a browser, not to us.
fn is_cross_site(headers: &HeaderMap) -> bool {
    let site = header_text(headers, "sec-fetch-site");
    site.is_some_and(|site| !matches!(site, "same-origin" | "none")) && !headers.contains_key(header::ORIGIN)
}

/// Who is asking, by credential; in dev mode by header.
pub(crate) async fn identify_actor(state: &ServerState, headers: &HeaderMap) -> Result<Actor, RequestError> {
    let bearer = header_text(headers, header::AUTHORIZATION.as_str()).and_then(|text| {
        let (scheme, credential) = text.split_once(' ')?;
        scheme.eq_ignore_ascii_case("bearer").then_some(credential.trim())
    });
    match bearer {
        Some(credential) => actor_by_credential(state, credential).await,
        None if headers.contains_key(header::AUTHORIZATION) => {
            Err(AuthRefusal::BadCredential("expected `Authorization: Bearer …`".to_owned()).into())
        }
        None if state.exposure == ServerExposure::Embedded => {
            let user = user_from_header(headers)?.ok_or(AuthRefusal::NoUser)?;
            let (name, credential) = (user.as_str().to_owned(), Credential::Embedded);
            Ok(Actor::Person { name, role: Role::User, credential })
        }
        None if state.auth_mode == AuthMode::Dev && is_cross_site(headers) => Err(AuthRefusal::Forbidden(
            "a web page of another site sent this request, and in dev mode no credential shows that you wanted it; \
             open this address yourself, or send a token",
        )
        .into()),
        None if state.auth_mode == AuthMode::Dev => Ok(match user_from_header(headers)? {
            Some(user) => Actor::Person {
                name: user.as_str().to_owned(),
                role: Role::Operator,
                credential: Credential::DevHeader,
            },
            None => Actor::Person { name: "dev".to_owned(), role: Role::Operator, credential: Credential::DevHeader },
        }),
        None => Err(AuthRefusal::NoCredential.into()),
    }
}

/// An app's key is `package:key`; a token has no colon.
pub(crate) async fn actor_by_credential(
    state: &ServerState,
    credential: &str,
) -> Result<Actor, RequestError> {
    if let Some((package, key)) = credential.split_once(':') {
        let refused = || AuthRefusal::BadCredential("the API key does not fit this app".to_owned());
        let package: PackageName = package.parse().map_err(|_| refused())?;
        let app = state.catalog.find_app(&package).await?.ok_or_else(refused)?;
        let keys = app.head.record.keys().ok_or_else(refused)?;
        let fits = bool::from(Sha256::digest(key.as_bytes()).as_slice().ct_eq(&keys.key_hash));
        return if fits { Ok(Actor::App(app)) } else { Err(refused().into()) };
    }
    let now = state.clock.now();
    let error = match state.tokens.verify(credential, now) {
        Ok(claims) => {
            let credential = Credential::Token { expires_at: claims.exp, id: claims.jti.clone() };
            // Folded like every other name: one person has one name as a developer and as a user. A name that no user can
            // have, such as that of a build, stays as it is and acts for nobody.
            let name =
                claims.sub.parse().map_or_else(|_| claims.sub.clone(), |user: UserId| user.to_string());
            return Ok(Actor::Person { name, role: claims.role, credential });
        }
        Err(error) => error,
    };
    match &state.oidc {
        // Surely one of ours: nobody else needs to be asked.
        Some(_) if error == TokenError::Revoked => Err(AuthRefusal::BadCredential(error.to_string()).into()),
        Some(oidc) => match oidc.verify(credential, now).await {
            Ok((user, until)) => {
                let credential = Credential::IdentityProvider { expires_at: until };
                Ok(Actor::Person { name: user.as_str().to_owned(), role: Role::User, credential })
            }
            Err(error) => Err(AuthRefusal::BadCredential(error.to_string()).into()),
        },
        None => Err(AuthRefusal::BadCredential(error.to_string()).into()),
    }
}

/// For whom a known one asks. A user for themselves; an operator for whom they name; an app for whom it names.
pub(super) fn target_user(headers: &HeaderMap, who: &Actor) -> Result<UserId, RequestError> {
    resolve_user(who, user_from_header(headers)?)
}

/// For whom an actor asks who names that user.
fn resolve_user(who: &Actor, named: Option<UserId>) -> Result<UserId, RequestError> {
    who.acting_user(named)?.map_err(|NoUserNamed| AuthRefusal::NoUser.into())
}

/// A person opens a session: by token, or in dev mode by name, so that nobody needs glasses to try something. An app's key
/// needs a user who has one.
pub(crate) async fn caller_context(
    state: &ServerState,
    who: Actor,
    named: Option<UserId>,
) -> Result<CallerContext, RequestError> {
    let user = resolve_user(&who, named)?;
    match who {
        Actor::Person { name, credential, .. } => {
            if !state.sessions.keep_alive(&user) {
                return Err(RequestError::unavailable("too many users are live; try again later"));
            }
            // An operator who acts for a user is another caller than the user.
            let is_user = name == user.as_str() || matches!(credential, Credential::DevHeader);
            let caller = if is_user { Caller::User } else { Caller::Person(name.as_str().into()) };
            Ok(CallerContext { user, caller, scope: ViewScope::Everything, lease: credential.into() })
        }
        Actor::App(app) => {
            if !state.sessions.is_live(&user) {
                return Err(AuthRefusal::NoSession.into());
            }
            let package = app.head.package();
            let installs = state.stores.installs.list_installs(&user).await?;
            // Not installed looks like not there: an app must not learn who else is.
            let install =
                installs.iter().find(|install| install.package == *package).ok_or(AuthRefusal::NoSession)?;
            let assistant = app.head.record.assistant || install.assistant;
            let scope = if assistant { ViewScope::Everything } else { ViewScope::Package(package.clone()) };
            Ok(CallerContext {
                user,
                caller: Caller::App(package.clone()),
                scope,
                lease: CredentialLease::default(),
            })
        }
    }
}

/// Who asks, and for whom, out of the headers of a request.
pub(crate) async fn caller_from_headers(
    state: &ServerState,
    headers: &HeaderMap,
) -> Result<CallerContext, RequestError> {
    let who = identify_actor(state, headers).await?;
    caller_context(state, who, user_from_header(headers)?).await
}
