//! From the headers of a request to who is asking, and for whom.
//!
//! Handlers take one of six extractors and ask nobody else: [`ActingFor`] (a user with a session), [`ForUser`] (a user,
//! session or not), [`Builder`] (whoever may register and change apps), [`Curator`] (whoever may sign plugins),
//! [`Person`] (somebody with a token, no app), [`Anybody`] (somebody we know).

use std::{sync::Arc, time::Duration};

use axum::{extract::FromRequestParts, http::request::Parts, response::Response};
use http::{HeaderMap, header};
use jiff::Timestamp;
use sha2::{Digest, Sha256};
use subtle::ConstantTimeEq as _;
use toolyard_core::{
    CallOwner, Caller,
    catalog::{AppEntry, Scope},
};
use toolyard_protocol::{PackageName, TokenId, UserId};

use super::{Role, TokenError, Tokens};
use crate::{config::AuthMode, error::Failure, state::AppState};

/// Header that names a user.
pub(crate) const USER_HEADER: &str = "x-user-id";

/// Somebody we know.
#[derive(Debug, Clone)]
pub enum Identity {
    /// A person with a token, or in dev mode somebody who says so.
    Person {
        /// Who.
        name: String,
        /// What they may do.
        role: Role,
        /// Why it is believed.
        proof: Proof,
    },
    /// An app with its key.
    App(Arc<AppEntry>),
}

/// Why a person is believed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Proof {
    /// Dev mode: a header says so.
    Header,
    /// A token.
    Token {
        /// When it ends, in seconds since 1970.
        until: i64,
        /// Which one, where a list of it is kept.
        id: Option<TokenId>,
    },
    /// A token of an OIDC issuer.
    Issuer {
        /// When it ends, in seconds since 1970.
        until: i64,
    },
}

/// How long a credential is good. What stays open looks at it.
#[derive(Debug, Clone, Default)]
pub(crate) struct Lease {
    /// When the token ends, in seconds since 1970.
    until: Option<i64>,
    /// Which token.
    token: Option<TokenId>,
}

impl Lease {
    /// Whether the credential is good no longer.
    pub(crate) fn is_over(&self, tokens: &Tokens, now: Timestamp) -> bool {
        self.until.is_some_and(|until| until <= now.as_second()) || self.is_revoked(tokens)
    }

    /// Whether the token was called back.
    fn is_revoked(&self, tokens: &Tokens) -> bool {
        self.token.as_ref().is_some_and(|id| tokens.is_revoked(id))
    }
}

impl From<Identity> for Lease {
    /// An app's key has no end.
    fn from(who: Identity) -> Self {
        match who {
            Identity::Person { proof, .. } => proof.into(),
            Identity::App(_) => Self::default(),
        }
    }
}

impl From<Proof> for Lease {
    fn from(proof: Proof) -> Self {
        match proof {
            Proof::Header => Self::default(),
            Proof::Token { until, id } => Self { until: Some(until), token: id },
            Proof::Issuer { until } => Self { until: Some(until), token: None },
        }
    }
}

/// Why nobody is let in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Refusal {
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

impl std::fmt::Display for Refusal {
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
pub(crate) struct Anybody(pub(crate) Identity);

/// A person: by token, or in dev mode by name alone. No app.
pub(crate) struct Person {
    pub(crate) name: String,
    pub(crate) role: Role,
    pub(crate) proof: Proof,
    /// For whom they ask; nobody in dev mode, where nobody is named.
    pub(crate) user: Option<UserId>,
}

/// A user, named by a credential that may; with or without a session.
pub(crate) struct ForUser {
    pub(crate) user: UserId,
    pub(crate) lease: Lease,
}

/// A user with a session, and what of the user's tools the caller sees.
#[derive(Debug, Clone)]
pub(crate) struct ActingFor {
    pub(crate) user: UserId,
    pub(crate) caller: Caller,
    pub(crate) scope: Scope,
    /// How long that is so.
    pub(crate) lease: Lease,
}

impl ActingFor {
    /// To whom belongs what is started here.
    pub(crate) fn owner(&self) -> CallOwner {
        CallOwner { user: self.user.clone(), caller: self.caller.clone() }
    }
}

/// Whoever may sign plugins and call them back.
pub(crate) struct Curator(pub(crate) Identity);

/// Whoever may register and change apps: a developer their own, an operator all, an app itself.
pub(crate) struct Builder(pub(crate) Identity);

impl Identity {
    /// The name under which changes are written down.
    pub(crate) fn name(&self) -> String {
        match self {
            Self::Person { name, .. } => name.clone(),
            Self::App(app) => format!("app:{}", app.head.package()),
        }
    }

    pub(crate) fn is_operator(&self) -> bool {
        matches!(self, Self::Person { role: Role::Operator, .. })
    }

    /// Whether this one may see and change the app.
    pub(crate) fn may_change(&self, owner: &str, package: &PackageName) -> bool {
        match self {
            Self::Person { role: Role::Operator, .. } => true,
            Self::Person { role: Role::Developer | Role::Curator, name, .. } => name == owner,
            Self::Person { role: Role::User, .. } => false,
            Self::App(app) => app.head.package() == package,
        }
    }
}

fn header<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    headers.get(name).and_then(|value| value.to_str().ok())
}

