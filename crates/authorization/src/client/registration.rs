//! Dynamic client registration (RFC 7591), for clients that do not publish a metadata document.

use jiff::Timestamp;
use serde::Serialize;
use toolyard_protocol::secret::SecretText;
use zeroize::Zeroizing;

use super::{
    ClientAuthMethod, ClientAuthentication, ClientId, ClientKind, ClientMetadataError, DisplayName,
    KeySource, OAuthClient, SecretHash, WebUrl, metadata::RawMetadata, secret_from_bytes,
};
use crate::{grant_type::GrantType, redirect::RedirectUri};

/// Largest registration request, in bytes.
pub const MAX_REGISTRATION_BYTES: usize = 16 * 1024;
/// Grants of a client that registered itself. Its id changes with each registration, so no identity provider can name it.
const REGISTERED_GRANTS: [GrantType; 2] = [GrantType::AuthorizationCode, GrantType::RefreshToken];
/// Clients that register as public and then do not continue without a secret. RFC 7591 lets the server choose another
/// method, and they use what they are given. Compared as whole texts.
const CONFIDENTIAL_REDIRECTS: [&str; 4] = [
    "https://www.perplexity.ai/rest/connections/oauth_callback",
    "https://www.perplexity.com/rest/connections/oauth_callback",
    "https://enterprise.perplexity.ai/rest/connections/oauth_callback",
    "https://enterprise.perplexity.com/rest/connections/oauth_callback",
];

/// Unguessable bytes for a registration. The secret is used only if the client gets one.
pub struct RegistrationBytes {
    /// For the client id.
    pub id: [u8; 16],
    /// For the client secret.
    pub secret: Zeroizing<[u8; 32]>,
}

/// A registered client, and the response with status 201.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RegisteredClient {
    /// The record to store.
    pub client: OAuthClient,
    /// The response, the only place where the secret can be read.
    pub response: RegistrationResponse,
}

/// The response to a registration.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct RegistrationResponse {
    /// The id.
    pub client_id: ClientId,
    /// When it was issued, in seconds since 1970.
    pub client_id_issued_at: i64,
    /// The secret, if it has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub client_secret: Option<SecretText>,
    /// 0, because the secret does not expire. Required with a secret.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub client_secret_expires_at: Option<i64>,
    /// The name, cleaned.
    pub client_name: DisplayName,
    /// Where codes may be sent.
    pub redirect_uris: Vec<RedirectUri>,
    /// Always with `refresh_token`: some clients refuse a response without it.
    pub grant_types: Vec<GrantType>,
    /// `code` only.
    pub response_types: [&'static str; 1],
    /// How it authenticates.
    pub token_endpoint_auth_method: ClientAuthMethod,
    /// Where its keys are.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub jwks_uri: Option<WebUrl>,
    /// Its home page.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub client_uri: Option<WebUrl>,
    /// Its logo.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub logo_uri: Option<WebUrl>,
}

/// Validates a registration request and creates the client.
pub fn register_client(
    body: &[u8],
    bytes: RegistrationBytes,
    now: Timestamp,
) -> Result<RegisteredClient, ClientMetadataError> {
    let mut raw = RawMetadata::parse(body, MAX_REGISTRATION_BYTES)?;
    let grant_types = raw.grant_types(&REGISTERED_GRANTS)?;
    let parse_uri = |uri: &String| uri.parse().map_err(ClientMetadataError::Redirect);
    let redirect_uris: Vec<RedirectUri> =
        raw.redirect_uris.iter().map(parse_uri).collect::<Result<_, _>>()?;
    if redirect_uris.is_empty() {
        return Err(ClientMetadataError::NoRedirect);
    }
    let method = choose_method(raw.token_endpoint_auth_method.as_deref(), &redirect_uris)?;
    let secret = method.uses_secret().then(|| secret_from_bytes(*bytes.secret));
    let authentication = match (&secret, method) {
        (Some(secret), _) => ClientAuthentication::Secret { sha256: SecretHash::from_secret(secret) },
        (None, ClientAuthMethod::PrivateKeyJwt) => ClientAuthentication::PrivateKeyJwt {
            keys: raw.key_source()?.ok_or(ClientMetadataError::NoKeys)?,
        },
        (None, _) => ClientAuthentication::None,
    };
    let name = raw.client_name.as_deref().and_then(DisplayName::clean);
    let client = OAuthClient {
        id: ClientId::from_bytes(bytes.id),
        name: name.unwrap_or_else(|| DisplayName::from(String::new())),
        kind: ClientKind::Dynamic,
        redirect_uris,
        authentication: vec![authentication],
        grant_types,
        logo: RawMetadata::shown_url(raw.logo_uri.as_deref()),
        client_uri: RawMetadata::shown_url(raw.client_uri.as_deref()),
        access_token_s: None,
    };
    let response = build_response(&client, method, secret, now);
    Ok(RegisteredClient { client, response })
}

/// The method of a new client: public, unless it asks for more or is known to need more.
fn choose_method(
    requested: Option<&str>,
    redirect_uris: &[RedirectUri],
) -> Result<ClientAuthMethod, ClientMetadataError> {
    let requested = requested.filter(|name| !name.is_empty()).unwrap_or("none");
    let method = requested.parse().map_err(|_| ClientMetadataError::AuthenticationMethod)?;
    let is_confidential = |uri: &RedirectUri| CONFIDENTIAL_REDIRECTS.contains(&uri.as_str());
    if method == ClientAuthMethod::None && redirect_uris.iter().any(is_confidential) {
        return Ok(ClientAuthMethod::ClientSecretPost);
    }
    Ok(method)
}

fn build_response(
    client: &OAuthClient,
    method: ClientAuthMethod,
    secret: Option<SecretText>,
    now: Timestamp,
) -> RegistrationResponse {
    let jwks_uri = client.authentication.iter().find_map(|way| match way {
        ClientAuthentication::PrivateKeyJwt { keys: KeySource::Url(url) } => Some(url.clone()),
        _ => None,
    });
    RegistrationResponse {
        client_id: client.id.clone(),
        client_id_issued_at: now.as_second(),
        client_secret_expires_at: secret.as_ref().map(|_| 0),
        client_secret: secret,
        client_name: client.name.clone(),
        redirect_uris: client.redirect_uris.clone(),
        grant_types: client.grant_types.clone(),
        response_types: ["code"],
        token_endpoint_auth_method: method,
        jwks_uri,
        client_uri: client.client_uri.clone(),
        logo_uri: client.logo.clone(),
    }
}

#[cfg(test)]
mod tests;
