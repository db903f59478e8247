//! `/api/me/…`: what users decide about their own account. Only for a person who is signed in in the browser, or in dev mode.

use axum::extract::{Path, State};
use http::{Method, StatusCode};
use serde_json::Value;
use toolyard_core::ports::{BrowserSession, StoredPasskey};
use toolyard_platform::accounts;
use toolyard_protocol::{
    TokenId,
    accounts::{
        BrowserSessionInfo, BrowserSessionList, DeletionConfirmation, NewPasskey, PasskeyChallenge,
        PasskeyInfo, PasswordChange, PasswordInfo, SignInSettings,
    },
    session::iso_millis,
};

use super::{HandlerResult, no_content, ok_json};
use crate::{
    auth::AuthenticatedPerson,
    body::JsonBody,
    error::{RequestError, json_response},
    routes::{Route, RouteAccess},
    state::ServerState,
};

pub(crate) fn routes() -> Vec<Route> {
    let person = RouteAccess::Person;
    vec![
        Route::new(
            Method::GET,
            "/api/me/sessions",
            person,
            "The browsers in which the caller is signed in",
            list_sessions,
        )
        .response_body::<BrowserSessionList>(),
        Route::audited(
            Method::DELETE,
            "/api/me/sessions",
            person,
            "Signs the caller out in all other browsers",
            end_other_sessions,
        )
        .success_status(204),
        Route::audited(
            Method::DELETE,
            "/api/me/sessions/{id}",
            person,
            "Signs the caller out in one browser",
            end_session,
        )
        .success_status(204),
        Route::new(Method::GET, "/api/me/sign-in", person, "How the caller can sign in", sign_in_settings)
            .response_body::<SignInSettings>(),
        Route::audited(Method::PUT, "/api/me/password", person, "Sets the caller's password", put_password)
            .request_body::<PasswordChange>()
            .success_status(204),
        Route::audited(
            Method::DELETE,
            "/api/me/password",
            person,
            "Removes the caller's password",
            delete_password,
        )
        .success_status(204),
        Route::new(
            Method::POST,
            "/api/me/passkeys/challenge",
            person,
            "A challenge to add a passkey",
            passkey_challenge,
        )
        .response_body::<PasskeyChallenge>(),
        Route::audited(Method::POST, "/api/me/passkeys", person, "Adds a passkey", post_passkey)
            .request_body::<NewPasskey>()
            .response_body::<PasskeyInfo>()
            .success_status(201),
        Route::audited(Method::DELETE, "/api/me/passkeys/{id}", person, "Removes a passkey", delete_passkey)
            .success_status(204),
        Route::audited(
            Method::GET,
            "/api/me/data",
            person,
            "Everything that is stored about the caller, except secrets",
            export,
        )
        .response_body::<Value>(),
        Route::audited(
            Method::DELETE,
            "/api/me",
            person,
            "Deletes the caller's account and everything that is stored about them",
            delete_account,
        )
        .request_body::<DeletionConfirmation>()
        .success_status(204),
    ]
}

/// A session for its list.
pub(super) fn session_info(session: &BrowserSession, current: Option<&TokenId>) -> BrowserSessionInfo {
    BrowserSessionInfo {
        id: session.id.clone(),
        current: current == Some(&session.id),
        method: session.method,
        device: session.device.clone(),
        started_at: iso_millis(session.started_at),
        last_seen_at: iso_millis(session.last_seen_at),
        ends_at: iso_millis(session.expires_at),
    }
}

fn passkey_info(passkey: &StoredPasskey) -> PasskeyInfo {
    PasskeyInfo {
        id: passkey.id.clone(),
        name: passkey.name.clone(),
        created_at: iso_millis(passkey.created_at),
        last_used_at: passkey.last_used_at.map(iso_millis),
    }
}

async fn list_sessions(State(state): State<ServerState>, who: AuthenticatedPerson) -> HandlerResult {
    let (sessions, current) = accounts::list_own_sessions(&state.platform, &who.actor).await?;
    let sessions = sessions.iter().map(|session| session_info(session, current.as_ref())).collect();
    ok_json(&BrowserSessionList { sessions })
}

async fn end_other_sessions(State(state): State<ServerState>, who: AuthenticatedPerson) -> HandlerResult {
    accounts::end_own_session(&state.platform, &who.actor, None).await?;
    no_content()
}

async fn end_session(
    State(state): State<ServerState>,
    who: AuthenticatedPerson,
    Path(id): Path<String>,
) -> HandlerResult {
    let id: TokenId = id.parse().map_err(|_| RequestError::not_found("session"))?;
    accounts::end_own_session(&state.platform, &who.actor, Some(&id)).await?;
    no_content()
}

async fn sign_in_settings(State(state): State<ServerState>, who: AuthenticatedPerson) -> HandlerResult {
    let own = accounts::own_account(&state.platform, &who.actor).await?;
    let config = state.platform.config.load();
    let settings = &config.accounts;
    ok_json(&SignInSettings {
        password: own
            .methods
            .password
            .map(|stored| PasswordInfo { changed_at: iso_millis(stored.changed_at) }),
        passkeys: own.methods.passkeys.iter().map(passkey_info).collect(),
        managed_by: own.account.managed_by.map(|id| state.issuers.name_of(&id)),
        passkeys_available: settings.passkeys.is_some(),
        passwords_available: settings.passwords,
    })
}

async fn put_password(
    State(state): State<ServerState>,
    who: AuthenticatedPerson,
    JsonBody(request): JsonBody<PasswordChange>,
) -> HandlerResult {
    accounts::set_password(&state.platform, &who.actor, request).await?;
    no_content()
}

async fn delete_password(State(state): State<ServerState>, who: AuthenticatedPerson) -> HandlerResult {
    accounts::remove_password(&state.platform, &who.actor).await?;
    no_content()
}

async fn passkey_challenge(State(state): State<ServerState>, who: AuthenticatedPerson) -> HandlerResult {
    ok_json(&accounts::passkey_registration_challenge(&state.platform, &who.actor).await?)
}

async fn post_passkey(
    State(state): State<ServerState>,
    who: AuthenticatedPerson,
    JsonBody(request): JsonBody<NewPasskey>,
) -> HandlerResult {
    let passkey = accounts::add_passkey(&state.platform, &who.actor, request).await?;
    Ok(json_response(StatusCode::CREATED, &passkey_info(&passkey)))
}

async fn delete_passkey(
    State(state): State<ServerState>,
    who: AuthenticatedPerson,
    Path(id): Path<String>,
) -> HandlerResult {
    accounts::remove_passkey(&state.platform, &who.actor, &id).await?;
    no_content()
}

async fn export(State(state): State<ServerState>, who: AuthenticatedPerson) -> HandlerResult {
    ok_json(&accounts::export_own(&state.platform, &who.actor).await?)
}

async fn delete_account(
    State(state): State<ServerState>,
    who: AuthenticatedPerson,
    JsonBody(request): JsonBody<DeletionConfirmation>,
) -> HandlerResult {
    accounts::delete_own(&state.platform, &who.actor, &request).await?;
    no_content()
}
