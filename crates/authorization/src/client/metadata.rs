//! Client metadata (RFC 7591) as far as documents and registrations have it in common.

use std::{fmt, str::FromStr};

use serde::{Deserialize, Serialize};
use serde_json::Value;
use url::Url;

use super::{KeySource, MAX_DOCUMENT_URL_BYTES};
use crate::{
    error::{ErrorResponse, OAuthErrorCode},
    grant_type::GrantType,
    jwt::{KeySet, KeySetError},
    redirect::RedirectError,
};

/// Most redirect URIs of a client.
pub const MAX_REDIRECT_URIS: usize = 50;
/// Most entries of any other list in client metadata.
pub const MAX_METADATA_ITEMS: usize = 20;
/// Longest URL of a logo, home page or key set, in bytes.
pub const MAX_WEB_URL_BYTES: usize = 2 * 1024;

/// Why client metadata is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum ClientMetadataError {
    /// The id looks like a URL and is not the URL of a document.
    #[error(
        "a client id that is a URL must be an https URL with a path, in normal form, without user, fragment and `..`, \
         of at most {MAX_DOCUMENT_URL_BYTES} bytes"
    )]
    DocumentUrl,
    /// Too large.
    #[error("the client metadata is larger than {0} bytes; shorten it")]
    TooLarge(usize),
    /// Not JSON, or a field has another type.
    #[error("the client metadata is not a JSON object with the field types of RFC 7591")]
    Malformed,
    /// The document describes another client.
    #[error(
        "the `client_id` in the metadata document is not the URL it was fetched from; make them equal byte by byte"
    )]
    OtherClient,
    /// A secret in a public document.
    #[error(
        "the metadata document has a client secret, which everyone can read; remove it and use none or private_key_jwt"
    )]
    PublishedSecret,
    /// No usable redirect URI.
    #[error(
        "the client metadata has no redirect URI that is allowed: https, http on a loopback address, or an app's scheme"
    )]
    NoRedirect,
    /// Too many redirect URIs.
    #[error("the client metadata has more than {MAX_REDIRECT_URIS} redirect URIs; list fewer")]
    TooManyRedirects,
    /// A redirect URI is refused.
    #[error(transparent)]
    Redirect(RedirectError),
    /// Another list is too long.
    #[error("the list `{0}` in the client metadata has more than {MAX_METADATA_ITEMS} entries; list fewer")]
    TooManyItems(&'static str),
    /// No way to authenticate that can be used.
    #[error(
        "none of the client's authentication methods can be used here; see token_endpoint_auth_methods_supported"
    )]
    AuthenticationMethod,
    /// `private_key_jwt` without keys.
    #[error("the authentication method private_key_jwt needs keys; add `jwks` or `jwks_uri`")]
    NoKeys,
    /// Two places for keys.
    #[error("the client metadata has both `jwks` and `jwks_uri`; keep one")]
    TwoKeySets,
    /// Unusable keys.
    #[error(transparent)]
    Keys(KeySetError),
    /// `jwks_uri` is not an https URL.
    #[error(
        "the `jwks_uri` in the client metadata must be an https URL of at most {MAX_WEB_URL_BYTES} bytes"
    )]
    KeyUrl,
    /// No grant that this kind of client may use.
    #[error("the client metadata names no grant type that it may use; add authorization_code")]
    GrantType,
    /// Another response type than `code`.
    #[error("the client metadata must name the response type `code`")]
    ResponseType,
}

impl ClientMetadataError {
    /// The code in the response to a registration.
    pub const fn code(self) -> OAuthErrorCode {
        match self {
            Self::NoRedirect | Self::TooManyRedirects | Self::Redirect(_) => {
                OAuthErrorCode::InvalidRedirectUri
            }
            _ => OAuthErrorCode::InvalidClientMetadata,
        }
    }
}

impl From<ClientMetadataError> for ErrorResponse {
    fn from(error: ClientMetadataError) -> Self {
        Self::new(error.code(), &error)
    }
}

/// An https URL that a client names: logo, home page, key set.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct WebUrl(String);

/// A text that is not such a URL.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the URL must be an https URL without user, of at most {MAX_WEB_URL_BYTES} bytes")]
pub struct InvalidWebUrl;

impl WebUrl {
    /// The URL as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for WebUrl {
    type Err = InvalidWebUrl;

    fn from_str(text: &str) -> Result<Self, InvalidWebUrl> {
        let url = Url::parse(text).ok().filter(|_| text.len() <= MAX_WEB_URL_BYTES).ok_or(InvalidWebUrl)?;
        let is_plain = url.scheme() == "https" && url.username().is_empty() && url.password().is_none();
        // What a browser would make of it, so that nothing is left to interpret.
        let text = String::from(url);
        if is_plain && text.len() <= MAX_WEB_URL_BYTES { Ok(Self(text)) } else { Err(InvalidWebUrl) }
    }
}

