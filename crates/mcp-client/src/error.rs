//! What went wrong with a request, sorted by what a caller does next: try again, ask the user, or give up.

use std::time::Duration;

use http::StatusCode;
use toolyard_net::NetError;
use toolyard_protocol::mcp::RpcError;

use crate::{
    credentials::{AuthChallenge, CredentialsError},
    events::CloseReason,
};

/// Why there is no answer.
#[derive(Debug, Clone, thiserror::Error)]
pub enum McpClientError {
    /// The server surely did not see the request.
    #[error("the request was not sent: {0}")]
    NotSent(String),
    /// The server may have acted on the request.
    #[error("the request may have been sent, but its answer did not come: {0}")]
    PerhapsSent(String),
    /// The server may have acted on the request.
    #[error("no answer within {0:?}")]
    Timeout(Duration),
    /// The server does not know the session that the request was made in, and no new one could be opened. The server
    /// did not act on the request.
    #[error("the server does not know this session any more: {0}")]
    SessionLost(String),
    /// The server refused in the words of the protocol.
    #[error("the server refused: {0}")]
    Rpc(#[from] RpcError),
    /// The server refused in the words of HTTP.
    #[error("the server answered {status}: {text}")]
    Status {
        /// Which.
        status: StatusCode,
        /// The start of the body.
        text: String,
    },
    /// Somebody has to authorize first.
    #[error("the server wants an authorization that is not there yet")]
    AuthorizationNeeded {
        /// What the server said, where it was asked.
        challenge: Option<AuthChallenge>,
    },
    /// The credentials could not be made.
    #[error("no credentials for this server: {0}")]
    Credentials(String),
    /// The connection is closed.
    #[error("the connection is closed: {0}")]
    Closed(CloseReason),
    /// The answer cannot be read.
    #[error("the server's answer cannot be read: {0}")]
    Malformed(String),
    /// No revision is spoken on both sides.
    #[error("the server speaks {}, and this client none of these", join_revisions(.offered))]
    NoCommonRevision {
        /// What the server speaks.
        offered: Vec<String>,
    },
    /// The request cannot be made; the caller is at fault.
    #[error("this request cannot be made: {0}")]
    Invalid(String),
}

impl McpClientError {
    /// Whether the server surely did nothing, so that the same request may be made again.
    pub fn is_safe_to_retry(&self) -> bool {
        match self {
            Self::NotSent(_)
            | Self::SessionLost(_)
            | Self::AuthorizationNeeded { .. }
            | Self::Credentials(_)
            | Self::NoCommonRevision { .. }
            | Self::Invalid(_) => true,
            Self::Rpc(error) => matches!(
                error.code,
                RpcError::HEADER_MISMATCH | RpcError::MISSING_CAPABILITY | RpcError::UNSUPPORTED_VERSION
            ),
            Self::PerhapsSent(_)
            | Self::Timeout(_)
            | Self::Status { .. }
            | Self::Closed(_)
            | Self::Malformed(_) => false,
        }
    }
}

impl From<NetError> for McpClientError {
    fn from(error: NetError) -> Self {
        match error {
            NetError::Refused(_) | NetError::NotSent(_) => Self::NotSent(error.to_string()),
            NetError::Broken { .. } => Self::PerhapsSent(error.to_string()),
            NetError::TooLarge { .. } => Self::Malformed(error.to_string()),
        }
    }
}

impl From<CredentialsError> for McpClientError {
    fn from(error: CredentialsError) -> Self {
        match error {
            CredentialsError::Needed => Self::AuthorizationNeeded { challenge: None },
            CredentialsError::Failed(why) => Self::Credentials(why),
        }
    }
}

fn join_revisions(offered: &[String]) -> String {
    if offered.is_empty() { "no revision at all".to_owned() } else { offered.join(", ") }
}
