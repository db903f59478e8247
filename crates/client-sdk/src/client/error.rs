//! Errors when building a client.

use toolyard_net::UrlRefused;

/// Why a client cannot be built.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ClientBuildError {
    /// The server URL is invalid.
    #[error("`{server}` is not a valid server URL: {error}")]
    Server {
        /// The URL as given.
        server: String,
        /// What is wrong with it.
        error: UrlRefused,
    },
    /// A value cannot be sent in a header.
    #[error("the {what} has characters that are not allowed in a header; use visible ASCII characters only")]
    Header {
        /// `token` or `user`.
        what: &'static str,
    },
}