impl TryFrom<String> for WebUrl {
    type Error = InvalidWebUrl;

    fn try_from(text: String) -> Result<Self, InvalidWebUrl> {
        text.parse()
    }
}

impl From<WebUrl> for String {
    fn from(url: WebUrl) -> Self {
        url.0
    }
}

impl fmt::Display for WebUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The fields that are read. Others are ignored; a field that is there twice is an error.
#[derive(Debug, Deserialize)]
pub(super) struct RawMetadata {
    pub(super) client_id: Option<String>,
    pub(super) client_name: Option<String>,
    #[serde(default)]
    pub(super) redirect_uris: Vec<String>,
    pub(super) token_endpoint_auth_method: Option<String>,
    pub(super) token_endpoint_auth_methods_supported: Option<Vec<String>>,
    pub(super) grant_types: Option<Vec<String>>,
    pub(super) response_types: Option<Vec<String>>,
    pub(super) jwks: Option<Value>,
    pub(super) jwks_uri: Option<String>,
    pub(super) client_uri: Option<String>,
    pub(super) logo_uri: Option<String>,
    pub(super) client_secret: Option<Value>,
    pub(super) client_secret_expires_at: Option<Value>,
}

impl RawMetadata {
    /// Reads metadata of at most `max` bytes.
    pub(super) fn parse(body: &[u8], max: usize) -> Result<Self, ClientMetadataError> {
        if body.len() > max {
            return Err(ClientMetadataError::TooLarge(max));
        }
        let raw: Self = serde_json::from_slice(body).map_err(|_| ClientMetadataError::Malformed)?;
        if raw.redirect_uris.len() > MAX_REDIRECT_URIS {
            return Err(ClientMetadataError::TooManyRedirects);
        }
        for (name, list) in [
            ("token_endpoint_auth_methods_supported", &raw.token_endpoint_auth_methods_supported),
            ("grant_types", &raw.grant_types),
            ("response_types", &raw.response_types),
        ] {
            if list.as_ref().is_some_and(|list| list.len() > MAX_METADATA_ITEMS) {
                return Err(ClientMetadataError::TooManyItems(name));
            }
        }
        let codes = |types: &Vec<String>| types.is_empty() || types.iter().any(|name| name == "code");
        if !raw.response_types.as_ref().is_none_or(codes) {
            return Err(ClientMetadataError::ResponseType);
        }
        Ok(raw)
    }

    /// The grants of this server that it names; codes by default. Refresh tokens come with codes.
    pub(super) fn grant_types(&self, allowed: &[GrantType]) -> Result<Vec<GrantType>, ClientMetadataError> {
        let named = match self.grant_types.as_deref() {
            None | Some([]) => vec![GrantType::AuthorizationCode],
            Some(names) => names.iter().filter_map(|name| name.parse().ok()).collect(),
        };
        let is_named = |grant: &GrantType| {
            named.contains(grant)
                || (*grant == GrantType::RefreshToken && named.contains(&GrantType::AuthorizationCode))
        };
        let grants: Vec<GrantType> = allowed.iter().copied().filter(is_named).collect();
        let is_usable = grants.iter().any(|grant| *grant != GrantType::RefreshToken);
        if is_usable { Ok(grants) } else { Err(ClientMetadataError::GrantType) }
    }

    /// Its keys, if it names some.
    pub(super) fn key_source(&mut self) -> Result<Option<KeySource>, ClientMetadataError> {
        match (self.jwks.take(), self.jwks_uri.take()) {
            (None, None) => Ok(None),
            (Some(_), Some(_)) => Err(ClientMetadataError::TwoKeySets),
            (Some(keys), None) => KeySet::from_json(keys)
                .map(|keys| Some(KeySource::Inline(keys)))
                .map_err(ClientMetadataError::Keys),
            (None, Some(url)) => {
                url.parse().map(|url| Some(KeySource::Url(url))).map_err(|_| ClientMetadataError::KeyUrl)
            }
        }
    }

    /// A URL that is only shown. An unusable one is left out, because the client works without it.
    pub(super) fn shown_url(url: Option<&str>) -> Option<WebUrl> {
        url?.parse().ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shown_urls_are_https_and_bounded() {
        assert_eq!(
            RawMetadata::shown_url(Some("https://A.example/l.png")).unwrap().as_str(),
            "https://a.example/l.png"
        );
        let long = format!("https://a.example/{}", "x".repeat(MAX_WEB_URL_BYTES));
        let grows = format!("https://a.example/{}", "\u{e4}".repeat(MAX_WEB_URL_BYTES / 3));
        for bad in [
            "",
            "http://a.example/",
            "data:image/png,x",
            "https://u@a.example/",
            "javascript:x",
            &long,
            &grows,
        ] {
            assert_eq!(RawMetadata::shown_url(Some(bad)), None, "{bad}");
        }
    }
}
