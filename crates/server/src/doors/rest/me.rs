//! `/api/me`: who is asking, for whom, and what this server can do for them. The first thing that the console reads.

use axum::extract::State;
use http::Method;
use schemars::JsonSchema;
use serde::Serialize;
use toolyard_protocol::{UserId, session::iso_millis};

use super::{HandlerResult, ok_json};
use crate::{
    auth::{Actor, AuthenticatedPerson, Credential, Role},
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
            "Who is asking, for whom, and what the server can do",
            get_me,
        )
        .response_body::<CallerProfile>(),
    ]
}

/// Who is asking.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct CallerProfile {
    name: String,
    role: Role,
    /// For whom calls are made; nobody in dev mode, where X-User-Id names nobody.
    user_id: Option<UserId>,
    auth_mode: AuthMode,
    /// When the token ends, ISO 8601.
    #[serde(skip_serializing_if = "Option::is_none")]
    token_ends_at: Option<String>,
    /// Of the server.
    version: &'static str,
    plugins: PluginAbilities,
    speech: SpeechAbilities,
}

/// What the server does with plugins.
#[derive(Serialize, JsonSchema)]
struct PluginAbilities {
    /// Whether users' plugins run on it.
    enabled: bool,
    /// Whether it signs plugins.
    curates: bool,
}

/// What the server does with speech.
#[derive(Serialize, JsonSchema)]
struct SpeechAbilities {
    /// Whether it speaks texts.
    speak: bool,
    /// Whether it writes down what is said.
    transcribe: bool,
}

async fn get_me(State(state): State<ServerState>, who: AuthenticatedPerson) -> HandlerResult {
    let ends = match &who.actor {
        Actor::Person {
            credential: Credential::Token { expires_at, .. } | Credential::IdentityProvider { expires_at },
            ..
        } => jiff::Timestamp::from_second(*expires_at).ok(),
        Actor::Person { credential: Credential::DevHeader | Credential::Embedded, .. } | Actor::App(_) => {
            None
        }
    };
    ok_json(&CallerProfile {
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
