//! Authenticates clients: nothing, a secret, or a signed assertion (RFC 7523).

use jiff::Timestamp;
use serde::Deserialize;
use sha2::{Digest as _, Sha256};

use crate::{
    client::{
        ClientAuthMethod, ClientAuthentication, ClientId, ClientMetadataError, KeySource,
        MAX_CLIENT_ID_BYTES, OAuthClient,
    },
    error::OAuthErrorCode,
    grant_type::GrantType,
    issuer::IssuerOrigin,
    jwt::NumericDate,
    jwt::{
        AssertionError, KeySet, MAX_JTI_BYTES, OneOrMany, required_claim, times::AssertionTimes,
        verify_signature,
    },
    token_request::{ClientProof, GrantError, PresentedClient},
};

/// Why a client is not authenticated.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum ClientAuthError {
    /// No id.
    #[error("the client is not named; send `client_id`, or client authentication")]
    MissingId,
    /// No such client. Clients register again when they see this.
    #[error("the client is not known to this server; register it again")]
    UnknownClient,
    /// The metadata document cannot be used.
    #[error(transparent)]
    Metadata(#[from] ClientMetadataError),
    /// The metadata document could not be fetched.
    #[error("the metadata document of the client could not be fetched; try again later")]
    DocumentUnavailable,
    /// The Basic header cannot be read.
    #[error(
        "the Basic header cannot be read; send base64 of the form-encoded id, a colon and the form-encoded secret"
    )]
    BasicHeader,
    /// Two ways at once.
    #[error("the request uses more than one way of client authentication; use one")]
    TwoMethods,
    /// Two different ids.
    #[error("the request names two different clients; send the same id everywhere")]
    TwoClients,
    /// An assertion without its type, or the reverse.
    #[error(
        "`client_assertion` needs client_assertion_type=urn:ietf:params:oauth:client-assertion-type:jwt-bearer, and the reverse"
    )]
    AssertionType,
    /// A way that is not registered for this client.
    #[error("the client is not registered for this way of authentication; use the one of its registration")]
    MethodNotAllowed,
    /// The secret is wrong.
    #[error("the client secret is wrong")]
    Secret,
    /// The keys could not be fetched.
    #[error(
        "the keys at the client's `jwks_uri` could not be fetched; check that they are published, and try again later"
    )]
    KeysUnavailable,
    /// The assertion is not valid.
    #[error(transparent)]
    Assertion(#[from] AssertionError),
    /// The assertion was used before.
    #[error("the client assertion was used before; create a new one for each request")]
    AssertionReplayed,
}

impl ClientAuthError {
    /// The code.
    pub const fn code(self) -> OAuthErrorCode {
        match self {
            Self::TwoMethods | Self::TwoClients | Self::AssertionType => OAuthErrorCode::InvalidRequest,
            // Not `invalid_client`: clients forget their registration when they see that.
            Self::DocumentUnavailable | Self::KeysUnavailable => OAuthErrorCode::TemporarilyUnavailable,
            _ => OAuthErrorCode::InvalidClient,
        }
    }
}

/// An assertion that is used up. The caller records the key until the time, and refuses one that is recorded already.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UsedAssertion {
    /// A hash of issuer and `jti`: an id is unique for its issuer only.
    pub replay_key: String,
    /// Until when it must be remembered.
    pub remember_until: Timestamp,
}

impl UsedAssertion {
    pub(crate) fn new(issuer: &str, jti: &str, remember_until: Timestamp) -> Self {
        let mut hash = Sha256::new();
        for part in [issuer, "\0", jti] {
            hash.update(part.as_bytes());
        }
        Self { replay_key: hex::encode(hash.finalize()), remember_until }
    }
}

/// Proof that a client authenticated, or is public and did not have to. Made only here.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuthenticatedClient {
    id: ClientId,
    method: ClientAuthMethod,
    assertion: Option<UsedAssertion>,
}

impl AuthenticatedClient {
    /// The client.
    pub fn id(&self) -> &ClientId {
        &self.id
    }

    /// How it authenticated.
    pub fn method(&self) -> ClientAuthMethod {
        self.method
    }

    /// The assertion that was used, to be recorded.
    pub fn used_assertion(&self) -> Option<&UsedAssertion> {
        self.assertion.as_ref()
    }

    /// Checks that the client may use a grant. Without a person, the client itself must be proven.
    pub fn check_grant(&self, client: &OAuthClient, grant: GrantType) -> Result<(), GrantError> {
        if client.id != self.id || !client.allows_grant(grant) {
            return Err(GrantError::GrantNotAllowed);
        }
        if grant == GrantType::ClientCredentials && !self.method.is_confidential() {
            return Err(GrantError::PublicClient);
        }
        Ok(())
    }

