//! Programs without a browser: `toolyard login`.

use axum::extract::{Path, State};
use http::{Method, StatusCode};
use toolyard_platform::accounts::{self, DeviceLoginOutcome};
use toolyard_protocol::{
    UserId,
    accounts::{
        DeviceLoginAnswer, DeviceLoginInfo, DeviceLoginPending, DeviceLoginRequest, DeviceLoginStarted,
        DeviceToken, DeviceTokenRequest,
    },
    secret::SecretText,
    session::iso_millis,
};

use super::no_store;
use crate::{
    auth::AuthenticatedPerson,
    body::JsonBody,
    doors::rest::{HandlerResult, no_content, ok_json},
    error::json_response,
    routes::{Route, RouteAccess},
    state::ServerState,
};

/// How often a program may ask whether the person has agreed, in seconds.
const INTERVAL_S: u32 = 3;

pub(super) fn routes() -> Vec<Route> {
    vec![
        Route::new(
            Method::POST,
            "/api/sign-in/device",
            RouteAccess::Public,
            "A program asks for a token; a person agrees in a browser",
            post_device,
        )
        .request_body::<DeviceLoginRequest>()
        .response_body::<DeviceLoginStarted>(),
        Route::audited(
            Method::POST,
            "/api/sign-in/device/token",
            RouteAccess::Public,
            "The token of a program, once the person has agreed; 202 before that",
            post_token,
        )
        .request_body::<DeviceTokenRequest>()
        .response_body::<DeviceToken>(),
        Route::new(
            Method::GET,
            "/api/device-logins/{code}",
            RouteAccess::Person,
            "The program that waits with a code",
            get_login,
        )
        .response_body::<DeviceLoginInfo>(),
        Route::audited(
            Method::POST,
            "/api/device-logins/{code}",
            RouteAccess::Person,
            "Agrees that a program gets a token of the caller, or refuses",
            answer_login,
        )
        .request_body::<DeviceLoginAnswer>()
        .success_status(204),
    ]
}

async fn post_device(
    State(state): State<ServerState>,
    JsonBody(request): JsonBody<DeviceLoginRequest>,
) -> HandlerResult {
    state.platform.accounts.check_rate()?;
    let started = accounts::start_device_login(&state.platform, request.name).await?;
    let url = format!("{}/console/device", state.base_url());
    let body = DeviceLoginStarted {
        url_with_code: format!("{url}?code={}", started.user_code),
        device_code: started.device_code,
        user_code: started.user_code.to_string(),
        url,
        expires_at: iso_millis(started.login.until),
        interval_s: INTERVAL_S,
    };
    Ok(no_store(ok_json(&body)?))
}

async fn post_token(
    State(state): State<ServerState>,
    JsonBody(request): JsonBody<DeviceTokenRequest>,
) -> HandlerResult {
    state.platform.accounts.check_rate()?;
    let outcome = accounts::redeem_device_login(&state.platform, &request.device_code).await?;
    let response = match outcome {
        DeviceLoginOutcome::Waiting => {
            json_response(StatusCode::ACCEPTED, &DeviceLoginPending { pending: true })
        }
        DeviceLoginOutcome::Token(issued) => ok_json(&DeviceToken {
            token: SecretText::new(issued.token),
            expires_at: iso_millis(issued.listed.expires_at),
            user_id: UserId::from_stored(&issued.listed.subject),
            role: issued.listed.role,
        })?,
    };
    Ok(no_store(response))
}

async fn get_login(
    State(state): State<ServerState>,
    who: AuthenticatedPerson,
    Path(code): Path<String>,
) -> HandlerResult {
    let (code, login) = accounts::find_device_login(&state.platform, &who.actor, &code).await?;
    ok_json(&DeviceLoginInfo {
        user_code: code.to_string(),
        name: login.name,
        created_at: iso_millis(login.created_at),
        expires_at: iso_millis(login.until),
    })
}

async fn answer_login(
    State(state): State<ServerState>,
    who: AuthenticatedPerson,
    Path(code): Path<String>,
    JsonBody(answer): JsonBody<DeviceLoginAnswer>,
) -> HandlerResult {
    accounts::answer_device_login(&state.platform, &who.actor, &code, &answer).await?;
    no_content()
}
