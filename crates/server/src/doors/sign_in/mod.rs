//! The sign-in door: how a person becomes a browser session.
//!
//! | look for | in |
//! | --- | --- |
//! | which ways there are | `options` |
//! | password, passkey, one-time link, sign-out | `local` |
//! | programs without a browser | `device` |
//! | the redirects to an identity provider and back | `issuer` |
//! | requests to an identity provider | `issuer_client` |
//!
//! The rules are in `platform::accounts`, and for tokens of identity providers in the crate `authorization`.

mod device;
mod device_name;
mod issuer;
mod issuer_client;
mod local;
mod options;

use axum::response::Response;
use http::{HeaderMap, header};
use toolyard_platform::accounts::{self, OneTimeLink, StartedSession};
use toolyard_protocol::{
    accounts::{SignInLink, SignedIn},
    session::iso_millis,
};

pub(crate) use self::issuer_client::SignInIssuers;
pub use self::issuer_client::check_issuers;
use crate::{
    auth::{AuthRefusal, actor_by_cookie, session_cookie},
    doors::rest::{HandlerResult, ok_json},
    error::RequestError,
    routes::Route,
    state::ServerState,
};

pub(crate) fn routes() -> Vec<Route> {
    let mut routes = options::routes();
    routes.extend(local::routes());
    routes.extend(issuer::routes());
    routes.extend(device::routes());
    routes
}

/// The response to a sign-in.
async fn signed_in(state: &ServerState, headers: &HeaderMap, session: &StartedSession) -> HandlerResult {
    let body = SignedIn { user_id: session.user.clone(), role: session.role };
    // The session that the browser had before ends: nobody could end it any more.
    end_session(state, headers).await?;
    Ok(with_session(state, session, ok_json(&body)?))
}

/// Adds the cookie of a session.
fn with_session(state: &ServerState, session: &StartedSession, mut response: Response) -> Response {
    if let Some(cookie) = session_cookie(state, session) {
        response.headers_mut().append(header::SET_COOKIE, cookie);
    }
    no_store(response)
}

/// Ends the session of the browser, if it has one.
async fn end_session(state: &ServerState, headers: &HeaderMap) -> Result<(), RequestError> {
    match actor_by_cookie(state, headers) {
        Some(Ok(actor)) => Ok(accounts::sign_out(&state.platform, &actor).await?),
        // A page of another site neither signs a user in nor out.
        Some(Err(refused @ RequestError::Refused(AuthRefusal::Forbidden(_)))) => Err(refused),
        // It has ended already.
        Some(Err(_)) | None => Ok(()),
    }
}

fn no_store(mut response: Response) -> Response {
    response.headers_mut().insert(header::CACHE_CONTROL, http::HeaderValue::from_static("no-store"));
    response
}

/// The address of a one-time link. The code is in the fragment, which browsers send to nobody.
pub(crate) fn link_info(base_url: &str, link: &OneTimeLink) -> SignInLink {
    SignInLink {
        url: format!("{base_url}/console/sign-in#code={}", link.code.expose()),
        expires_at: iso_millis(link.expires_at),
    }
}
