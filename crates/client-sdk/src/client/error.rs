//! Why there is no client.

use toolyard_net::UrlRefused;

/// Why a client cannot be made.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ClientBuildError {
    /// The server's address is none.
    #[error("`{server}` is no address of a server: {error}")]
    Server {
        /// As it was given.
        server: String,
        /// Why not.
        error: UrlRefused,
    },
    /// A text that has to go into a header does not fit there.
    #[error("the {what} has characters that fit no header; use visible ASCII characters only")]
    Header {
        /// The token or the user.
        what: &'static str,
    },
}
