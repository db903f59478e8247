//! Signing in with what this server knows: a password, a passkey, a one-time link. And signing out.

use axum::extract::State;
use http::{HeaderMap, Method, StatusCode, header};
use toolyard_platform::accounts;
use toolyard_protocol::accounts::{LinkSignIn, PasskeyChallenge, PasskeySignIn, PasswordSignIn, SignedIn};

use super::{device_name::device_name, end_session, no_store, signed_in};
use crate::{
    auth::ended_cookie,
    body::JsonBody,
    doors::rest::{HandlerResult, ok_json},
    routes::{Route, RouteAccess},
    state::ServerState,
};

pub(super) fn routes() -> Vec<Route> {
    vec![
        Route::audited(
            Method::POST,
            "/api/sign-in/password",
            RouteAccess::Public,
            "Signs in with a password; the session is a cookie",
            post_password,
        )
        .request_body::<PasswordSignIn>()
        .response_body::<SignedIn>(),
        Route::new(
            Method::POST,
            "/api/sign-in/passkey/challenge",
            RouteAccess::Public,
            "A challenge to sign in with a passkey",
            post_challenge,
        )
        .response_body::<PasskeyChallenge>(),
        Route::audited(
            Method::POST,
            "/api/sign-in/passkey",
            RouteAccess::Public,
            "Signs in with a passkey; the session is a cookie",
            post_passkey,
        )
        .request_body::<PasskeySignIn>()
        .response_body::<SignedIn>(),
        Route::audited(
            Method::POST,
            "/api/sign-in/link",
            RouteAccess::Public,
            "Signs in with a one-time link; the session is a cookie",
            post_link,
        )
        .request_body::<LinkSignIn>()
        .response_body::<SignedIn>(),
        Route::audited(
            Method::POST,
            "/api/sign-out",
            RouteAccess::Public,
            "Ends the browser session of this request, if it has one",
            post_sign_out,
        )
        .success_status(204),
    ]
}

async fn post_password(
    State(state): State<ServerState>,
    headers: HeaderMap,
    JsonBody(request): JsonBody<PasswordSignIn>,
) -> HandlerResult {
    state.platform.accounts.check_rate()?;
    let session = accounts::sign_in_with_password(&state.platform, request, &device_name(&headers)).await?;
    signed_in(&state, &headers, &session).await
}

async fn post_challenge(State(state): State<ServerState>) -> HandlerResult {
    state.platform.accounts.check_rate()?;
    Ok(no_store(ok_json(&accounts::passkey_sign_in_challenge(&state.platform)?)?))
}

async fn post_passkey(
    State(state): State<ServerState>,
    headers: HeaderMap,
    JsonBody(request): JsonBody<PasskeySignIn>,
) -> HandlerResult {
    state.platform.accounts.check_rate()?;
    let session = accounts::sign_in_with_passkey(&state.platform, request, &device_name(&headers)).await?;
    signed_in(&state, &headers, &session).await
}

async fn post_link(
    State(state): State<ServerState>,
    headers: HeaderMap,
    JsonBody(request): JsonBody<LinkSignIn>,
) -> HandlerResult {
    state.platform.accounts.check_rate()?;
    let session = accounts::sign_in_with_link(&state.platform, &request.code, &device_name(&headers)).await?;
    signed_in(&state, &headers, &session).await
}

/// Also removes the cookie of a session that has ended, so that no browser is stuck with it.
async fn post_sign_out(State(state): State<ServerState>, headers: HeaderMap) -> HandlerResult {
    end_session(&state, &headers).await?;
    let mut response = axum::response::IntoResponse::into_response(StatusCode::NO_CONTENT);
    if let Some(cookie) = ended_cookie(&state) {
        response.headers_mut().append(header::SET_COOKIE, cookie);
    }
    Ok(response)
}
