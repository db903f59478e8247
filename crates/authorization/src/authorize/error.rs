//! Why an authorization request fails: on a page, or at the client.

use crate::{
    client::{ClientMetadataError, InvalidClientId},
    error::OAuthErrorCode,
    parameters::ParameterError,
    pkce::PkceError,
    redirect::RedirectError,
    scope::ScopeError,
};

/// A failure that the person sees. Never redirected.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum AuthorizePageError {
    /// The request, its client id or its redirect URI cannot be read.
    #[error(transparent)]
    Parameter(#[from] ParameterError),
    /// Not a client id.
    #[error(transparent)]
    ClientId(#[from] InvalidClientId),
    /// No such client. Clients register again when they see this.
    #[error("the client is not known to this server; remove the connection in your app and add it again")]
    UnknownClient,
    /// The metadata document cannot be used.
    #[error(transparent)]
    Metadata(#[from] ClientMetadataError),
    /// The metadata document could not be fetched.
    #[error("the metadata document of the client could not be fetched; try again later")]
    DocumentUnavailable,
    /// The redirect URI is not allowed or not one of the client's.
    #[error(transparent)]
    Redirect(#[from] RedirectError),
}

impl AuthorizePageError {
    /// The code, for the log and for clients that read the page.
    pub const fn code(self) -> OAuthErrorCode {
        match self {
            Self::Parameter(_) | Self::Redirect(_) => OAuthErrorCode::InvalidRequest,
            Self::ClientId(_) | Self::UnknownClient | Self::Metadata(_) => OAuthErrorCode::InvalidClient,
            Self::DocumentUnavailable => OAuthErrorCode::TemporarilyUnavailable,
        }
    }

    /// The HTTP status of the page.
    pub const fn http_status(self) -> u16 {
        match self {
            Self::DocumentUnavailable => 503,
            _ => 400,
        }
    }
}

/// A failure that goes back to the client.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum AuthorizeError {
    /// A parameter is missing, duplicated or malformed.
    #[error(transparent)]
    Parameter(#[from] ParameterError),
    /// Not `code`.
    #[error("the response type is not supported; use `code`")]
    ResponseType,
    /// No challenge.
    #[error("PKCE is required; send `code_challenge` with the method S256")]
    PkceMissing,
    /// `plain`, or no method, which means `plain`.
    #[error("the code challenge method is not supported; send code_challenge_method=S256")]
    PkceMethod,
    /// Not a challenge.
    #[error(transparent)]
    PkceChallenge(#[from] PkceError),
    /// Another server's resource.
    #[error("the resource is not one of this server; use the `resource` of its protected resource metadata")]
    Resource,
    /// Scopes that cannot be read.
    #[error(transparent)]
    Scope(#[from] ScopeError),
    /// The client must not use codes.
    #[error("the client is not registered for the grant type authorization_code")]
    UnauthorizedClient,
    /// A request object.
    #[error("request objects are not supported; send the parameters in the query")]
    RequestObject,
    /// A request object by reference.
    #[error("request objects by reference are not supported; send the parameters in the query")]
    RequestUri,
    /// The person denied the request.
    #[error("the person denied the request")]
    AccessDenied,
    /// `prompt=none` without a signed-in person.
    #[error("no person is signed in; send the request without prompt=none")]
    LoginRequired,
    /// `prompt=none` without consent.
    #[error("the person has not allowed this client yet; send the request without prompt=none")]
    ConsentRequired,
    /// `prompt=none` with anything else that needs a page.
    #[error("the person must see a page; send the request without prompt=none")]
    InteractionRequired,
    /// This server failed.
    #[error("the server failed; try again later")]
    ServerError,
    /// This server is overloaded.
    #[error("the server is busy; try again in a minute")]
    TemporarilyUnavailable,
}

impl AuthorizeError {
    /// The code.
    pub const fn code(self) -> OAuthErrorCode {
        match self {
            Self::Parameter(_) | Self::PkceMissing | Self::PkceMethod | Self::PkceChallenge(_) => {
                OAuthErrorCode::InvalidRequest
            }
            Self::ResponseType => OAuthErrorCode::UnsupportedResponseType,
            Self::Resource => OAuthErrorCode::InvalidTarget,
            Self::Scope(_) => OAuthErrorCode::InvalidScope,
            Self::UnauthorizedClient => OAuthErrorCode::UnauthorizedClient,
            Self::RequestObject => OAuthErrorCode::RequestNotSupported,
            Self::RequestUri => OAuthErrorCode::RequestUriNotSupported,
            Self::AccessDenied => OAuthErrorCode::AccessDenied,
            Self::LoginRequired => OAuthErrorCode::LoginRequired,
            Self::ConsentRequired => OAuthErrorCode::ConsentRequired,
            Self::InteractionRequired => OAuthErrorCode::InteractionRequired,
            Self::ServerError => OAuthErrorCode::ServerError,
            Self::TemporarilyUnavailable => OAuthErrorCode::TemporarilyUnavailable,
        }
    }
}

/// The outcome of a request that is refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AuthorizeRefusal {
    /// Show this to the person.
    Page(AuthorizePageError),
    /// Redirect the person back to the client.
    Redirect {
        /// Why.
        error: AuthorizeError,
        /// The address, with `error`, `error_description`, `state` and `iss`.
        location: String,
    },
}

impl From<AuthorizePageError> for AuthorizeRefusal {
    fn from(error: AuthorizePageError) -> Self {
        Self::Page(error)
    }
}
