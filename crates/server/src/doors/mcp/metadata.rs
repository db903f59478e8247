//! How clients learn to authenticate: RFC 9728 metadata, and the challenge that names it.

use ::http::{HeaderValue, StatusCode, header};
use axum::{
    extract::State,
    response::{IntoResponse as _, Response},
};
use serde::Serialize;

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
    /// How tokens are sent.
    bearer_methods_supported: [&'static str; 1],
    /// Display name.
    resource_name: &'static str,
}

pub(super) async fn get_resource_metadata(State(state): State<ServerState>) -> Response {
    let issuer = state.config.auth.oidc.as_ref().map(|oidc| oidc.issuer.clone());
    json_response(
        StatusCode::OK,
        &ProtectedResourceMetadata {
            resource: format!("{}/mcp", state.base_url()),
            authorization_servers: issuer.into_iter().collect(),
            bearer_methods_supported: ["header"],
            resource_name: "Toolyard",
        },
    )
}

/// A refusal with the challenge that OAuth clients act on.
pub(super) fn challenge_response(state: &ServerState, failure: RequestError) -> Response {
    let sent_one = matches!(&failure, RequestError::Refused(AuthRefusal::BadCredential(_)));
    let mut response = failure.into_response();
    if response.status() == StatusCode::UNAUTHORIZED {
        let error = if sent_one { "error=\"invalid_token\", " } else { "" };
        let url = format!("{}/.well-known/oauth-protected-resource/mcp", state.base_url());
        if let Ok(value) = HeaderValue::try_from(format!("Bearer {error}resource_metadata=\"{url}\"")) {
            response.headers_mut().insert(header::WWW_AUTHENTICATE, value);
        }
    }
    response
}
