//! `/api/me`: the caller, the user they act for, and the server's features. The console reads it first.

use axum::extract::State;
use http::Method;
use schemars::JsonSchema;
use serde::Serialize;
use toolyard_protocol::{
    UserId,
    accounts::{OwnAccount, OwnSession},
    session::iso_millis,
};

use super::{HandlerResult, ok_json};
use crate::{
    auth::{Actor, AuthenticatedPerson, Credential, Role, session_times},
    config::AuthMode,
    routes::{Route, RouteAccess},
    state::ServerState,
};

pub(crate) fn routes() -> Vec<Route> {
    vec![
        Route::new(
            Method::GET,
            "/api/me",
            RouteAccess::Person,
            "The caller, the user they act for, and the server's features",
            get_me,
        )
        .response_body::<CallerProfile>(),
    ]
}

/// The caller and the server's features.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct CallerProfile {
    name: String,
    role: Role,
    /// The user that calls are made for. Null in dev mode without X-User-Id.
    user_id: Option<UserId>,
    auth_mode: AuthMode,
    /// The caller's account. Null for someone who has none, such as a program with a token.
    account: Option<OwnAccount>,
    /// The browser session of the request. Null for a token.
    session: Option<OwnSession>,
    /// When the token expires, or the session if it is not used, ISO 8601.
    #[serde(skip_serializing_if = "Option::is_none")]
    token_ends_at: Option<String>,
    /// Version of the server.
    version: &'static str,
    plugins: PluginAbilities,
    speech: SpeechAbilities,
}

/// Plugin features of the server.
#[derive(Serialize, JsonSchema)]
struct PluginAbilities {
    /// Whether plugins of users run on the server.
    enabled: bool,
    /// Whether the server signs plugins.
    curates: bool,
}

/// Speech features of the server.
#[derive(Serialize, JsonSchema)]
struct SpeechAbilities {
    /// Whether it converts text to speech.
    speak: bool,
    /// Whether it transcribes speech.
    transcribe: bool,
}

fn own_session(actor: &Actor) -> Option<OwnSession> {
    let Actor::Person { credential, .. } = actor else { return None };
    let Credential::Session { id, method, .. } = credential else { return None };
    let (started_at, ends_at) = session_times(credential)?;
    Some(OwnSession {
        id: id.clone(),
        method: *method,
        started_at: iso_millis(started_at),
        ends_at: iso_millis(ends_at),
    })
}

async fn get_me(State(state): State<ServerState>, who: AuthenticatedPerson) -> HandlerResult {
    let ends = match &who.actor {
        Actor::Person {
            credential:
                Credential::Token { expires_at, .. }
                | Credential::Client { expires_at, .. }
                | Credential::Session { expires_at, .. }
                | Credential::IdentityProvider { expires_at },
            ..
        } => jiff::Timestamp::from_second(*expires_at).ok(),
        Actor::Person { credential: Credential::DevHeader | Credential::Embedded, .. } | Actor::App(_) => {
            None
        }
    };
    let stored = match &who.user {
        Some(user) if who.name == user.as_str() => state.stores.accounts.find_account(user).await?,
        _ => None,
    };
    ok_json(&CallerProfile {
        account: stored.map(|account| OwnAccount {
            email: account.email,
            name: account.name,
            groups: account.groups,
        }),
        session: own_session(&who.actor),
        name: who.name,
        role: who.role,
        user_id: who.user,
        auth_mode: state.auth_mode,
        token_ends_at: ends.map(iso_millis),
        version: env!("CARGO_PKG_VERSION"),
        plugins: PluginAbilities {
            enabled: state.plugins.source.is_some(),
            curates: state.plugins.trust.is_curator(),
        },
        speech: SpeechAbilities {
            speak: state.speech.can_speak(),
            transcribe: state.speech.can_transcribe(),
        },
    })
}
