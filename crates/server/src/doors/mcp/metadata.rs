//! Where a client learns how to get in: RFC 9728 metadata, and the challenge that names it.

use ::http::{HeaderValue, StatusCode, header};
use axum::{
    extract::State,
    response::{IntoResponse as _, Response},
};
use serde::Serialize;

use crate::{
    auth::Refusal,
    error::{Failure, json},
    state::AppState,
};

/// RFC 9728 metadata of the MCP endpoint.
#[derive(Serialize, schemars::JsonSchema)]
pub(super) struct Metadata {
    /// The URL that users type.
    resource: String,
    /// Who issues tokens for it, where an issuer is configured.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    authorization_servers: Vec<String>,
    /// How tokens are sent.
    bearer_methods_supported: [&'static str; 1],
    /// For people.
    resource_name: &'static str,
}

pub(super) async fn get(State(state): State<AppState>) -> Response {
    let issuer = state.config.auth.oidc.as_ref().map(|oidc| oidc.issuer.clone());
    json(
        StatusCode::OK,
        &Metadata {
            resource: format!("{}/mcp", state.base_url()),
            authorization_servers: issuer.into_iter().collect(),
            bearer_methods_supported: ["header"],
            resource_name: "Toolyard",
        },
    )
}

/// A refusal with the words that OAuth clients act on.
pub(super) fn challenge(state: &AppState, failure: Failure) -> Response {
    let sent_one = matches!(&failure, Failure::Refused(Refusal::BadCredential(_)));
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