/// The user whom the header names.
pub(crate) fn named_user(headers: &HeaderMap) -> Result<Option<UserId>, Failure> {
    let mut values = headers.get_all(USER_HEADER).iter();
    let Some(value) = values.next() else { return Ok(None) };
    // Which of two was meant, a proxy in front of us may see differently.
    if values.next().is_some() {
        return Err(Failure::invalid(format!("{USER_HEADER}: sent more than once; send it once")));
    }
    // Unreadable is not the same as missing: the request would be somebody else's.
    let text = std::str::from_utf8(value.as_bytes())
        .map_err(|_| Failure::invalid(format!("{USER_HEADER}: expected UTF-8")))?;
    if text.is_empty() {
        return Ok(None);
    }
    text.parse().map(Some).map_err(|error| Failure::invalid(format!("{USER_HEADER}: {error}")))
}

/// Whether a page of another site makes the browser send this request, as with a picture or a link. A request with an
/// Origin was judged by that already. Another port of this machine counts as the same site to a browser, not to us.
fn is_cross_site(headers: &HeaderMap) -> bool {
    let site = header(headers, "sec-fetch-site");
    site.is_some_and(|site| !matches!(site, "same-origin" | "none")) && !headers.contains_key(header::ORIGIN)
}

/// Who is asking, by credential; in dev mode by header.
pub(crate) async fn identify(state: &AppState, headers: &HeaderMap) -> Result<Identity, Failure> {
    let bearer = header(headers, header::AUTHORIZATION.as_str()).and_then(|text| {
        let (scheme, credential) = text.split_once(' ')?;
        scheme.eq_ignore_ascii_case("bearer").then_some(credential.trim())
    });
    match bearer {
        Some(credential) => by_credential(state, credential).await,
        None if headers.contains_key(header::AUTHORIZATION) => {
            Err(Refusal::BadCredential("expected `Authorization: Bearer …`".to_owned()).into())
        }
        None if state.auth_mode == AuthMode::Dev && is_cross_site(headers) => Err(Refusal::Forbidden(
            "a web page of another site sent this request, and in dev mode no credential shows that you wanted it; \
             open this address yourself, or send a token",
        )
        .into()),
        None if state.auth_mode == AuthMode::Dev => Ok(match named_user(headers)? {
            Some(user) => Identity::Person {
                name: user.as_str().to_owned(),
                role: Role::Operator,
                proof: Proof::Header,
            },
            None => Identity::Person { name: "dev".to_owned(), role: Role::Operator, proof: Proof::Header },
        }),
        None => Err(Refusal::NoCredential.into()),
    }
}

/// An app's key is `package:key`; a token has no colon.
pub(crate) async fn by_credential(state: &AppState, credential: &str) -> Result<Identity, Failure> {
    if let Some((package, key)) = credential.split_once(':') {
        let refused = || Refusal::BadCredential("the API key does not fit this app".to_owned());
        let package: PackageName = package.parse().map_err(|_| refused())?;
        let app = state.catalog.app(&package).await?.ok_or_else(refused)?;
        let keys = app.head.record.keys().ok_or_else(refused)?;
        let fits = bool::from(Sha256::digest(key.as_bytes()).as_slice().ct_eq(&keys.key_hash));
        return if fits { Ok(Identity::App(app)) } else { Err(refused().into()) };
    }
    let now = state.clock.now();
    let error = match state.tokens.verify(credential, now) {
        Ok(claims) => {
            let proof = Proof::Token { until: claims.exp, id: claims.jti.clone() };
            // Folded like every other name: one person has one name as a developer and as a user. A name that no user can
            // have, such as that of a build, stays as it is and acts for nobody.
            let name =
                claims.sub.parse().map_or_else(|_| claims.sub.clone(), |user: UserId| user.to_string());
            return Ok(Identity::Person { name, role: claims.role, proof });
        }
        Err(error) => error,
    };
    match &state.oidc {
        // Surely one of ours: nobody else needs to be asked.
        Some(_) if error == TokenError::Revoked => Err(Refusal::BadCredential(error.to_string()).into()),
        Some(oidc) => match oidc.verify(credential, now).await {
            Ok((user, until)) => {
                let proof = Proof::Issuer { until };
                Ok(Identity::Person { name: user.as_str().to_owned(), role: Role::User, proof })
            }
            Err(error) => Err(Refusal::BadCredential(error.to_string()).into()),
        },
        None => Err(Refusal::BadCredential(error.to_string()).into()),
    }
}

/// For whom a known one asks. A user for themselves; an operator for whom they name; an app for whom it names.
fn for_whom(headers: &HeaderMap, who: &Identity) -> Result<UserId, Failure> {
    let named = named_user(headers)?;
    match (who, named) {
        (Identity::Person { role: Role::Operator, .. } | Identity::App(_), Some(user)) => Ok(user),
        (Identity::App(_) | Identity::Person { proof: Proof::Header, .. }, None) => {
            Err(Refusal::NoUser.into())
        }
        (Identity::Person { name, .. }, named) => {
            let own: UserId =
                name.parse().map_err(|_| Refusal::BadCredential("the token names no user".to_owned()))?;
            match named {
                Some(other) if other != own => {
                    Err(Refusal::Forbidden("this token is for another user").into())
                }
                _ => Ok(own),
            }
        }
    }
}

