//! Client ID metadata documents: a client describes itself at the URL that is its id.

use super::{
    ClientAuthentication, ClientKind, ClientMetadataError, DisplayName, DocumentUrl, OAuthClient,
    metadata::RawMetadata,
};
use crate::{grant_type::GrantType, redirect::RedirectUri};

/// Largest metadata document, in bytes.
pub const MAX_DOCUMENT_BYTES: usize = 10 * 1024;
/// Grants of a client that no operator registered. The device grant is not among them: a stranger could send a person a link
/// that only asks for a code.
const DOCUMENT_GRANTS: [GrantType; 3] =
    [GrantType::AuthorizationCode, GrantType::RefreshToken, GrantType::JwtBearer];

/// Reads the document that was fetched from a URL.
///
/// Redirect URIs that this server does not allow are left out instead of refusing the document: they cannot be used, and
/// the client may need them elsewhere.
pub fn parse_document(url: &DocumentUrl, body: &[u8]) -> Result<OAuthClient, ClientMetadataError> {
    let mut raw = RawMetadata::parse(body, MAX_DOCUMENT_BYTES)?;
    if raw.client_id.as_deref() != Some(url.as_str()) {
        return Err(ClientMetadataError::OtherClient);
    }
    if raw.client_secret.is_some() || raw.client_secret_expires_at.is_some() {
        return Err(ClientMetadataError::PublishedSecret);
    }
    let grant_types = raw.grant_types(&DOCUMENT_GRANTS)?;
    let redirect_uris: Vec<RedirectUri> =
        raw.redirect_uris.iter().filter_map(|uri| uri.parse().ok()).collect();
    if redirect_uris.is_empty() && grant_types.contains(&GrantType::AuthorizationCode) {
        return Err(ClientMetadataError::NoRedirect);
    }
    let authentication = read_authentication(&mut raw)?;
    let name = raw.client_name.as_deref().and_then(DisplayName::clean);
    Ok(OAuthClient {
        id: url.client_id().clone(),
        name: name.unwrap_or_else(|| DisplayName::from(url.host().to_owned())),
        kind: ClientKind::MetadataDocument,
        redirect_uris,
        authentication,
        grant_types,
        logo: RawMetadata::shown_url(raw.logo_uri.as_deref()),
        client_uri: RawMetadata::shown_url(raw.client_uri.as_deref()),
        access_token_s: None,
    })
}

/// The ways in which it may authenticate. A document names its preferred way in one field and all ways in another, and
/// clients do not always use the preferred one: everything that either field names is accepted.
fn read_authentication(raw: &mut RawMetadata) -> Result<Vec<ClientAuthentication>, ClientMetadataError> {
    let preferred = raw.token_endpoint_auth_method.as_slice();
    let methods =
        [preferred, raw.token_endpoint_auth_methods_supported.as_deref().unwrap_or_default()].concat();
    let names = |method: &str| methods.iter().any(|name| name == method);
    let (is_public, is_keyed) = (methods.is_empty() || names("none"), names("private_key_jwt"));
    let keys = match raw.key_source() {
        // A leaked private key is refused even where no key is needed.
        Err(error) if is_keyed || error == ClientMetadataError::Keys(crate::jwt::KeySetError::Private) => {
            return Err(error);
        }
        keys => keys.unwrap_or_default().filter(|_| is_keyed),
    };
    let keyed = keys.map(|keys| ClientAuthentication::PrivateKeyJwt { keys });
    let public = is_public.then_some(ClientAuthentication::None);
    let accepted: Vec<ClientAuthentication> = public.into_iter().chain(keyed).collect();
    match (accepted.is_empty(), is_keyed) {
        (false, _) => Ok(accepted),
        (true, true) => Err(ClientMetadataError::NoKeys),
        (true, false) => Err(ClientMetadataError::AuthenticationMethod),
    }
}

#[cfg(test)]
mod tests;
