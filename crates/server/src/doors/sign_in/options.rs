//! `GET /api/sign-in`: how people can sign in here.

use axum::extract::State;
use http::Method;
use toolyard_protocol::accounts::SignInOptions;

use crate::{
    config::AuthMode,
    doors::rest::{HandlerResult, ok_json},
    routes::{Route, RouteAccess},
    state::ServerState,
};

pub(super) fn routes() -> Vec<Route> {
    vec![
        Route::new(
            Method::GET,
            "/api/sign-in",
            RouteAccess::Public,
            "How people can sign in here",
            get_options,
        )
        .response_body::<SignInOptions>(),
    ]
}

async fn get_options(State(state): State<ServerState>) -> HandlerResult {
    let config = state.platform.config.load();
    let settings = &config.accounts;
    ok_json(&SignInOptions {
        passwords: settings.passwords,
        passkeys: settings.passkeys.is_some(),
        issuers: state.issuers.list(),
        dev_mode: state.auth_mode == AuthMode::Dev,
    })
}
