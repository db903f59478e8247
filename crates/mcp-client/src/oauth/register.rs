//! Chooses a client id: the one registered manually, our metadata document, a known one, or a new one.

use bytes::Bytes;
use serde::Deserialize;
use serde_json::json;
use toolyard_protocol::secret::SecretText;

use super::error::{OAuthError, sanitize_foreign_text};
use super::record::OAuthClient;
use super::requests::StepHttpClient;
use super::server_metadata::AuthorizationServer;
use super::settings::OAuthSettings;

/// Longest client id and secret, in bytes: both are stored, and sent with each token request.
const MAX_CLIENT_BYTES: usize = 4 * 1024;

/// The response of a registration endpoint (RFC 7591).
#[derive(Debug, Deserialize)]
struct RegistrationResponse {
    client_id: String,
    client_secret: Option<SecretText>,
}

/// Chooses the client. `known` is a client that this authorization server issued before.
pub(super) async fn choose_client(
    server: &AuthorizationServer,
    requests: &StepHttpClient,
    settings: &OAuthSettings,
    known: Option<&OAuthClient>,
    scopes: &[String],
) -> Result<OAuthClient, OAuthError> {
    match known_client(server, settings, known)? {
        Some(client) => Ok(client),
        None => register_client(server, requests, settings, scopes).await,
    }
}

fn known_client(
    server: &AuthorizationServer,
    settings: &OAuthSettings,
    known: Option<&OAuthClient>,
) -> Result<Option<OAuthClient>, OAuthError> {
    let redirect_uri = settings.redirect_uri.clone();
    if let Some(client) = &settings.client {
        if client.issuer.as_ref().is_some_and(|issuer| *issuer != server.issuer) {
            return Err(OAuthError::OtherServer);
        }
        return Ok(Some(OAuthClient { id: client.id.clone(), secret: client.secret.clone(), redirect_uri }));
    }
    // A server on this machine has no document that others could read.
    let document = settings.client_metadata_url.as_ref().filter(|url| url.starts_with("https://"));
    if let Some(url) = document
        && server.reads_client_documents
    {
        return Ok(Some(OAuthClient { id: url.clone(), secret: None, redirect_uri }));
    }
    Ok(known.filter(|client| client.redirect_uri == redirect_uri).cloned())
}

/// Registers a client at the server.
async fn register_client(
    server: &AuthorizationServer,
    requests: &StepHttpClient,
    settings: &OAuthSettings,
    scopes: &[String],
) -> Result<OAuthClient, OAuthError> {
    let Some(endpoint) = &server.registration_endpoint else {
        return Err(OAuthError::NotRegistered("it has no registration endpoint".to_owned()));
    };
    let mut body = json!({
        "client_name": settings.client_name,
        "redirect_uris": [settings.redirect_uri],
        "grant_types": ["authorization_code", "refresh_token"],
        "token_endpoint_auth_method": "none",
        "response_types": ["code"],
        "application_type": settings.application_type(),
    });
    if !scopes.is_empty() {
        body["scope"] = json!(scopes.join(" "));
    }
    let answer = requests.post_json(endpoint, Bytes::from(body.to_string())).await?;
    if !answer.status().is_success() {
        let text = format!("{}: {}", answer.status(), String::from_utf8_lossy(answer.body()));
        return Err(OAuthError::NotRegistered(sanitize_foreign_text(&text)));
    }
    client_from_response(answer.body(), settings)
}

fn client_from_response(body: &[u8], settings: &OAuthSettings) -> Result<OAuthClient, OAuthError> {
    let unusable = |what: &str| OAuthError::NotRegistered(what.to_owned());
    let response: RegistrationResponse =
        serde_json::from_slice(body).map_err(|_| unusable("its response is not valid OAuth"))?;
    // Some servers send an empty secret to a client that has none.
    let secret = response.client_secret.filter(|secret| !secret.expose().is_empty());
    let fits = |text: &str| (1..=MAX_CLIENT_BYTES).contains(&text.len());
    if !fits(&response.client_id) || !secret.as_ref().is_none_or(|secret| fits(secret.expose())) {
        return Err(unusable("the id or the secret is empty or too long"));
    }
    Ok(OAuthClient { id: response.client_id, secret, redirect_uri: settings.redirect_uri.clone() })
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;

    fn registered(body: &Value) -> Result<(String, Option<SecretText>), OAuthError> {
        let client = client_from_response(body.to_string().as_bytes(), &OAuthSettings::default())?;
        Ok((client.id, client.secret))
    }

    #[test]
    fn an_empty_secret_is_none() {
        let id = "id".to_owned();
        assert_eq!(registered(&json!({ "client_id": "id", "client_secret": "" })), Ok((id.clone(), None)));
        let with_secret = registered(&json!({ "client_id": "id", "client_secret": "sesame" }));
        assert_eq!(with_secret, Ok((id, Some(SecretText::new("sesame")))));
    }

    #[test]
    fn unusable_registrations_are_refused_without_showing_the_response() {
        let long = "a".repeat(MAX_CLIENT_BYTES + 1);
        for body in [
            json!({ "client_secret": "sesame" }),
            json!({ "client_id": "", "client_secret": "sesame" }),
            json!({ "client_id": long, "client_secret": "sesame" }),
            json!({ "client_id": "id", "client_secret": long }),
        ] {
            let refused = registered(&body).unwrap_err();
            assert!(
                matches!(refused, OAuthError::NotRegistered(_)) && !refused.to_string().contains("sesame")
            );
        }
    }
}