    /// A public client, for tests of other modules.
    #[cfg(test)]
    pub(crate) fn public(id: ClientId) -> Self {
        Self { id, method: ClientAuthMethod::None, assertion: None }
    }

    /// A client with a secret, for tests of other modules.
    #[cfg(test)]
    pub(crate) fn confidential(id: ClientId) -> Self {
        Self { id, method: ClientAuthMethod::ClientSecretBasic, assertion: None }
    }
}

/// What a client assertion is checked against.
#[derive(Debug, Clone, Copy)]
pub struct AssertionContext<'a> {
    /// This server.
    pub issuer: &'a IssuerOrigin,
    /// The URL of the token endpoint, which older clients name as the audience.
    pub token_endpoint: &'a str,
    /// The keys that were fetched from [`OAuthClient::key_url`], if they could be.
    pub fetched_keys: Option<&'a KeySet>,
    /// The current time.
    pub now: Timestamp,
}

/// The claims of a client assertion.
#[derive(Debug, Deserialize)]
struct ClientClaims {
    iss: Option<String>,
    sub: Option<String>,
    aud: Option<OneOrMany>,
    jti: Option<String>,
    exp: Option<NumericDate>,
    nbf: Option<NumericDate>,
    iat: Option<NumericDate>,
}

/// Authenticates a client with the proof that it presented.
pub fn authenticate_client(
    client: &OAuthClient,
    presented: &PresentedClient,
    context: &AssertionContext<'_>,
) -> Result<AuthenticatedClient, ClientAuthError> {
    if client.id != presented.id {
        return Err(ClientAuthError::UnknownClient);
    }
    let assertion = match &presented.proof {
        ClientProof::None => {
            let is_public = client.authentication.contains(&ClientAuthentication::None);
            if !is_public {
                return Err(ClientAuthError::MethodNotAllowed);
            }
            None
        }
        ClientProof::SecretBasic(secret) | ClientProof::SecretPost(secret) => {
            let hash = client.authentication.iter().find_map(|way| match way {
                ClientAuthentication::Secret { sha256 } => Some(sha256),
                _ => None,
            });
            if !hash.ok_or(ClientAuthError::MethodNotAllowed)?.verify(secret) {
                return Err(ClientAuthError::Secret);
            }
            None
        }
        ClientProof::Assertion(assertion) => {
            let keys = client.authentication.iter().find_map(|way| match way {
                ClientAuthentication::PrivateKeyJwt { keys: KeySource::Inline(keys) } => Some(Some(keys)),
                ClientAuthentication::PrivateKeyJwt { keys: KeySource::Url(_) } => Some(context.fetched_keys),
                _ => None,
            });
            let keys =
                keys.ok_or(ClientAuthError::MethodNotAllowed)?.ok_or(ClientAuthError::KeysUnavailable)?;
            Some(verify_assertion(&client.id, assertion.expose(), keys, context)?)
        }
    };
    Ok(AuthenticatedClient { id: client.id.clone(), method: presented.proof.method(), assertion })
}

/// Verifies a client assertion (RFC 7523, 3).
fn verify_assertion(
    client: &ClientId,
    assertion: &str,
    keys: &KeySet,
    context: &AssertionContext<'_>,
) -> Result<UsedAssertion, AssertionError> {
    let claims: ClientClaims = verify_signature(assertion, keys, is_client_assertion)?;
    if required_claim(claims.iss.as_deref(), "iss", MAX_CLIENT_ID_BYTES)? != client.as_str() {
        return Err(AssertionError::Issuer);
    }
    if required_claim(claims.sub.as_deref(), "sub", MAX_CLIENT_ID_BYTES)? != client.as_str() {
        return Err(AssertionError::Subject);
    }
    let is_ours = |audience: &str| audience == context.issuer.as_str() || audience == context.token_endpoint;
    if !claims.aud.ok_or(AssertionError::Claim("aud"))?.all(is_ours) {
        return Err(AssertionError::Audience);
    }
    let times = AssertionTimes { expires: claims.exp, not_before: claims.nbf, issued: claims.iat };
    let remember_until = times.check(context.now)?;
    let jti = required_claim(claims.jti.as_deref(), "jti", MAX_JTI_BYTES)?;
    Ok(UsedAssertion::new(client.as_str(), jti, remember_until))
}

/// A type that is missing, general, or that of client assertions. A token with another type was signed for another
/// purpose, perhaps with the same key.
fn is_client_assertion(kind: Option<&str>) -> bool {
    kind.is_none_or(|kind| {
        kind.eq_ignore_ascii_case("jwt") || kind.eq_ignore_ascii_case("client-authentication+jwt")
    })
}

#[cfg(test)]
mod tests;
