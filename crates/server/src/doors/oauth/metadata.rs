//! What clients learn about this server: RFC 8414 metadata, with the same bytes wherever clients look for it.

use axum::{extract::State, response::Response};
use http::{HeaderValue, Method, StatusCode, header};
use toolyard_authorization::{
    grant_type::GrantType,
    metadata::{AuthorizationServerMetadata, EndpointPaths, MetadataSettings},
};

use super::switched_off;
use crate::{
    error::json_response,
    routes::{Route, RouteAccess},
    state::ServerState,
};

/// Where clients look. Some insert the path of the resource, some read the OpenID document only.
const PATHS: [&str; 5] = [
    "/.well-known/oauth-authorization-server",
    "/.well-known/oauth-authorization-server/mcp",
    "/.well-known/openid-configuration",
    "/.well-known/openid-configuration/mcp",
    "/mcp/.well-known/openid-configuration",
];

pub(super) fn routes() -> Vec<Route> {
    let route = |path| {
        Route::new(
            Method::GET,
            path,
            RouteAccess::Public,
            "Metadata of the authorization server (RFC 8414)",
            get_metadata,
        )
    };
    PATHS.into_iter().map(route).collect()
}

async fn get_metadata(State(state): State<ServerState>) -> Response {
    let Some(door) = &state.oauth else { return switched_off() };
    let mut grants = vec![GrantType::AuthorizationCode, GrantType::RefreshToken];
    if door.preregistered.has_machines() {
        grants.push(GrantType::ClientCredentials);
    }
    if !state.issuers.assertion_issuers().is_empty() {
        grants.push(GrantType::JwtBearer);
    }
    let document = AuthorizationServerMetadata::new(&MetadataSettings {
        issuer: &door.issuer,
        paths: &EndpointPaths::default(),
        scopes: &door.default_scopes,
        id_token_algorithms: &["EdDSA"],
        allows_registration: state.config.load().oauth.registration,
        grants: &grants,
    });
    let mut response = json_response(StatusCode::OK, &document);
    response.headers_mut().insert(header::CACHE_CONTROL, HeaderValue::from_static("public, max-age=300"));
    response
}

#[cfg(test)]
mod tests {
    use toolyard_authorization::metadata::server_metadata_paths;

    #[test]
    fn the_paths_are_those_where_clients_look() {
        assert_eq!(server_metadata_paths("/mcp"), super::PATHS);
    }
}
