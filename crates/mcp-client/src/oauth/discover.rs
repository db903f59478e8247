//! Finds the authorization server of an upstream: from a challenge or the well-known paths to the resource metadata,
//! from there to the metadata of the authorization server. All of it is validated before it is used.

use http::{StatusCode, Uri};
use url::Url;

use super::error::{OAuthError, sanitize_foreign_text};
use super::requests::{OAuthResponse, StepHttpClient};
use super::resource::describe_resource;
use super::server_metadata::{AuthorizationServer, find_server};

/// Where and for what to authorize.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct DiscoveredServer {
    pub(super) server: AuthorizationServer,
    /// The upstream's identifier, for the parameter `resource`.
    pub(super) resource: String,
    /// The scopes that the upstream names.
    pub(super) scopes: Vec<String>,
}

/// Discovers the authorization server.
pub(super) async fn discover_authorization_server(
    url: &Uri,
    requests: &StepHttpClient,
    challenge: Option<&str>,
) -> Result<DiscoveredServer, OAuthError> {
    let upstream =
        Url::parse(&url.to_string()).map_err(|error| OAuthError::BadMetadata(error.to_string()))?;
    let resource = describe_resource(&upstream, requests, challenge).await?;
    let server = find_server(&upstream, &resource.servers, requests).await?;
    Ok(DiscoveredServer { server, resource: resource.identifier, scopes: resource.scopes })
}

/// Requests a document that may not exist. A server that fails now may have it later, so that is an error.
pub(super) async fn fetch_document(
    requests: &StepHttpClient,
    url: &Url,
) -> Result<OAuthResponse, OAuthError> {
    let answer = requests.get_metadata(url).await?;
    let status = answer.status();
    let later = [StatusCode::REQUEST_TIMEOUT, StatusCode::TOO_EARLY, StatusCode::TOO_MANY_REQUESTS];
    if status.is_server_error() || later.contains(&status) {
        let text = format!("{url} responded with the status {status}; try again later");
        return Err(OAuthError::BadMetadata(sanitize_foreign_text(&text)));
    }
    Ok(answer)
}

/// A well-known URL of a server, with a path of the server inserted after it (RFC 8615).
pub(super) fn well_known_url(server: &Url, name: &str, path: &str) -> Url {
    let mut url = server.clone();
    url.set_query(None);
    url.set_fragment(None);
    let separator = if path.is_empty() { "" } else { "/" };
    url.set_path(&format!("/.well-known/{name}{separator}{path}"));
    url
}

/// Plain http only if the upstream itself uses it: on this machine, or in the operator's network. Never with a user
/// name, which can look like another host.
pub(super) fn is_secure_url(url: &Url, upstream_scheme: &str) -> bool {
    let secure = url.scheme() == "https" || url.scheme() == "http" && upstream_scheme == "http";
    secure && url.has_host() && url.username().is_empty() && url.password().is_none()
}
