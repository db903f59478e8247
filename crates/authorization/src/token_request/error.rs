//! Why a token request fails.

use crate::{
    client_auth::ClientAuthError,
    error::{ErrorResponse, OAuthErrorCode},
    grant_type::UnknownGrantType,
    jwt::AssertionError,
    parameters::ParameterError,
    pkce::PkceError,
    scope::ScopeError,
};

/// A refused token request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum TokenError {
    /// The form cannot be read.
    #[error(transparent)]
    Parameter(#[from] ParameterError),
    /// A grant type that this server does not know.
    #[error(transparent)]
    GrantType(#[from] UnknownGrantType),
    /// Scopes that cannot be read.
    #[error(transparent)]
    Scope(#[from] ScopeError),
    /// Not a code verifier.
    #[error(transparent)]
    Verifier(#[from] PkceError),
    /// The client did not authenticate.
    #[error(transparent)]
    Client(#[from] ClientAuthError),
    /// The grant is not valid.
    #[error(transparent)]
    Grant(#[from] GrantError),
    /// This server failed.
    #[error("the server failed; try again later")]
    ServerError,
    /// This server is overloaded.
    #[error("the server is busy; try again in a minute")]
    TemporarilyUnavailable,
}

impl TokenError {
    /// The code.
    pub const fn code(self) -> OAuthErrorCode {
        match self {
            Self::Parameter(_) | Self::Verifier(_) => OAuthErrorCode::InvalidRequest,
            Self::GrantType(_) => OAuthErrorCode::UnsupportedGrantType,
            Self::Scope(_) => OAuthErrorCode::InvalidScope,
            Self::Client(error) => error.code(),
            Self::Grant(error) => error.code(),
            Self::ServerError => OAuthErrorCode::ServerError,
            Self::TemporarilyUnavailable => OAuthErrorCode::TemporarilyUnavailable,
        }
    }
}

/// A grant that is not valid for this client.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum GrantError {
    /// Unknown, or already redeemed.
    #[error("the code is unknown or was already used; start the authorization again")]
    CodeUnknown,
    /// Redeemed too late.
    #[error("the code has expired; start the authorization again")]
    CodeExpired,
    /// Issued to another client.
    #[error("the code was issued to another client")]
    CodeClient,
    /// Sent elsewhere.
    #[error("the parameter `redirect_uri` is not the one of the authorization request; send the same text")]
    CodeRedirect,
    /// The proof of PKCE is wrong.
    #[error("the code verifier does not match the code challenge of the authorization request")]
    CodeVerifier,
    /// Another resource than was granted, or another server's.
    #[error("the resource is not the one that was granted; send the same `resource` as before")]
    Resource,
    /// More scopes than were granted.
    #[error("the scopes are more than was granted; authorize again to get more")]
    ScopeExceeded,
    /// Not a refresh token of this server, or of a deleted grant.
    #[error("the refresh token is not valid; authorize again")]
    RefreshUnknown,
    /// Issued to another client.
    #[error("the refresh token was issued to another client")]
    RefreshClient,
    /// Expired.
    #[error("the refresh token has expired; authorize again")]
    RefreshExpired,
    /// Revoked by the person or an operator.
    #[error("the access was revoked; authorize again")]
    RefreshRevoked,
    /// An old one was used again. All tokens of the grant are revoked.
    #[error(
        "the refresh token was used before, so all tokens of this authorization were revoked; authorize again"
    )]
    RefreshReplayed,
    /// The client must not use this grant type.
    #[error("the client is not allowed to use this grant type; ask the operator")]
    GrantNotAllowed,
    /// The grant type needs a client that authenticates.
    #[error("this grant type needs client authentication, with a secret or private_key_jwt")]
    PublicClient,
    /// The assertion is not valid.
    #[error(transparent)]
    Assertion(#[from] AssertionError),
    /// The identity provider is not trusted.
    #[error("the issuer of the identity assertion is not trusted here; ask the operator to add it")]
    UntrustedIssuer,
    /// The assertion was used before.
    #[error("the assertion was used before; get a new one for each request")]
    AssertionReplayed,
    /// The person of the assertion has no account here.
    #[error("the person of the identity assertion has no account here; ask the operator")]
    UnknownUser,
    /// Not a device code.
    #[error("the device code is not valid; start again")]
    DeviceUnknown,
    /// The person has not decided yet.
    #[error("the person has not entered the code yet; ask again after the interval")]
    DevicePending,
    /// Polling too often.
    #[error("the device polls too often; wait 5 seconds longer between requests")]
    DeviceSlowDown,
    /// The person was too slow.
    #[error("the device code has expired; start again")]
    DeviceExpired,
    /// The person said no.
    #[error("the person denied the request")]
    DeviceDenied,
}

impl GrantError {
    /// The code.
    pub const fn code(self) -> OAuthErrorCode {
        match self {
            Self::Resource => OAuthErrorCode::InvalidTarget,
            Self::ScopeExceeded => OAuthErrorCode::InvalidScope,
            Self::GrantNotAllowed | Self::PublicClient => OAuthErrorCode::UnauthorizedClient,
            Self::DevicePending => OAuthErrorCode::AuthorizationPending,
            Self::DeviceSlowDown => OAuthErrorCode::SlowDown,
            Self::DeviceExpired => OAuthErrorCode::ExpiredToken,
            Self::DeviceDenied => OAuthErrorCode::AccessDenied,
            _ => OAuthErrorCode::InvalidGrant,
        }
    }
}

impl From<AssertionError> for TokenError {
    fn from(error: AssertionError) -> Self {
        Self::Grant(GrantError::Assertion(error))
    }
}

impl From<TokenError> for ErrorResponse {
    fn from(error: TokenError) -> Self {
        Self::new(error.code(), &error)
    }
}
