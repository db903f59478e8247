//! Who signed in, for apps that use this server for that: public keys and userinfo (OpenID Connect).

use axum::{
    extract::State,
    response::{IntoResponse as _, Response},
};
use http::{HeaderMap, HeaderValue, Method, StatusCode, header};
use toolyard_authorization::{id_token::UserinfoClaims, scope::OAuthScope};
use toolyard_platform::{Actor, clients::user_profile};
use toolyard_protocol::UserId;

use super::{no_store, switched_off};
use crate::{
    auth::{AuthRefusal, actor_by_credential, bearer_credential},
    error::{RequestError, json_response},
    routes::{Route, RouteAccess},
    state::ServerState,
};

pub(super) fn routes() -> Vec<Route> {
    let userinfo = |method| {
        Route::new(
            method,
            "/oauth/userinfo",
            RouteAccess::Public,
            "Who the access token of a client is for (OpenID Connect)",
            get_userinfo,
        )
    };
    vec![
        Route::new(
            Method::GET,
            "/oauth/jwks.json",
            RouteAccess::Public,
            "The public keys that verify ID tokens",
            get_keys,
        ),
        userinfo(Method::GET),
        userinfo(Method::POST),
    ]
}

async fn get_keys(State(state): State<ServerState>) -> Response {
    if state.oauth.is_none() {
        return switched_off();
    }
    let mut response = json_response(StatusCode::OK, &state.tokens.public_keys());
    response.headers_mut().insert(header::CACHE_CONTROL, HeaderValue::from_static("public, max-age=300"));
    response
}

async fn get_userinfo(State(state): State<ServerState>, headers: HeaderMap) -> Response {
    no_store(userinfo(&state, &headers).await.unwrap_or_else(RequestError::into_response))
}

async fn userinfo(state: &ServerState, headers: &HeaderMap) -> Result<Response, RequestError> {
    let credential = bearer_credential(headers).ok_or(AuthRefusal::NoCredential)?;
    let actor = actor_by_credential(state, credential).await?;
    let needed = || AuthRefusal::InsufficientScope(OAuthScope::OpenId);
    let access = actor.client_access().filter(|access| access.has(OAuthScope::OpenId)).ok_or_else(needed)?;
    let Actor::Person { name, .. } = &actor else { return Err(needed().into()) };
    let user: UserId = name.parse().map_err(|_| AuthRefusal::NoUser)?;
    Ok(json_response(StatusCode::OK, &UserinfoClaims::from_profile(&user_profile(&user), &access.scopes)))
}
