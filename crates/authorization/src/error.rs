//! The error codes of OAuth on the wire, and the body of an error response.

use std::fmt;

use serde::{Serialize, Serializer};
use toolyard_protocol::text::truncate_chars;

/// Longest description in an error response, in characters.
pub const MAX_DESCRIPTION_CHARS: usize = 400;

/// The `error` of a response.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum OAuthErrorCode {
    /// Malformed, incomplete or contradictory request.
    InvalidRequest,
    /// The client is unknown or did not authenticate.
    InvalidClient,
    /// The code, refresh token or assertion is not valid for this client.
    InvalidGrant,
    /// The client must not use this grant.
    UnauthorizedClient,
    /// The server does not know this grant.
    UnsupportedGrantType,
    /// The server issues codes only.
    UnsupportedResponseType,
    /// A scope cannot be granted.
    InvalidScope,
    /// The resource is not one of this server (RFC 8707).
    InvalidTarget,
    /// The person or the server said no.
    AccessDenied,
    /// The server failed.
    ServerError,
    /// The server is overloaded or stopping.
    TemporarilyUnavailable,
    /// `prompt=none`, and no person is signed in (OpenID).
    LoginRequired,
    /// `prompt=none`, and the person has not consented (OpenID).
    ConsentRequired,
    /// `prompt=none`, and a page has to be shown (OpenID).
    InteractionRequired,
    /// Request objects are not supported (OpenID).
    RequestNotSupported,
    /// Request objects by reference are not supported (OpenID).
    RequestUriNotSupported,
    /// A redirect URI of a registration is refused (RFC 7591).
    InvalidRedirectUri,
    /// Another field of a registration is refused (RFC 7591).
    InvalidClientMetadata,
    /// The person has not entered the user code yet (RFC 8628).
    AuthorizationPending,
    /// The device polls too often (RFC 8628).
    SlowDown,
    /// The device code has expired (RFC 8628).
    ExpiredToken,
    /// The bearer token is not valid (RFC 6750).
    InvalidToken,
    /// The bearer token lacks scopes (RFC 6750).
    InsufficientScope,
}

impl OAuthErrorCode {
    /// The code on the wire.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::InvalidRequest => "invalid_request",
            Self::InvalidClient => "invalid_client",
            Self::InvalidGrant => "invalid_grant",
            Self::UnauthorizedClient => "unauthorized_client",
            Self::UnsupportedGrantType => "unsupported_grant_type",
            Self::UnsupportedResponseType => "unsupported_response_type",
            Self::InvalidScope => "invalid_scope",
            Self::InvalidTarget => "invalid_target",
            Self::AccessDenied => "access_denied",
            Self::ServerError => "server_error",
            Self::TemporarilyUnavailable => "temporarily_unavailable",
            Self::LoginRequired => "login_required",
            Self::ConsentRequired => "consent_required",
            Self::InteractionRequired => "interaction_required",
            Self::RequestNotSupported => "request_not_supported",
            Self::RequestUriNotSupported => "request_uri_not_supported",
            Self::InvalidRedirectUri => "invalid_redirect_uri",
            Self::InvalidClientMetadata => "invalid_client_metadata",
            Self::AuthorizationPending => "authorization_pending",
            Self::SlowDown => "slow_down",
            Self::ExpiredToken => "expired_token",
            Self::InvalidToken => "invalid_token",
            Self::InsufficientScope => "insufficient_scope",
        }
    }

    /// The HTTP status of a response with this code.
    pub const fn http_status(self) -> u16 {
        match self {
            Self::InvalidClient | Self::InvalidToken => 401,
            Self::InsufficientScope => 403,
            Self::ServerError => 500,
            Self::TemporarilyUnavailable => 503,
            _ => 400,
        }
    }
}

impl fmt::Display for OAuthErrorCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl Serialize for OAuthErrorCode {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

/// The JSON body of an error response, and its status. Every error of this crate that a client sees converts into it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ErrorResponse {
    /// The HTTP status.
    #[serde(skip)]
    pub status: u16,
    /// The code.
    pub error: OAuthErrorCode,
    /// What was wrong and what to do. ASCII without quotes, as RFC 6749 requires.
    pub error_description: String,
}

impl ErrorResponse {
    /// A response with this code and the message of an error.
    pub fn new(error: OAuthErrorCode, message: &dyn fmt::Display) -> Self {
        let error_description = clean_description(&message.to_string());
        Self { status: error.http_status(), error, error_description }
    }

    /// The challenge that a 401 of the token endpoint needs if the client sent a Basic header (RFC 6749, 5.2).
    pub fn basic_challenge(&self) -> Option<&'static str> {
        (self.error == OAuthErrorCode::InvalidClient).then_some("Basic realm=\"oauth\"")
    }
}

/// A message in the characters that RFC 6749 allows for a description.
pub(crate) fn clean_description(message: &str) -> String {
    let allowed = |c: char| match c {
        '"' => '\'',
        '\\' => '/',
        ' '..='~' => c,
        _ => '?',
    };
    let cut = truncate_chars(message, MAX_DESCRIPTION_CHARS);
    cut.trim_end_matches('…').chars().map(allowed).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_response_has_code_description_and_status() {
        let response = ErrorResponse::new(OAuthErrorCode::InvalidClient, &"the secret is wrong");
        let body = json!({ "error": "invalid_client", "error_description": "the secret is wrong" });
        assert_eq!(serde_json::to_value(&response).unwrap(), body);
        assert_eq!((response.status, response.basic_challenge()), (401, Some("Basic realm=\"oauth\"")));
        let response = ErrorResponse::new(OAuthErrorCode::InvalidGrant, &"no");
        assert_eq!((response.status, response.basic_challenge()), (400, None));
    }

    #[test]
    fn descriptions_have_only_the_characters_of_rfc_6749_and_are_bounded() {
        assert_eq!(clean_description("a \"b\" \\ ä\r\n`c`"), "a 'b' / ???`c`");
        assert_eq!(clean_description(&"a".repeat(1_000)).len(), MAX_DESCRIPTION_CHARS);
    }
}
