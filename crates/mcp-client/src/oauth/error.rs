//! Why an authorization did not come about, and what can be done about it.

use std::time::Duration;

use toolyard_net::{NetError, UrlRefused};

use super::store::OAuthStoreError;

/// Longest text of someone else's that we repeat, in characters.
const MAX_FOREIGN_CHARS: usize = 300;

/// Why there is no authorization.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum OAuthError {
    /// The guard said no.
    #[error("a URL of the authorization may not be called: {0}")]
    Refused(UrlRefused),
    /// No answer, or a broken or too large one.
    #[error("a request of the authorization failed: {0}; try again later")]
    Net(NetError),
    /// No answer in time.
    #[error("the authorization took longer than {0:?}; try again later")]
    TimedOut(Duration),
    /// Nothing is known about how to authorize.
    #[error("the server publishes no OAuth metadata; ask its operator how to authorize")]
    NoMetadata,
    /// What is published cannot be used.
    #[error("the OAuth metadata of the server cannot be used: {0}")]
    BadMetadata(String),
    /// The authorization server does not say that it checks PKCE.
    #[error("the authorization server does not offer PKCE with S256, which MCP asks for")]
    NoPkce,
    /// An endpoint that would give secrets away.
    #[error("the {0} endpoint is not an https URL")]
    Insecure(&'static str),
    /// The authorization server is not the one that knows our client.
    #[error(
        "the client id is registered at another authorization server than the one that the upstream names"
    )]
    OtherServer,
    /// There is no client id.
    #[error("the authorization server gave no client id ({0}); register one by hand and set its id")]
    NotRegistered(String),
    /// The browser came back with a state that is not ours, or that was used before.
    #[error("this authorization is not known, or was finished before; begin again")]
    UnknownState,
    /// The browser came back too late.
    #[error("this authorization took too long; begin again")]
    Expired,
    /// Another authorization server answered than the one that was asked.
    #[error("the answer is from another authorization server than the one that was asked; begin again")]
    WrongIssuer,
    /// The user or the authorization server said no.
    #[error("the authorization server said no: {0}")]
    Denied(String),
    /// The code bought nothing.
    #[error("the authorization server gave no token: {0}")]
    NoToken(String),
    /// Something could not be kept.
    #[error(transparent)]
    Store(#[from] OAuthStoreError),
    /// The process is ending.
    #[error("the authorization was cut off; try again")]
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

/// Someone else's text, short and on one line.
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
