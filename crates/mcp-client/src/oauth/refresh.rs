//! Reads the response of the token endpoint, and renews a grant.

use std::sync::Arc;
use std::time::Duration;

use http::Uri;
use jiff::Timestamp;
use rmcp::transport::auth::{AuthError, InMemoryCredentialStore, OAuthTokenResponse, StoredCredentials};
use serde::Deserialize;
use serde_json::json;
use toolyard_protocol::secret::SecretText;

use super::discover::{discover_authorization_server, without_logging};
use super::error::OAuthError;
use super::record::{OAuthClient, OAuthGrant, add_scopes};
use super::register::client_config;
use super::requests::StepHttpClient;

/// Longest token, in bytes: it must fit into a header.
const MAX_TOKEN_BYTES: usize = 16 * 1024;
/// Longest lifetime that is accepted.
const MAX_LIFE: Duration = Duration::from_secs(10 * 366 * 24 * 3600);

/// Result of a renewal.
#[derive(Debug)]
pub(super) enum RenewalOutcome {
    /// New tokens.
    Renewed(Box<OAuthGrant>),
    /// The authorization server no longer knows the refresh token or the client.
    Rejected,
    /// The upstream now trusts another authorization server, which must not see these tokens.
    Moved,
}

/// The response of a token endpoint.
#[derive(Deserialize)]
struct TokenResponse {
    access_token: SecretText,
    token_type: String,
    expires_in: Option<u64>,
    refresh_token: Option<SecretText>,
    scope: Option<String>,
}

/// Renews a grant at the authorization server that issued it.
pub(super) async fn refresh_grant(
    url: &Uri,
    requests: &Arc<StepHttpClient>,
    challenge: Option<&str>,
    grant: &OAuthGrant,
    refresh_token: &SecretText,
    now: Timestamp,
) -> Result<RenewalOutcome, OAuthError> {
    let mut found = discover_authorization_server(url, requests, challenge).await?;
    if found.issuer != grant.issuer {
        return Ok(RenewalOutcome::Moved);
    }
    found.manager.configure_client(client_config(&grant.client)).map_err(|_| no_token_error(requests))?;
    let stored =
        rmcp_credential_store(&grant.client, refresh_token).await.map_err(|_| no_token_error(requests))?;
    found.manager.set_credential_store(stored);
    match without_logging(found.manager.refresh_token()).await {
        Ok(answer) => {
            let renewed =
                grant_from_response(&answer, &grant.issuer, grant.client.clone(), &grant.scopes, now)?;
            let requested = grant.requested.clone();
            Ok(RenewalOutcome::Renewed(Box::new(OAuthGrant { renewed_at: Some(now), requested, ..renewed })))
        }
        Err(_) => match requests.error_code().as_deref() {
            Some("invalid_grant" | "invalid_client" | "unauthorized_client") => Ok(RenewalOutcome::Rejected),
            _ => Err(no_token_error(requests)),
        },
    }
}

/// The refresh token in the form that rmcp expects. Without scopes: leaving them out requests the same as before, while
/// rmcp would add some that were never granted.
async fn rmcp_credential_store(
    client: &OAuthClient,
    refresh_token: &SecretText,
) -> Result<InMemoryCredentialStore, AuthError> {
    use rmcp::transport::auth::CredentialStore as _;

    let tokens = json!({ "access_token": "", "token_type": "bearer", "refresh_token": refresh_token });
    let tokens =
        serde_json::from_value(tokens).map_err(|error| AuthError::InternalError(error.to_string()))?;
    let store = InMemoryCredentialStore::new();
    store.save(StoredCredentials::new(client.id.clone(), Some(tokens), Vec::new(), None)).await?;
    Ok(store)
}

/// Why there is no token: the failed request, or the server's error code. Never the response itself, which may contain
/// tokens.
pub(super) fn no_token_error(requests: &StepHttpClient) -> OAuthError {
    requests.request_failure().unwrap_or_else(|| {
        let reason = requests.error_code().unwrap_or_else(|| "its response is not valid OAuth".to_owned());
        OAuthError::NoToken(reason)
    })
}

