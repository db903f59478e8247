//! What a failed request says about its session, and how often a lost session is replaced.
//!
//! Servers refuse unknown sessions in many ways: 404 as the protocol requires, 400 with or without a JSON-RPC error,
//! 401, 410, even 500. Only the first is certain. The others are a suspicion, which a second request without effect
//! confirms or rejects (see [`crate::link`]).

use http::StatusCode;
use tokio::time::Instant;
use toolyard_protocol::mcp::RpcError;

use crate::{error::McpClientError, limits::BackOff};

/// A request that failed, and what that says about its session.
#[derive(Debug)]
pub(crate) struct ExchangeError {
    pub(crate) error: McpClientError,
    pub(crate) doubt: SessionDoubt,
}

impl From<McpClientError> for ExchangeError {
    /// A failure without an HTTP response: only its message can indicate a lost session.
    fn from(error: McpClientError) -> Self {
        let doubt = SessionDoubt::from_error(&error);
        Self { error, doubt }
    }
}

/// Whether the server still knows the session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SessionDoubt {
    /// No sign of a lost session.
    None,
    /// The response may mean that the session is lost.
    Suspected(RefusedBy),
    /// The server reported it as the protocol requires.
    Lost,
}

/// How a request was refused that may have used an unknown session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RefusedBy {
    /// By a 4xx status: nothing ran.
    Status,
    /// By a JSON-RPC error in a regular response: nothing ran if the session turns out to be lost.
    Message,
    /// By a 5xx status: something may have run.
    ServerError,
}

impl SessionDoubt {
    /// Reads the message of a failure if there is no HTTP status.
    fn from_error(error: &McpClientError) -> Self {
        match error {
            McpClientError::Rpc(refused) if names_session(&refused.message) => {
                Self::Suspected(RefusedBy::Message)
            }
            McpClientError::Rpc(refused) if refused.code == RpcError::UNSUPPORTED_VERSION => {
                Self::Suspected(RefusedBy::Status)
            }
            _ => Self::None,
        }
    }

    /// Reads a response with an error status. `in_session`: the request carried a session id.
    pub(crate) fn from_status(status: StatusCode, error: &McpClientError, in_session: bool) -> Self {
        let by = if status.is_server_error() { RefusedBy::ServerError } else { RefusedBy::Status };
        match status {
            // A challenge asks for authorization, which a new session would not provide.
            _ if asks_for_authorization(error) => Self::None,
            // Whatever the body says.
            StatusCode::NOT_FOUND | StatusCode::GONE if in_session => Self::Lost,
            _ if Self::from_error(error) != Self::None => Self::Suspected(by),
            // The regular response of the method: modern servers give JSON-RPC errors a status, others do not.
            _ if !in_session && is_about_the_request(error) => Self::None,
            StatusCode::INTERNAL_SERVER_ERROR if in_session => Self::Suspected(by),
            StatusCode::BAD_REQUEST | StatusCode::NOT_FOUND | StatusCode::GONE => Self::Suspected(by),
            StatusCode::UNAUTHORIZED
            | StatusCode::FORBIDDEN
            | StatusCode::CONFLICT
            | StatusCode::PRECONDITION_FAILED
            | StatusCode::UNPROCESSABLE_ENTITY
                if in_session =>
            {
                Self::Suspected(by)
            }
            _ => Self::None,
        }
    }
}

fn asks_for_authorization(error: &McpClientError) -> bool {
    let challenge = match error {
        McpClientError::AuthorizationNeeded { challenge } => challenge.as_ref(),
        _ => None,
    };
    challenge.is_some_and(|challenge| !challenge.www_authenticate.is_empty())
}

fn is_about_the_request(error: &McpClientError) -> bool {
    matches!(error, McpClientError::Rpc(refused) if matches!(
        refused.code,
        RpcError::METHOD_NOT_FOUND | RpcError::INVALID_PARAMS | RpcError::HEADER_MISMATCH | RpcError::MISSING_CAPABILITY
    ))
}

/// `Bad Request: No valid session ID provided`, `Server not initialized`, `Session not found`, and similar.
fn names_session(text: &str) -> bool {
    let text = text.to_ascii_lowercase();
    text.contains("session") || text.contains("initializ") || text.contains("initialis")
}

/// Limits how often a lost session is replaced. The first time at once, and once more if that fails; then with growing
/// delays, so that a server that forgets every session is not asked for a new one with every request.
#[derive(Debug)]
pub(crate) struct ReopenSchedule {
    back_off: BackOff,
    failures: u32,
    not_before: Option<Instant>,
}

