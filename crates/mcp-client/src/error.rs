//! Errors of a request, grouped by what the caller does next: retry, ask the user, or give up.

use std::time::Duration;

use http::StatusCode;
use toolyard_net::NetError;
use toolyard_protocol::mcp::RpcError;

use crate::{
    credentials::{AuthChallenge, CredentialsError},
    events::CloseReason,
};

/// Why a request failed.
#[derive(Debug, Clone, thiserror::Error)]
pub enum McpClientError {
    /// The server did not receive the request.
    #[error("the request was not sent: {0}")]
    NotSent(String),
    /// The server may have acted on the request.
    #[error("the request may have been sent, but no response arrived: {0}")]
    PerhapsSent(String),
    /// The server may have acted on the request.
    #[error("no answer within {0:?}")]
    Timeout(Duration),
    /// The server does not know the session of the request, and no new one could be opened. The server did not act on
    /// the request.
    #[error("the server no longer knows this session: {0}")]
    SessionLost(String),
    /// The server refused with a JSON-RPC error.
    #[error("the server refused: {0}")]
    Rpc(#[from] RpcError),
    /// The server refused with an HTTP status.
    #[error("the server answered {status}: {text}")]
    Status {
        /// The status.
        status: StatusCode,
        /// The start of the body.
        text: String,
    },
    /// The user must authorize first.
    #[error("the server requires an authorization that the user has not given yet")]
    AuthorizationNeeded {
        /// The server's challenge, if it sent one.
        challenge: Option<AuthChallenge>,
    },
    /// The credentials could not be obtained.
    #[error("no credentials for this server: {0}")]
    Credentials(String),
    /// The connection is closed.
    #[error("the connection is closed: {0}")]
    Closed(CloseReason),
    /// The response cannot be read.
    #[error("the server's response cannot be read: {0}")]
    Malformed(String),
    /// Client and server have no protocol revision in common.
    #[error("no common protocol revision: the server offers {}", join_revisions(.offered))]
    NoCommonRevision {
        /// The revisions that the server offers.
        offered: Vec<String>,
    },
    /// The request is invalid; this is an error of the caller.
    #[error("invalid request: {0}")]
    Invalid(String),
}

impl McpClientError {
    /// Whether the server certainly did nothing, so that the same request can be sent again.
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
    if offered.is_empty() { "none".to_owned() } else { offered.join(", ") }
}
