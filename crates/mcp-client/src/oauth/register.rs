//! Finds a client id: the one registered by hand, our metadata document, the one that we have, or a new one.

use rmcp::transport::auth::OAuthClientConfig;
use toolyard_protocol::secret::Secret;

use super::discover::{Found, unlogged, why};
use super::error::OAuthError;
use super::record::Client;
use super::requests::Requests;
use super::settings::OAuthSettings;

/// What rmcp has to know of a client.
pub(super) fn config_of(client: &Client) -> OAuthClientConfig {
    let config = OAuthClientConfig::new(&client.id, &client.redirect_uri);
    match &client.secret {
        Some(secret) => config.with_client_secret(secret.expose()),
        None => config,
    }
}

/// Chooses, and tells the manager of it. `known` is a client that this authorization server gave us before.
pub(super) async fn register(
    found: &mut Found,
    requests: &Requests,
    settings: &OAuthSettings,
    known: Option<&Client>,
    scopes: &[&str],
) -> Result<Client, OAuthError> {
    let client = match chosen(found, settings, known)? {
        Some(client) => client,
        None => new(found, requests, settings, scopes).await?,
    };
    let failed = |error| why(requests, error, OAuthError::BadMetadata);
    found.manager.configure_client(config_of(&client)).map_err(failed)?;
    Ok(client)
}

fn chosen(
    found: &Found,
    settings: &OAuthSettings,
    known: Option<&Client>,
) -> Result<Option<Client>, OAuthError> {
    let redirect_uri = settings.redirect_uri.clone();
    if let Some(client) = &settings.client {
        if client.issuer.as_ref().is_some_and(|issuer| *issuer != found.issuer) {
            return Err(OAuthError::OtherServer);
        }
        return Ok(Some(Client { id: client.id.clone(), secret: client.secret.clone(), redirect_uri }));
    }
    // A server on this machine has none that others could read.
    let document = settings.client_metadata_url.as_ref().filter(|url| url.starts_with("https://"));
    if let Some(url) = document
        && found.says("client_id_metadata_document_supported")
    {
        return Ok(Some(Client { id: url.clone(), secret: None, redirect_uri }));
    }
    Ok(known.filter(|client| client.redirect_uri == redirect_uri).cloned())
}

/// Registers a client at the server.
async fn new(
    found: &mut Found,
    requests: &Requests,
    settings: &OAuthSettings,
    scopes: &[&str],
) -> Result<Client, OAuthError> {
    if found.metadata.registration_endpoint.is_none() {
        return Err(OAuthError::NotRegistered("it takes no registrations".to_owned()));
    }
    let redirect_uri = settings.redirect_uri.clone();
    // A client without an id only to set the application type, for which rmcp has no other way.
    let unnamed =
        OAuthClientConfig::new("", &redirect_uri).with_application_type(settings.application_type());
    let failed = |error| why(requests, error, OAuthError::NotRegistered);
    found.manager.configure_client(unnamed).map_err(failed)?;
    let registering = found.manager.register_client(&settings.client_name, &redirect_uri, scopes);
    let config = unlogged(registering).await.map_err(failed)?;
    Ok(Client { id: config.client_id, secret: config.client_secret.map(Secret::new), redirect_uri })
}