/// Failures in a row that are retried without a delay.
const FREE_FAILURES: u32 = 1;

impl ReopenSchedule {
    pub(crate) fn new(back_off: BackOff) -> Self {
        Self { back_off, failures: 0, not_before: None }
    }

    /// How long to wait before a session may be opened; `None` if it may be opened now.
    pub(crate) fn wait_time(&self) -> Option<std::time::Duration> {
        let until = self.not_before?;
        let now = Instant::now();
        (until > now).then(|| until - now)
    }

    /// Records an attempt to open a session. The first request that succeeds in it clears the record.
    pub(crate) fn record_attempt(&mut self) {
        self.failures = self.failures.saturating_add(1);
        if self.failures > FREE_FAILURES {
            self.not_before = Some(Instant::now() + self.back_off.next());
        }
    }

    /// Records that a request succeeded in the session.
    pub(crate) fn record_success(&mut self) {
        if self.failures > 0 {
            (self.failures, self.not_before) = (0, None);
            self.back_off.reset();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn rpc(code: i64, message: &str) -> McpClientError {
        McpClientError::Rpc(RpcError::new(code, message))
    }

    fn plain(status: StatusCode) -> McpClientError {
        McpClientError::Status { status, text: String::new() }
    }

    #[test]
    fn every_way_to_refuse_an_unknown_session_raises_a_doubt() {
        let by_status = SessionDoubt::Suspected(RefusedBy::Status);
        for (status, error, doubt) in [
            (404, plain(StatusCode::NOT_FOUND), SessionDoubt::Lost),
            (410, plain(StatusCode::GONE), SessionDoubt::Lost),
            (400, plain(StatusCode::BAD_REQUEST), by_status),
            (400, rpc(-32000, "Bad Request: No valid session ID provided"), by_status),
            (400, rpc(-32600, "Bad Request"), by_status),
            (400, rpc(-32602, "Server not initialized"), by_status),
            (401, McpClientError::AuthorizationNeeded { challenge: None }, by_status),
            (500, plain(StatusCode::INTERNAL_SERVER_ERROR), SessionDoubt::Suspected(RefusedBy::ServerError)),
            (400, rpc(-32602, "params._meta: missing"), by_status),
            (405, plain(StatusCode::METHOD_NOT_ALLOWED), SessionDoubt::None),
            (413, plain(StatusCode::PAYLOAD_TOO_LARGE), SessionDoubt::None),
            (429, plain(StatusCode::TOO_MANY_REQUESTS), SessionDoubt::None),
            (503, plain(StatusCode::SERVICE_UNAVAILABLE), SessionDoubt::None),
        ] {
            let status = StatusCode::from_u16(status).unwrap();
            assert_eq!(SessionDoubt::from_status(status, &error, true), doubt, "{status} {error}");
        }
        let modern = |error| SessionDoubt::from_status(StatusCode::BAD_REQUEST, &error, false);
        assert_eq!(modern(rpc(-32602, "params.name: missing")), SessionDoubt::None);
        assert_eq!(modern(rpc(-32000, "Bad Request: Mcp-Session-Id header is required")), by_status);
        let doubt = |error: McpClientError| ExchangeError::from(error).doubt;
        assert_eq!(doubt(rpc(-32001, "Session not found")), SessionDoubt::Suspected(RefusedBy::Message));
        assert_eq!(doubt(rpc(-32603, "no milk")), SessionDoubt::None);
        assert_eq!(doubt(McpClientError::PerhapsSent("session".to_owned())), SessionDoubt::None);
    }

    #[tokio::test(start_paused = true)]
    async fn sessions_that_prove_nothing_are_opened_ever_more_rarely() {
        let mut reopening =
            ReopenSchedule::new(BackOff::new((Duration::from_secs(1), Duration::from_secs(4))));
        let mut waits = Vec::new();
        for _ in 0..5 {
            reopening.record_attempt();
            let wait = reopening.wait_time().unwrap_or_default();
            waits.push(wait.as_secs());
            tokio::time::advance(wait).await;
            assert_eq!(reopening.wait_time(), None);
        }
        assert_eq!(waits, [0, 1, 2, 4, 4]);
        reopening.record_success();
        reopening.record_attempt();
        assert_eq!(reopening.wait_time(), None);
    }
}
