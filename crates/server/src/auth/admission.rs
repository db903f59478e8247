//! Admitting a request: the access rule of its route is enforced before its handler runs. The handler receives what the rule
//! found out. One that asks for more than its route declares gets an error, so that no route can be declared too open.

use axum::{
    extract::{FromRequestParts, Request},
    handler::Handler,
    http::request::Parts,
    response::{IntoResponse as _, Response},
};
use futures_util::future::BoxFuture;
use toolyard_protocol::api::ApiErrorCode;

use super::{
    ActingFor, Actor, Anybody, Builder, Curator, ForUser, Person, Refusal, Role, acting_over_mcp,
    identity::{for_whom, identify},
};
use crate::{error::Failure, routes::Access, state::AppState};

/// A handler behind the access rule of its route.
#[derive(Clone)]
pub(crate) struct Guarded<H> {
    pub(crate) access: Access,
    pub(crate) handler: H,
}

impl<H, T> Handler<T, AppState> for Guarded<H>
where
    H: Handler<T, AppState>,
    T: 'static,
{
    type Future = BoxFuture<'static, Response>;

    fn call(self, request: Request, state: AppState) -> Self::Future {
        Box::pin(async move {
            let (mut parts, body) = request.into_parts();
            match admit(&state, self.access, &mut parts).await {
                Ok(()) => self.handler.call(Request::from_parts(parts, body), state).await,
                Err(failure) => failure.into_response(),
            }
        })
    }
}

const NOT_FOR_APPS: &str = "an app key cannot do this";

/// Lets a request in, and leaves with it who it is from.
async fn admit(state: &AppState, access: Access, parts: &mut Parts) -> Result<(), Failure> {
    match access {
        // Everyone, or they say by themselves who they are.
        Access::Public | Access::Mcp | Access::Socket => return Ok(()),
        Access::Acting => {
            let acting = acting_over_mcp(state, &parts.headers).await?;
            parts.extensions.insert(acting);
            return Ok(());
        }
        _ => {}
    }
    let actor = identify(state, &parts.headers).await?;
    match access {
        Access::Public | Access::Mcp | Access::Socket | Access::Acting => {}
        Access::Known => drop(parts.extensions.insert(Anybody(actor))),
        Access::Operator => {
            actor.require_operator()?;
            parts.extensions.insert(Anybody(actor));
        }
        Access::App => {
            if !actor.is_app() {
                let text = "this needs the app's key: `Authorization: Bearer package:key`";
                return Err(Refusal::Forbidden(text).into());
            }
            parts.extensions.insert(Anybody(actor));
        }
        Access::Person => {
            state.platform.limits.check(&actor)?;
            let person = person(parts, actor)?;
            parts.extensions.insert(person);
        }
        Access::User => {
            state.platform.limits.check(&actor)?;
            actor.require_person(NOT_FOR_APPS)?;
            let user = for_whom(&parts.headers, &actor)?;
            parts.extensions.insert(ForUser { user, actor });
        }
        Access::Builder | Access::Owner => {
            state.platform.limits.check(&actor)?;
            if matches!(actor, Actor::Person { role: Role::User, .. }) {
                return Err(Refusal::Forbidden("this needs a developer's or operator's token").into());
            }
            parts.extensions.insert(Builder(actor));
        }
        Access::Curator => {
            state.platform.limits.check(&actor)?;
            if !matches!(actor, Actor::Person { role: Role::Curator | Role::Operator, .. }) {
                return Err(Refusal::Forbidden("this needs a curator's or operator's token").into());
            }
            parts.extensions.insert(Curator(actor));
        }
    }
    Ok(())
}

fn person(parts: &Parts, actor: Actor) -> Result<Person, Failure> {
    let user = match for_whom(&parts.headers, &actor) {
        Ok(user) => Some(user),
        // In dev mode nobody has to be named, and a developer's name need not be one of a user.
        Err(Failure::Refused(Refusal::NoUser | Refusal::BadCredential(_))) => None,
        Err(failure) => return Err(failure),
    };
    match actor {
        Actor::Person { ref name, role, .. } => Ok(Person { name: name.clone(), role, actor, user }),
        Actor::App(_) => Err(Refusal::Forbidden(NOT_FOR_APPS).into()),
    }
}

/// What the rule left with the request.
fn admitted<T: Clone + Send + Sync + 'static>(parts: &mut Parts) -> Result<T, Failure> {
    parts.extensions.remove().ok_or_else(|| {
        let (path, wanted) = (parts.uri.path(), std::any::type_name::<T>());
        tracing::error!(path, wanted, "route is declared with an access rule that does not fit its handler");
        Failure::new(ApiErrorCode::Internal, "this route is declared wrongly; the server's log says more")
    })
}

macro_rules! extracted {
    ($($extractor:ty),*) => {$(
        impl FromRequestParts<AppState> for $extractor {
            type Rejection = Failure;

            async fn from_request_parts(parts: &mut Parts, _state: &AppState) -> Result<Self, Failure> {
                admitted(parts)
            }
        }
    )*};
}

extracted!(ActingFor, Anybody, Builder, Curator, ForUser, Person);
