//! The end of a session. The first reason counts.

use std::{fmt, sync::OnceLock};

use tokio_util::sync::CancellationToken;
use toolyard_protocol::session::webhook::StopReason;

/// Why a session ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EndReason {
    /// The platform stopped the app for this user.
    Stopped(StopReason),
    /// The platform closed the connection.
    Closed {
        /// The close code.
        code: u16,
        /// The close reason.
        reason: String,
    },
    /// The connection was lost, and reconnecting failed.
    ConnectionLost,
    /// The platform refused to let the app reconnect.
    Refused(String),
    /// The platform started a new session for the same user.
    Replaced,
    /// The app is shutting down.
    AppStopped,
}

impl fmt::Display for EndReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Stopped(StopReason::UserDisabled) => f.write_str("stopped by the user"),
            Self::Stopped(StopReason::SystemStop) => f.write_str("stopped by the platform"),
            Self::Stopped(StopReason::Error) => f.write_str("stopped after an error"),
            Self::Stopped(StopReason::Other(reason)) => write!(f, "stopped: {reason}"),
            Self::Closed { code, reason } => write!(f, "closed with {code} {reason}"),
            Self::ConnectionLost => f.write_str("connection lost"),
            Self::Refused(message) => write!(f, "refused: {message}"),
            Self::Replaced => f.write_str("replaced by a new session"),
            Self::AppStopped => f.write_str("the app is shutting down"),
        }
    }
}

/// A request to end the session.
#[derive(Debug, Default)]
pub(super) struct EndRequest {
    reason: OnceLock<EndReason>,
    requested: CancellationToken,
}

impl EndRequest {
    pub(super) fn request(&self, reason: EndReason) {
        if self.reason.set(reason).is_ok() {
            self.requested.cancel();
        }
    }

    /// Waits for the request.
    pub(super) async fn requested(&self) -> EndReason {
        self.requested.cancelled().await;
        // The reason is set before the token is cancelled.
        self.reason.get().cloned().unwrap_or(EndReason::ConnectionLost)
    }
}
