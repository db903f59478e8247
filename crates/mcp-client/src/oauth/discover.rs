//! Finds the authorization server of an upstream: from a challenge or the well-known paths to the resource metadata,
//! from there to the metadata of the authorization server. All of it is validated here before it is used.

use std::future::Future;
use std::sync::Arc;

use http::Uri;
use rmcp::transport::auth::{AuthError, AuthorizationManager, AuthorizationMetadata};
use tracing::instrument::WithSubscriber;
use url::Url;

use super::error::{OAuthError, sanitize_foreign_text};
use super::requests::StepHttpClient;

/// The authorization server of an upstream.
pub(super) struct DiscoveredServer {
    /// Has the metadata, but no client yet.
    pub(super) manager: AuthorizationManager,
    pub(super) metadata: AuthorizationMetadata,
    pub(super) issuer: String,
}

impl DiscoveredServer {
    /// Whether the metadata set this flag.
    pub(super) fn has_flag(&self, field: &str) -> bool {
        self.metadata.additional_fields.get(field).is_some_and(|value| value.as_bool() == Some(true))
    }
}

/// Discovers the authorization server.
pub(super) async fn discover_authorization_server(
    url: &Uri,
    requests: &Arc<StepHttpClient>,
    challenge: Option<&str>,
) -> Result<DiscoveredServer, OAuthError> {
    let failed = |error| step_error(requests, error, OAuthError::BadMetadata);
    let looking = AuthorizationManager::new_with_oauth_http_client(url.to_string(), requests.clone());
    let mut manager = looking.await.map_err(failed)?;
    let found = without_logging(manager.resolve_metadata_from_challenge(challenge)).await.map_err(failed)?;
    // rmcp makes up endpoints if nothing is published; those cannot be trusted.
    if !found.source.is_discovered() {
        return Err(OAuthError::NoMetadata);
    }
    let metadata = found.metadata;
    let issuer = check_metadata(url, &metadata)?;
    manager.set_metadata(metadata.clone());
    Ok(DiscoveredServer { manager, metadata, issuer })
}

/// Checks what rmcp does not. rmcp has compared the issuer with the URL of the metadata.
fn check_metadata(upstream: &Uri, metadata: &AuthorizationMetadata) -> Result<String, OAuthError> {
    let offers = |methods: &Vec<String>| methods.iter().any(|method| method == "S256");
    if !metadata.code_challenge_methods_supported.as_ref().is_some_and(offers) {
        return Err(OAuthError::NoPkce);
    }
    let secure = |name, endpoint: &str| {
        // Plain http only if the upstream itself uses it: on this machine, or in the operator's network.
        let allowed = |url: Url| {
            url.scheme() == "https" || url.scheme() == "http" && upstream.scheme_str() == Some("http")
        };
        Url::parse(endpoint).is_ok_and(allowed).then_some(()).ok_or(OAuthError::Insecure(name))
    };
    secure("authorization", &metadata.authorization_endpoint)?;
    secure("token", &metadata.token_endpoint)?;
    metadata.registration_endpoint.as_ref().map_or(Ok(()), |endpoint| secure("registration", endpoint))?;
    metadata.issuer.clone().ok_or_else(|| OAuthError::BadMetadata("it names no issuer".to_owned()))
}

/// The failed request says more than rmcp's text. Both are untrusted.
pub(super) fn step_error(
    requests: &StepHttpClient,
    error: AuthError,
    otherwise: impl FnOnce(String) -> OAuthError,
) -> OAuthError {
    requests.request_failure().unwrap_or_else(|| otherwise(sanitize_foreign_text(&error.to_string())))
}

/// Runs a step of rmcp without its log lines: some of them contain codes and tokens.
pub(super) async fn without_logging<T>(step: impl Future<Output = T> + Send) -> T {
    step.with_subscriber(tracing::Dispatch::none()).await
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn checked(upstream: &'static str, change: impl FnOnce(&mut Value)) -> Result<String, OAuthError> {
        let mut metadata = json!({
            "issuer": "https://as.example",
            "authorization_endpoint": "https://as.example/authorize",
            "token_endpoint": "https://as.example/token",
            "registration_endpoint": "https://as.example/register",
            "code_challenge_methods_supported": ["plain", "S256"],
        });
        change(&mut metadata);
        check_metadata(&Uri::from_static(upstream), &serde_json::from_value(metadata).unwrap())
    }

    #[test]
    fn good_metadata_pass() {
        assert_eq!(checked("https://mcp.example/mcp", |_| {}), Ok("https://as.example".to_owned()));
    }

    #[test]
    fn pkce_must_be_offered() {
        for methods in [json!(null), json!([]), json!(["plain"])] {
            let without = checked("https://mcp.example/mcp", |metadata| {
                metadata["code_challenge_methods_supported"] = methods.clone();
            });
            assert_eq!(without, Err(OAuthError::NoPkce), "{methods}");
        }
    }

    #[test]
    fn endpoints_are_https_unless_the_upstream_is_not() {
        for name in ["authorization", "token", "registration"] {
            let field = format!("{name}_endpoint");
            for endpoint in ["http://as.example/x", "javascript:alert(1)", "data:,x", "/x", ""] {
                let change = |metadata: &mut Value| metadata[&field] = json!(endpoint);
                assert_eq!(checked("https://mcp.example/mcp", change), Err(OAuthError::Insecure(name)));
            }
            let plain = |metadata: &mut Value| metadata[&field] = json!("http://127.0.0.1/x");
            assert!(checked("http://127.0.0.1/mcp", plain).is_ok());
            let script = |metadata: &mut Value| metadata[&field] = json!("javascript:alert(1)");
            assert_eq!(checked("http://127.0.0.1/mcp", script), Err(OAuthError::Insecure(name)));
        }
    }

    #[test]
    fn an_issuer_must_be_named() {
        let without = checked("https://mcp.example/mcp", |metadata| metadata["issuer"] = json!(null));
        assert_eq!(without, Err(OAuthError::BadMetadata("it names no issuer".to_owned())));
    }
}
