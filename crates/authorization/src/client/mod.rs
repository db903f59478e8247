//! OAuth clients: who they are, where codes may be sent, and how they authenticate.

mod cache_lifetime;
mod display_name;
mod document_url;
mod id;
mod metadata;
mod metadata_document;
mod method;
mod registration;
mod secret;

use serde::{Deserialize, Serialize};

use crate::{
    grant_type::GrantType,
    jwt::KeySet,
    redirect::{RedirectError, RedirectUri, is_loopback_only},
};

pub use cache_lifetime::{CacheHeaders, DEFAULT_CACHE_S, MAX_CACHE_S, MIN_CACHE_S, document_cache_lifetime};
pub use display_name::{DisplayName, MAX_NAME_CHARS};
pub use document_url::{DocumentUrl, MAX_DOCUMENT_URL_BYTES};
pub use id::{ClientId, InvalidClientId, MAX_CLIENT_ID_BYTES};
pub use metadata::{
    ClientMetadataError, InvalidWebUrl, MAX_METADATA_ITEMS, MAX_REDIRECT_URIS, MAX_WEB_URL_BYTES, WebUrl,
};
pub use metadata_document::{MAX_DOCUMENT_BYTES, parse_document};
pub use method::{ClientAuthMethod, UnknownAuthMethod};
pub use registration::{
    MAX_REGISTRATION_BYTES, RegisteredClient, RegistrationBytes, RegistrationResponse, register_client,
};
pub use secret::{MAX_SECRET_BYTES, SecretHash, secret_from_bytes};

/// Shortest lifetime of access tokens that can be set for a client, in seconds.
pub const MIN_ACCESS_TOKEN_S: u32 = 60;
/// Longest one, in seconds.
pub const MAX_ACCESS_TOKEN_S: u32 = 7 * 24 * 60 * 60;

/// How this server came to know a client.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ClientKind {
    /// An operator registered it.
    Preregistered,
    /// Its id is the URL of a document that describes it.
    MetadataDocument,
    /// It registered itself (RFC 7591).
    Dynamic,
}

/// One way in which a client may authenticate.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "method", rename_all = "snake_case")]
pub enum ClientAuthentication {
    /// Not at all: a public client, protected by PKCE.
    None,
    /// With a secret, in a Basic header or in the form.
    Secret {
        /// Its hash.
        sha256: SecretHash,
    },
    /// With a signed assertion.
    PrivateKeyJwt {
        /// The keys that verify it.
        keys: KeySource,
    },
}

/// Where the keys of a client are.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum KeySource {
    /// In its metadata.
    Inline(KeySet),
    /// At a URL, which the caller fetches through its guard.
    Url(WebUrl),
}

/// A client.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct OAuthClient {
    /// Its id.
    pub id: ClientId,
    /// Its name, as it calls itself.
    pub name: DisplayName,
    /// How this server came to know it.
    pub kind: ClientKind,
    /// Where codes may be sent.
    #[serde(default)]
    pub redirect_uris: Vec<RedirectUri>,
    /// The ways in which it may authenticate. A document can name several, and the client then chooses.
    pub authentication: Vec<ClientAuthentication>,
    /// The grants that it may use.
    pub grant_types: Vec<GrantType>,
    /// Its logo.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub logo: Option<WebUrl>,
    /// Its home page.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client_uri: Option<WebUrl>,
    /// Lifetime of its access tokens in seconds, if it differs from the default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub access_token_s: Option<u32>,
}

impl OAuthClient {
    /// The redirect URI of a request, if it is registered for this client.
    pub fn find_redirect(&self, requested: &str) -> Result<RedirectUri, RedirectError> {
        let requested: RedirectUri = requested.parse()?;
        let is_registered = self.redirect_uris.iter().any(|registered| registered.matches(&requested));
        if is_registered { Ok(requested) } else { Err(RedirectError::NotRegistered) }
    }

    /// Whether it may use a grant.
    ///
    /// Only an operator can permit a client to act without a person, or to ask for a code on another device, which
    /// strangers could use for phishing. An identity assertion names the client itself, and the identity provider decides
    /// about it, so that grant needs no entry.
    pub fn allows_grant(&self, grant: GrantType) -> bool {
        let has = |grant: GrantType| self.grant_types.contains(&grant);
        match grant {
            GrantType::RefreshToken => {
                has(grant)
                    || self.allows_grant(GrantType::AuthorizationCode)
                    || self.allows_grant(GrantType::DeviceCode)
            }
            GrantType::ClientCredentials | GrantType::DeviceCode => {
                has(grant) && self.kind == ClientKind::Preregistered
            }
            GrantType::JwtBearer => self.kind != ClientKind::Dynamic,
            GrantType::AuthorizationCode => has(grant),
        }
    }

    /// Whether codes only go to the person's own computer, where any program can pretend to be this client.
    pub fn is_loopback_only(&self) -> bool {
        is_loopback_only(&self.redirect_uris)
    }

    /// The lifetime of its access tokens in seconds, within the bounds.
    pub fn access_token_lifetime(&self, default_s: u32) -> u32 {
        self.access_token_s.unwrap_or(default_s).clamp(MIN_ACCESS_TOKEN_S, MAX_ACCESS_TOKEN_S)
    }

    /// The URL of its keys, if they must be fetched before an assertion can be verified.
    pub fn key_url(&self) -> Option<&WebUrl> {
        self.authentication.iter().find_map(|way| match way {
            ClientAuthentication::PrivateKeyJwt { keys: KeySource::Url(url) } => Some(url),
            _ => None,
        })
    }
}

#[cfg(test)]
pub(crate) mod tests;
