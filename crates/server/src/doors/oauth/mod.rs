//! The OAuth door: the authorization server with which users connect clients.
//!
//! | look for | in |
//! | --- | --- |
//! | what clients learn about this server | `metadata` |
//! | how a client is known: registration, metadata documents, the configuration | `register`, `documents`, `preregistered` |
//! | the request of a client, before the user sees it | `authorize` |
//! | the user's decision, for the page of the console | `consent` |
//! | tokens: issued, renewed, revoked | `token`, `revoke` |
//! | who signed in, for apps that use this server for that | `openid` |
//! | the user's connected clients | `clients` |
//!
//! The rules are in the crate `authorization`, the changes in `platform::clients`.

mod authorize;
mod clients;
mod consent;
pub(crate) mod documents;
mod metadata;
mod openid;
mod preregistered;
mod register;
mod revoke;
mod token;

use axum::response::{IntoResponse as _, Response};
use http::{HeaderValue, StatusCode, header};
use toolyard_authorization::{
    error::ErrorResponse,
    issuer::IssuerOrigin,
    resource::{AcceptedResources, ResourceIdentifier},
    scope::{OAuthScope, ScopeSet},
};

use crate::{
    config::Config,
    error::json_response,
    parts::WebAccess,
    routes::Route,
    serve::{ServerDependencies, ServerStartError},
};

pub(crate) fn routes() -> Vec<Route> {
    let mut routes = metadata::routes();
    routes.extend(authorize::routes());
    routes.extend(consent::routes());
    routes.extend(token::routes());
    routes.extend(revoke::routes());
    routes.extend(openid::routes());
    routes.extend(register::routes());
    routes.extend(clients::routes());
    routes
}

/// Paths that pages of any origin may use: they need no ambient credential, and browser clients call them.
pub(crate) const CROSS_ORIGIN_PATHS: [&str; 4] =
    ["/oauth/token", "/oauth/register", "/oauth/revoke", "/oauth/introspect"];

/// What the authorization server is, and how it knows clients. None if the operator switched it off.
pub(crate) struct OAuthDoor {
    pub(crate) issuer: IssuerOrigin,
    /// The one resource: the MCP endpoint.
    pub(crate) resource: ResourceIdentifier,
    pub(crate) resources: AcceptedResources,
    /// What a client gets that asks for nothing in particular. Destructive calls need a step-up.
    pub(crate) default_scopes: ScopeSet,
    pub(crate) documents: documents::ClientDocuments,
    /// Clients that the operator registers.
    preregistered: preregistered::PreregisteredClients,
}

impl OAuthDoor {
    /// None if it is switched off, or if the server is not at the root of its host: clients look there only.
    pub(crate) fn from_config(
        config: &Config,
        web: WebAccess,
        deps: &ServerDependencies,
    ) -> Result<Option<Self>, ServerStartError> {
        if !config.oauth.enabled {
            return Ok(None);
        }
        let base = config.base_url();
        let (issuer, resource) =
            (base.parse::<IssuerOrigin>(), format!("{base}/mcp").parse::<ResourceIdentifier>());
        let (Ok(issuer), Ok(resource)) = (issuer, resource) else {
            tracing::warn!(
                url = base,
                "clients cannot connect by OAuth: server.public_url must be an origin without a path"
            );
            return Ok(None);
        };
        let default_scopes =
            ScopeSet::from([OAuthScope::ToolsRead, OAuthScope::ToolsWrite, OAuthScope::OfflineAccess]);
        let documents = documents::ClientDocuments::new(web, deps.clock.clone());
        let resources = AcceptedResources::single(resource.clone());
        let preregistered = preregistered::PreregisteredClients::from_config(config, deps)?;
        Ok(Some(Self { issuer, resource, resources, default_scopes, documents, preregistered }))
    }
}

/// An error of the token, registration or revocation endpoint. Never cached.
fn oauth_error(error: &ErrorResponse) -> Response {
    let status = StatusCode::from_u16(error.error.http_status()).unwrap_or(StatusCode::BAD_REQUEST);
    let mut response = no_store(json_response(status, error));
    if let Some(challenge) = error.basic_challenge() {
        response.headers_mut().insert(header::WWW_AUTHENTICATE, HeaderValue::from_static(challenge));
    }
    response
}

fn no_store(mut response: Response) -> Response {
    response.headers_mut().insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}

/// The authorization server is switched off: for clients it does not exist.
fn switched_off() -> Response {
    StatusCode::NOT_FOUND.into_response()
}
