//! Who vouches for requests to one server. How a token is got is not decided here: fixed headers are the simple case,
//! OAuth the other.

use std::fmt;

use async_trait::async_trait;
use http::{HeaderMap, StatusCode};

/// Who vouches for requests to one server.
#[async_trait]
pub trait Credentials: Send + Sync {
    /// Headers for the next request.
    async fn headers(&self) -> Result<HeaderMap, CredentialsError>;
    /// The server answered 401 or 403. True: try once more with new headers.
    async fn handle_challenge(&self, challenge: &AuthChallenge) -> Result<bool, CredentialsError>;
}

/// What a server said when it turned a request away.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuthChallenge {
    /// 401 or 403.
    pub status: StatusCode,
    /// Each `WWW-Authenticate` header, as it came.
    pub www_authenticate: Vec<String>,
}

/// Why there are no headers.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CredentialsError {
    /// Somebody has to say yes first.
    #[error("the user has to authorize this server first")]
    Needed,
    /// It went wrong.
    #[error("no credentials for this server: {0}")]
    Failed(String),
}

/// The same headers on every request; no headers is a kind of that.
#[derive(Clone, Default)]
pub struct StaticHeaders(HeaderMap);

impl StaticHeaders {
    /// These headers.
    pub fn new(headers: HeaderMap) -> Self {
        Self(headers)
    }
}

#[async_trait]
impl Credentials for StaticHeaders {
    async fn headers(&self) -> Result<HeaderMap, CredentialsError> {
        Ok(self.0.clone())
    }

    async fn handle_challenge(&self, _: &AuthChallenge) -> Result<bool, CredentialsError> {
        Ok(false)
    }
}

impl fmt::Debug for StaticHeaders {
    /// The names only: values are secrets.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("StaticHeaders").field(&self.0.keys().collect::<Vec<_>>()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn printing_does_not_tell_secrets() {
        let mut headers = HeaderMap::new();
        headers.insert("authorization", "Bearer sesame".parse().unwrap());
        let shown = format!("{:?}", StaticHeaders::new(headers));
        assert!(shown.contains("authorization") && !shown.contains("sesame"), "{shown}");
    }
}
