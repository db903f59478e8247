//! Credentials for requests to one server. How a token is obtained is decided elsewhere: fixed headers are the simple
//! case, OAuth the other.

use std::fmt;

use async_trait::async_trait;
use http::{HeaderMap, StatusCode, header::WWW_AUTHENTICATE};

use crate::limits::MAX_CHALLENGES;

/// Provides the credentials for requests to one server.
#[async_trait]
pub trait Credentials: Send + Sync {
    /// Headers for the next request.
    async fn headers(&self) -> Result<HeaderMap, CredentialsError>;
    /// Called after a 401 or 403 response. Returns `true` to retry once with new headers.
    async fn handle_challenge(&self, challenge: &AuthChallenge) -> Result<bool, CredentialsError>;
}

/// The challenge of a server that refused a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuthChallenge {
    /// 401 or 403.
    pub status: StatusCode,
    /// Each `WWW-Authenticate` header, unchanged.
    pub www_authenticate: Vec<String>,
}

impl AuthChallenge {
    /// The challenge in a response, if its status is one. Headers beyond [`MAX_CHALLENGES`] are ignored.
    pub(crate) fn from_response(status: StatusCode, headers: &HeaderMap) -> Option<Self> {
        matches!(status, StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN).then(|| {
            let values = headers.get_all(WWW_AUTHENTICATE).iter().take(MAX_CHALLENGES);
            let www_authenticate = values.filter_map(|value| Some(value.to_str().ok()?.to_owned())).collect();
            Self { status, www_authenticate }
        })
    }
}

/// Why no headers are available.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CredentialsError {
    /// The user has not authorized this server yet.
    #[error("the user has to authorize this server first")]
    Needed,
    /// The credentials could not be obtained.
    #[error("no credentials for this server: {0}")]
    Failed(String),
}

/// The same headers on every request, or none.
#[derive(Clone, Default)]
pub struct StaticHeaders(HeaderMap);

impl StaticHeaders {
    /// Uses these headers.
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
    /// Shows header names only: values are secrets.
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
