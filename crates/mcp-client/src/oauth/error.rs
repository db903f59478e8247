//! Why an authorization failed, and what can be done about it.

use std::time::Duration;

use toolyard_net::{NetError, UrlRefused};

use super::store::OAuthStoreError;

/// Longest foreign text in our messages, in characters.
const MAX_FOREIGN_CHARS: usize = 300;

/// Why an authorization failed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum OAuthError {
    /// The guard refused the URL.
    #[error("a URL of the authorization is not allowed: {0}")]
    Refused(UrlRefused),
    /// No response, or a broken or too large one.
    #[error("a request of the authorization failed: {0}; try again later")]
    Net(NetError),
    /// No response in time.
    #[error("the authorization took longer than {0:?}; try again later")]
    TimedOut(Duration),
    /// The server does not say how to authorize.
    #[error("the server publishes no OAuth metadata; ask its operator how to authorize")]
    NoMetadata,
    /// The published metadata is unusable.
    #[error("the OAuth metadata of the server cannot be used: {0}")]
    BadMetadata(String),
    /// The authorization server does not announce PKCE.
    #[error("the authorization server does not offer PKCE with S256, which MCP requires")]
    NoPkce,
    /// An endpoint that would expose secrets.
    #[error("the {0} endpoint is not an https URL")]
    Insecure(&'static str),
    /// The client is registered at another authorization server.
    #[error(
        "the client id is registered at a different authorization server than the one that the upstream names"
    )]
    OtherServer,
    /// No client id is available.
    #[error("the authorization server issued no client id ({0}); register a client manually and set its id")]
    NotRegistered(String),
    /// The browser returned with an unknown or used state.
    #[error("this authorization is unknown or was already completed; start again")]
    UnknownState,
    /// The browser returned too late.
    #[error("this authorization took too long; start again")]
    Expired,
    /// Another authorization server responded than the one that was asked.
    #[error("the response is from a different authorization server than the one that was asked; start again")]
    WrongIssuer,
    /// The user or the authorization server denied the request.
    #[error("the authorization server denied the request: {0}")]
    Denied(String),
    /// The code could not be redeemed.
    #[error("the authorization server issued no token: {0}")]
    NoToken(String),
    /// The store failed.
    #[error(transparent)]
    Store(#[from] OAuthStoreError),
    /// The process is stopping.
    #[error("the authorization was interrupted; try again")]
    CutOff,
}

impl From<NetError> for OAuthError {
    fn from(error: NetError) -> Self {
        match error {
            NetError::Refused(refused) => Self::Refused(refused),
            other => Self::Net(other),
        }
    }
}

/// A foreign text, truncated and on one line.
pub(super) fn sanitize_foreign_text(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { ' ' } else { c }).take(MAX_FOREIGN_CHARS).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn foreign_text_is_cut_and_cannot_forge_log_lines() {
        assert_eq!(sanitize_foreign_text("a\r\nb"), "a  b");
        assert_eq!(sanitize_foreign_text(&"ä".repeat(1_000)), "ä".repeat(MAX_FOREIGN_CHARS));
    }
}