/// The grant in a response of the token endpoint. A response without scopes grants the requested ones.
pub(super) fn grant_from_response(
    answer: &OAuthTokenResponse,
    issuer: &str,
    client: OAuthClient,
    requested: &[String],
    now: Timestamp,
) -> Result<OAuthGrant, OAuthError> {
    let unusable = |what: &str| OAuthError::NoToken(what.to_owned());
    let tokens = serde_json::to_value(answer).ok().and_then(|answer| TokenResponse::deserialize(answer).ok());
    let tokens = tokens.ok_or_else(|| unusable("its response is not valid OAuth"))?;
    if !tokens.token_type.eq_ignore_ascii_case("bearer") {
        return Err(unusable("it is not a bearer token"));
    }
    let fits = |token: &SecretText| (1..=MAX_TOKEN_BYTES).contains(&token.expose().len());
    if !fits(&tokens.access_token) || !tokens.refresh_token.as_ref().is_none_or(fits) {
        return Err(unusable("it is empty or too long"));
    }
    let life = tokens.expires_in.map(|seconds| Duration::from_secs(seconds).min(MAX_LIFE));
    let mut scopes = Vec::new();
    match tokens.scope {
        Some(given) => add_scopes(&mut scopes, given.split_whitespace().map(str::to_owned)),
        None => add_scopes(&mut scopes, requested.iter().cloned()),
    }
    Ok(OAuthGrant {
        issuer: issuer.to_owned(),
        client,
        access_token: tokens.access_token,
        refresh_token: tokens.refresh_token,
        expires_at: life.and_then(|life| now.checked_add(life).ok()),
        renewed_at: None,
        requested: requested.to_vec(),
        scopes,
    })
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;

    const NOW: Timestamp = Timestamp::UNIX_EPOCH;

    fn given(answer: Value) -> Result<OAuthGrant, OAuthError> {
        let client =
            OAuthClient { id: "id".to_owned(), secret: None, redirect_uri: "http://localhost".to_owned() };
        let answer = serde_json::from_value(answer).unwrap();
        grant_from_response(&answer, "https://as.example", client, &["asked".to_owned()], NOW)
    }

    #[test]
    fn an_answer_is_read() {
        let grant = given(json!({
            "access_token": "a", "token_type": "BEARER", "expires_in": 60, "refresh_token": "r",
            "scope": "x y", "id_token": "not kept",
        }));
        let grant = grant.unwrap();
        assert_eq!(
            (grant.access_token, grant.refresh_token),
            (SecretText::new("a"), Some(SecretText::new("r")))
        );
        assert_eq!(grant.expires_at, Some(Timestamp::from_second(60).unwrap()));
        assert_eq!(grant.scopes, ["x", "y"]);
    }

    #[test]
    fn a_token_response_without_scopes_grants_the_requested_ones() {
        let grant = given(json!({ "access_token": "a", "token_type": "bearer" })).unwrap();
        assert_eq!((grant.scopes, grant.expires_at), (vec!["asked".to_owned()], None));
    }

    #[test]
    fn only_bearers_that_fit_into_a_header_are_taken() {
        let long = "a".repeat(MAX_TOKEN_BYTES + 1);
        for answer in [
            json!({ "access_token": "a", "token_type": "mac" }),
            json!({ "access_token": "", "token_type": "bearer" }),
            json!({ "access_token": long, "token_type": "bearer" }),
            json!({ "access_token": "a", "token_type": "bearer", "refresh_token": long }),
        ] {
            assert!(matches!(given(answer), Err(OAuthError::NoToken(_))));
        }
        let longest = "a".repeat(MAX_TOKEN_BYTES);
        assert!(given(json!({ "access_token": longest, "token_type": "bearer" })).is_ok());
    }

    #[test]
    fn token_lifetimes_are_clamped() {
        let grant = given(json!({ "access_token": "a", "token_type": "bearer", "expires_in": u64::MAX }));
        assert_eq!(grant.unwrap().expires_at, NOW.checked_add(MAX_LIFE).ok());
    }
}
