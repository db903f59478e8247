//! Enforces the access rule of a route before its handler runs, and passes the result to the handler. A handler that extracts
//! more than its route's rule provides gets an error, so no route can be declared with too weak a rule.

use axum::{
    extract::{FromRequestParts, Request},
    handler::Handler,
    http::request::Parts,
    response::{IntoResponse as _, Response},
};
use futures_util::future::BoxFuture;
use http::header;
use toolyard_authorization::scope::OAuthScope;
use toolyard_protocol::api::ApiErrorCode;

use super::{
    Actor, AppEditor, AuthRefusal, AuthenticatedPerson, CallerContext, CuratorActor, KnownActor, Role,
    TargetUser, caller_from_headers,
    cookie::renewed_cookie,
    identity::{caller_context, identify_actor, target_user},
};
use crate::{error::RequestError, routes::RouteAccess, state::ServerState};

/// A handler behind the access rule of its route.
#[derive(Clone)]
pub(crate) struct GuardedHandler<H> {
    pub(crate) access: RouteAccess,
    pub(crate) handler: H,
}

impl<H, T> Handler<T, ServerState> for GuardedHandler<H>
where
    H: Handler<T, ServerState>,
    T: 'static,
{
    type Future = BoxFuture<'static, Response>;

    fn call(self, request: Request, state: ServerState) -> Self::Future {
        Box::pin(async move {
            let (mut parts, body) = request.into_parts();
            if let Err(failure) = admit_request(&state, self.access, &mut parts).await {
                return failure.into_response();
            }
            // What is public may be cached for everyone.
            let renewed = match self.access {
                RouteAccess::Public => None,
                _ => renewed_cookie(&state, &parts.headers).await,
            };
            let mut response = self.handler.call(Request::from_parts(parts, body), state).await;
            // A handler that sets the cookie itself signs in or out.
            if let Some(cookie) = renewed.filter(|_| !response.headers().contains_key(header::SET_COOKIE)) {
                response.headers_mut().append(header::SET_COOKIE, cookie);
                let no_store = http::HeaderValue::from_static("no-store");
                response.headers_mut().insert(header::CACHE_CONTROL, no_store);
            }
            response
        })
    }
}

const NOT_FOR_APPS: &str = "an app key cannot do this";

/// Admits a request, and stores the actor in its extensions.
async fn admit_request(
    state: &ServerState,
    access: RouteAccess,
    parts: &mut Parts,
) -> Result<(), RequestError> {
    match access {
        // Public, or the handler authenticates by itself.
        RouteAccess::Public | RouteAccess::Mcp | RouteAccess::Socket => return Ok(()),
        RouteAccess::Metrics
            if state.scrape_token.as_ref().is_some_and(|token| token.is_in(&parts.headers)) =>
        {
            return Ok(());
        }
        RouteAccess::Caller | RouteAccess::Chat | RouteAccess::Session => {
            let scope = match access {
                RouteAccess::Chat => OAuthScope::Chat,
                RouteAccess::Session => OAuthScope::Account,
                _ => OAuthScope::ToolsRead,
            };
            let acting = caller_from_headers(state, &parts.headers, scope).await?;
            parts.extensions.insert(acting);
            return Ok(());
        }
        _ => {}
    }
    let actor = identify_actor(state, &parts.headers).await?;
    match access {
        RouteAccess::Public
        | RouteAccess::Mcp
        | RouteAccess::Socket
        | RouteAccess::Caller
        | RouteAccess::Chat
        | RouteAccess::Session => {}
        RouteAccess::Authenticated => drop(parts.extensions.insert(KnownActor(actor))),
        RouteAccess::Operator | RouteAccess::Metrics => {
            actor.require_operator()?;
            parts.extensions.insert(KnownActor(actor));
        }
        RouteAccess::App => {
            if !actor.is_app() {
                let text = "this needs the app's key: `Authorization: Bearer package:key`";
                return Err(AuthRefusal::Forbidden(text).into());
            }
            parts.extensions.insert(KnownActor(actor));
        }
        RouteAccess::Person => {
            state.platform.limits.check_request(&actor)?;
            let person = authenticated_person(parts, actor)?;
            parts.extensions.insert(person);
        }
        RouteAccess::User => {
            state.platform.limits.check_request(&actor)?;
            actor.require_person(NOT_FOR_APPS)?;
            let user = target_user(&parts.headers, &actor)?;
            parts.extensions.insert(TargetUser { user, actor });
        }
        RouteAccess::Approver => {
            state.platform.limits.check_request(&actor)?;
            let user = target_user(&parts.headers, &actor)?;
            if let Actor::App(app) = &actor {
                if !state.platform.config.load().approval_apps.contains(app.head.package()) {
                    return Err(AuthRefusal::Forbidden(NOT_FOR_APPS).into());
                }
                // Also checks that the user has installed the app and has a session.
                caller_context(state, actor.clone(), Some(user.clone())).await?;
            }
            parts.extensions.insert(TargetUser { user, actor });
        }
        RouteAccess::Developer | RouteAccess::Owner => {
            state.platform.limits.check_request(&actor)?;
            if matches!(actor, Actor::Person { role: Role::User, .. }) {
                return Err(AuthRefusal::Forbidden("this needs a developer's or operator's token").into());
            }
            parts.extensions.insert(AppEditor(actor));
        }
        RouteAccess::Curator => {
            state.platform.limits.check_request(&actor)?;
            if !matches!(actor, Actor::Person { role: Role::Curator | Role::Operator, .. }) {
                return Err(AuthRefusal::Forbidden("this needs a curator's or operator's token").into());
            }
            parts.extensions.insert(CuratorActor(actor));
        }
    }
    Ok(())
}

fn authenticated_person(parts: &Parts, actor: Actor) -> Result<AuthenticatedPerson, RequestError> {
    let user = match target_user(&parts.headers, &actor) {
        Ok(user) => Some(user),
        // In dev mode no user has to be named, and a developer's name need not be a valid user id.
        Err(RequestError::Refused(AuthRefusal::NoUser | AuthRefusal::BadCredential(_))) => None,
        Err(failure) => return Err(failure),
    };
    match actor {
        Actor::Person { ref name, role, .. } => {
            Ok(AuthenticatedPerson { name: name.clone(), role, actor, user })
        }
        Actor::App(_) => Err(AuthRefusal::Forbidden(NOT_FOR_APPS).into()),
    }
}

/// What `admit_request` stored in the extensions.
fn take_admitted<T: Clone + Send + Sync + 'static>(parts: &mut Parts) -> Result<T, RequestError> {
    parts.extensions.remove().ok_or_else(|| {
        let (path, wanted) = (parts.uri.path(), std::any::type_name::<T>());
        tracing::error!(path, wanted, "route access rule does not fit its handler");
        RequestError::new(ApiErrorCode::Internal, "this route is misconfigured; see the server log")
    })
}

macro_rules! extracted {
    ($($extractor:ty),*) => {$(
        impl FromRequestParts<ServerState> for $extractor {
            type Rejection = RequestError;

            async fn from_request_parts(parts: &mut Parts, _state: &ServerState) -> Result<Self, RequestError> {
                take_admitted(parts)
            }
        }
    )*};
}

extracted!(CallerContext, KnownActor, AppEditor, CuratorActor, TargetUser, AuthenticatedPerson);
