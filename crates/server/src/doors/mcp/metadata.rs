//! How clients learn to authenticate: RFC 9728 metadata, and the challenge that names it.

use ::http::{HeaderValue, StatusCode, header};
use axum::{
    extract::State,
    response::{IntoResponse as _, Response},
};
use serde::Serialize;
use toolyard_authorization::{
    challenge::{TokenPresence, insufficient_scope_challenge, unauthorized_challenge},
    scope::{OAuthScope, ScopeSet},
};
use toolyard_core::catalog::ToolAccess;
use toolyard_platform::clients::scope_for;

use crate::{
    auth::AuthRefusal,
    error::{RequestError, json_response},
    state::ServerState,
};

/// RFC 9728 metadata of the MCP endpoint.
#[derive(Serialize, schemars::JsonSchema)]
pub(super) struct ProtectedResourceMetadata {
    /// The URL that users enter.
    resource: String,
    /// Token issuers, if one is configured.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    authorization_servers: Vec<String>,
    /// The scopes that a client should start with. It is asked for others when it needs them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    scopes_supported: Vec<String>,
    /// How tokens are sent.
    bearer_methods_supported: [&'static str; 1],
    /// Display name.
    resource_name: &'static str,
}

pub(super) async fn get_resource_metadata(State(state): State<ServerState>) -> Response {
    // Clients take the first one. An issuer that the operator configured is where its users have their accounts.
    let own = state.oauth.as_ref().map(|door| door.issuer.as_str().to_owned());
    let issuers =
        state.config.load().auth.oidc.as_ref().map(|oidc| oidc.issuer.clone()).into_iter().chain(own);
    let scopes = state.oauth.as_ref().map(|door| &door.default_scopes);
    let scopes =
        scopes.into_iter().flat_map(ScopeSet::iter).filter(|scope| **scope != OAuthScope::OfflineAccess);
    json_response(
        StatusCode::OK,
        &ProtectedResourceMetadata {
            resource: format!("{}/mcp", state.base_url()),
            authorization_servers: issuers.collect(),
            scopes_supported: scopes.map(ToString::to_string).collect(),
            bearer_methods_supported: ["header"],
            resource_name: "Toolyard",
        },
    )
}

/// A refusal with the challenge that OAuth clients act on.
pub(super) fn challenge_response(state: &ServerState, failure: RequestError) -> Response {
    let presence = match &failure {
        RequestError::Refused(AuthRefusal::InsufficientScope(_)) => {
            return step_up_response(state, &ScopeSet::default(), ToolAccess::Read);
        }
        RequestError::Refused(AuthRefusal::BadCredential(_)) => TokenPresence::Invalid,
        _ => TokenPresence::Missing,
    };
    let response = failure.into_response();
    match response.status() {
        StatusCode::UNAUTHORIZED => {
            let challenge = unauthorized_challenge(presence, &metadata_url(state), &ScopeSet::default());
            with_challenge(response, &challenge)
        }
        _ => response,
    }
}

/// The refusal of a call that needs more than the user granted the client. It names everything that the client needs, so that
/// one more consent is enough (step-up).
pub(super) fn step_up_response(state: &ServerState, granted: &ScopeSet, needed: ToolAccess) -> Response {
    let scope = scope_for(needed);
    let mut all = granted.clone();
    // Adding a scope for tools cannot exceed a bound.
    _ = all.insert(scope.clone());
    let challenge = insufficient_scope_challenge(&metadata_url(state), &all);
    with_challenge(RequestError::from(AuthRefusal::InsufficientScope(scope)).into_response(), &challenge)
}

fn with_challenge(mut response: Response, challenge: &str) -> Response {
    if let Ok(value) = HeaderValue::try_from(challenge) {
        response.headers_mut().insert(header::WWW_AUTHENTICATE, value);
    }
    response
}

fn metadata_url(state: &ServerState) -> String {
    format!("{}/.well-known/oauth-protected-resource/mcp", state.base_url())
}