impl FromRequestParts<AppState> for Anybody {
    type Rejection = Response;

    async fn from_request_parts(parts: &mut Parts, state: &AppState) -> Result<Self, Response> {
        Ok(Self(identify(state, &parts.headers).await?))
    }
}

impl FromRequestParts<AppState> for ForUser {
    type Rejection = Response;

    async fn from_request_parts(parts: &mut Parts, state: &AppState) -> Result<Self, Response> {
        let who = identify(state, &parts.headers).await?;
        state.management.check(&who).map_err(Failure::from)?;
        if matches!(who, Identity::App(_)) {
            return Err(Failure::from(Refusal::Forbidden("an app key cannot do this")).into());
        }
        let user = for_whom(&parts.headers, &who)?;
        Ok(Self { user, lease: who.into() })
    }
}

impl FromRequestParts<AppState> for Person {
    type Rejection = Response;

    async fn from_request_parts(parts: &mut Parts, state: &AppState) -> Result<Self, Response> {
        let who = identify(state, &parts.headers).await?;
        state.management.check(&who).map_err(Failure::from)?;
        let user = match for_whom(&parts.headers, &who) {
            Ok(user) => Some(user),
            // In dev mode nobody has to be named, and a developer's name need not be one of a user.
            Err(Failure::Refused(Refusal::NoUser | Refusal::BadCredential(_))) => None,
            Err(failure) => return Err(failure.into()),
        };
        match who {
            Identity::Person { name, role, proof } => Ok(Self { name, role, proof, user }),
            Identity::App(_) => Err(Failure::from(Refusal::Forbidden("an app key cannot do this")).into()),
        }
    }
}

impl FromRequestParts<AppState> for Builder {
    type Rejection = Response;

    async fn from_request_parts(parts: &mut Parts, state: &AppState) -> Result<Self, Response> {
        let who = identify(state, &parts.headers).await?;
        state.management.check(&who).map_err(Failure::from)?;
        match who {
            Identity::Person { role: Role::User, .. } => {
                Err(Failure::from(Refusal::Forbidden("this needs a developer's or operator's token")).into())
            }
            who => Ok(Self(who)),
        }
    }
}

impl FromRequestParts<AppState> for Curator {
    type Rejection = Response;

    async fn from_request_parts(parts: &mut Parts, state: &AppState) -> Result<Self, Response> {
        let who = identify(state, &parts.headers).await?;
        state.management.check(&who).map_err(Failure::from)?;
        match who {
            who @ Identity::Person { role: Role::Curator | Role::Operator, .. } => Ok(Self(who)),
            _ => Err(Failure::from(Refusal::Forbidden("this needs a curator's or operator's token")).into()),
        }
    }
}

impl FromRequestParts<AppState> for ActingFor {
    type Rejection = Response;

    async fn from_request_parts(parts: &mut Parts, state: &AppState) -> Result<Self, Response> {
        Ok(acting_over_mcp(state, &parts.headers).await?)
    }
}

/// A person opens a session: by token, or in dev mode by name, so that nobody needs glasses to try something. An app's key
/// needs a user who has one.
pub(crate) async fn acting(
    state: &AppState,
    who: Identity,
    headers: &HeaderMap,
) -> Result<ActingFor, Failure> {
    let user = for_whom(headers, &who)?;
    match who {
        Identity::Person { name, proof, .. } => {
            if !state.sessions.keep_alive(&user) {
                return Err(Failure::unavailable("too many users are live; try again later"));
            }
            // An operator who acts for a user is another caller than the user.
            let is_user = name == user.as_str() || matches!(proof, Proof::Header);
            let caller = if is_user { Caller::User } else { Caller::Person(name.as_str().into()) };
            Ok(ActingFor { user, caller, scope: Scope::Everything, lease: proof.into() })
        }
        Identity::App(app) => {
            if !state.sessions.is_live(&user) {
                return Err(Refusal::NoSession.into());
            }
            let package = app.head.package();
            let installs = state.stores.installs.of(&user).await?;
            // Not installed looks like not there: an app must not learn who else is.
            let install =
                installs.iter().find(|install| install.package == *package).ok_or(Refusal::NoSession)?;
            let assistant = app.head.record.assistant || install.assistant;
            let scope = if assistant { Scope::Everything } else { Scope::Package(package.clone()) };
            Ok(ActingFor { user, caller: Caller::App(package.clone()), scope, lease: Lease::default() })
        }
    }
}

/// Who asks, and for whom, out of the headers of a request.
pub(crate) async fn acting_over_mcp(state: &AppState, headers: &HeaderMap) -> Result<ActingFor, Failure> {
    let who = identify(state, headers).await?;
    acting(state, who, headers).await
}
