//! Chooses a client id: the one registered manually, our metadata document, a known one, or a new one.

use rmcp::transport::auth::OAuthClientConfig;
use toolyard_protocol::secret::SecretText;

use super::discover::{DiscoveredServer, step_error, without_logging};
use super::error::OAuthError;
use super::record::OAuthClient;
use super::requests::StepHttpClient;
use super::settings::OAuthSettings;

/// The client in the form that rmcp expects.
pub(super) fn client_config(client: &OAuthClient) -> OAuthClientConfig {
    let config = OAuthClientConfig::new(&client.id, &client.redirect_uri);
    match &client.secret {
        Some(secret) => config.with_client_secret(secret.expose()),
        None => config,
    }
}

/// Chooses the client and configures the manager. `known` is a client that this authorization server issued before.
pub(super) async fn choose_client(
    found: &mut DiscoveredServer,
    requests: &StepHttpClient,
    settings: &OAuthSettings,
    known: Option<&OAuthClient>,
    scopes: &[&str],
) -> Result<OAuthClient, OAuthError> {
    let client = match known_client(found, settings, known)? {
        Some(client) => client,
        None => register_client(found, requests, settings, scopes).await?,
    };
    let failed = |error| step_error(requests, error, OAuthError::BadMetadata);
    found.manager.configure_client(client_config(&client)).map_err(failed)?;
    Ok(client)
}

fn known_client(
    found: &DiscoveredServer,
    settings: &OAuthSettings,
    known: Option<&OAuthClient>,
) -> Result<Option<OAuthClient>, OAuthError> {
    let redirect_uri = settings.redirect_uri.clone();
    if let Some(client) = &settings.client {
        if client.issuer.as_ref().is_some_and(|issuer| *issuer != found.issuer) {
            return Err(OAuthError::OtherServer);
        }
        return Ok(Some(OAuthClient { id: client.id.clone(), secret: client.secret.clone(), redirect_uri }));
    }
    // A server on this machine has no document that others could read.
    let document = settings.client_metadata_url.as_ref().filter(|url| url.starts_with("https://"));
    if let Some(url) = document
        && found.has_flag("client_id_metadata_document_supported")
    {
        return Ok(Some(OAuthClient { id: url.clone(), secret: None, redirect_uri }));
    }
    Ok(known.filter(|client| client.redirect_uri == redirect_uri).cloned())
}

/// Registers a client at the server.
async fn register_client(
    found: &mut DiscoveredServer,
    requests: &StepHttpClient,
    settings: &OAuthSettings,
    scopes: &[&str],
) -> Result<OAuthClient, OAuthError> {
    if found.metadata.registration_endpoint.is_none() {
        return Err(OAuthError::NotRegistered("it has no registration endpoint".to_owned()));
    }
    let redirect_uri = settings.redirect_uri.clone();
    // A client without an id, only to set the application type, for which rmcp has no other way.
    let unnamed =
        OAuthClientConfig::new("", &redirect_uri).with_application_type(settings.application_type());
    let failed = |error| step_error(requests, error, OAuthError::NotRegistered);
    found.manager.configure_client(unnamed).map_err(failed)?;
    let registering = found.manager.register_client(&settings.client_name, &redirect_uri, scopes);
    let config = without_logging(registering).await.map_err(failed)?;
    Ok(OAuthClient { id: config.client_id, secret: config.client_secret.map(SecretText::new), redirect_uri })
}
