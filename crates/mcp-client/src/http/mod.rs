//! Streamable HTTP, both eras: each request is a POST, answered by JSON or by an event stream.
//!
//! | look for | in |
//! | --- | --- |
//! | sending a request, credentials, challenges | `send` |
//! | its response: JSON, or a stream | `read` |
//! | resuming a stream, and the standing stream | `stream` |

mod read;
mod send;
mod stream;

pub(crate) use stream::StreamResumption;

use std::time::Duration;

use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue, Method, header as names};
use parking_lot::Mutex;
use serde_json::value::RawValue;
use tokio::time::timeout;
use toolyard_protocol::mcp::{McpRevision, header, method};

use crate::{
    error::McpClientError,
    limits::{BackOff, ClientLimits, STREAM_IDLE},
    options::ClientInfo,
    request::{AbandonPolicy, PreparedRequest},
    session::{ExchangeError, SessionDoubt},
    transport::HttpTarget,
    wire::McpConnection,
};

/// A server behind a URL.
pub(crate) struct HttpConnection {
    target: HttpTarget,
    agent: Option<HeaderValue>,
    message_bytes: usize,
    back_off: BackOff,
    session: Mutex<HttpSession>,
    /// The id of a session that is being opened. The old one stays in use until the handshake completes.
    opening: Mutex<Option<HeaderValue>>,
}

/// The session that a handshake opened.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct HttpSession {
    /// `None` if the server uses no session ids.
    pub(crate) id: Option<HeaderValue>,
    revision: Option<McpRevision>,
}

impl HttpConnection {
    pub(crate) fn new(target: HttpTarget, info: &ClientInfo, limits: &ClientLimits) -> Self {
        let agent = HeaderValue::try_from(format!("{}/{}", info.name, info.version)).ok();
        let back_off = BackOff::new(limits.back_off);
        Self {
            target,
            agent,
            message_bytes: limits.message_bytes,
            back_off,
            session: Mutex::default(),
            opening: Mutex::default(),
        }
    }

    pub(crate) fn session(&self) -> HttpSession {
        self.session.lock().clone()
    }

    /// Switches to the session of the handshake that just completed.
    pub(crate) fn commit_session(&self, revision: McpRevision) {
        let id = self.opening.lock().take();
        let session = HttpSession { id, revision: Some(revision) };
        *self.session.lock() = session;
    }

    /// Sends one request and returns its result.
    pub(crate) async fn exchange(
        &self,
        wire: &McpConnection,
        mut call: PreparedRequest,
    ) -> Result<Box<RawValue>, ExchangeError> {
        let headers = self.request_headers(&call)?;
        let in_session = headers.contains_key(header::SESSION);
        let mut leaving = HttpCancelGuard::new(wire, &call);
        let body = Bytes::from(std::mem::take(&mut call.text));
        let sending = self.send_authorized(Method::POST, headers, body);
        let sent =
            if call.method == method::LISTEN { with_idle_timeout(sending).await } else { sending.await };
        let answer = match sent {
            Ok(response) => {
                if call.method == method::INITIALIZE {
                    let id = response.headers.get(header::SESSION).cloned();
                    *self.opening.lock() = id;
                }
                self.read_reply(wire, &mut call, response, in_session).await
            }
            Err(error) => Err(classify_failure(error, in_session)),
        };
        // If the response was lost, the server may still be working on the request.
        let half_way = |failed: &ExchangeError| {
            matches!(failed.error, McpClientError::PerhapsSent(_) | McpClientError::Malformed(_))
        };
        if !answer.as_ref().is_err_and(half_way) {
            leaving.disarm();
        }
        answer
    }

    /// Sends a message that gets no response: a notification, or a response of ours.
    pub(crate) async fn post_message(&self, text: String) -> Result<(), McpClientError> {
        let headers = self.session_headers();
        let response = self.send_authorized(Method::POST, headers, Bytes::from(text)).await?;
        if response.status.is_success() { Ok(()) } else { Err(self.read_refusal(response).await) }
    }

    /// Ends the session, if there is one.
    pub(crate) async fn end_session(&self, wait: Duration) {
        let headers = self.session_headers();
        if self.session().id.is_none() {
            return;
        }
        match timeout(wait, self.send_authorized(Method::DELETE, headers, Bytes::new())).await {
            Ok(Ok(response)) => tracing::debug!(status = %response.status, "session ended"),
            Ok(Err(error)) => tracing::debug!(%error, "session could not be ended"),
            Err(_) => tracing::debug!("ending the session timed out"),
        }
    }

    fn request_headers(&self, call: &PreparedRequest) -> Result<HeaderMap, McpClientError> {
        let mut headers = match call.revision {
            None => HeaderMap::new(),
            Some(revision) if !revision.is_modern() => self.session_headers(),
            Some(revision) => {
                let mut headers = HeaderMap::new();
                headers.insert(header::PROTOCOL_VERSION, HeaderValue::from_static(revision.as_str()));
                insert_header(&mut headers, header::METHOD, &call.method)?;
                if let Some(name) = &call.name {
                    insert_header(&mut headers, header::NAME, &header::encode_header(name))?;
                }
                for (name, value) in &call.mirrored {
                    insert_header(&mut headers, name, value)?;
                }
                headers
            }
        };
        headers.insert(names::ACCEPT, HeaderValue::from_static("application/json, text/event-stream"));
        Ok(headers)
    }

    /// Headers of every request within a session.
    fn session_headers(&self) -> HeaderMap {
        let HttpSession { id, revision } = self.session();
        let mut headers = HeaderMap::new();
        // The header exists since 2025-06-18.
        if let Some(revision) = revision.filter(|revision| *revision > McpRevision::V2025_03_26) {
            headers.insert(header::PROTOCOL_VERSION, HeaderValue::from_static(revision.as_str()));
        }
        if let Some(id) = id {
            headers.insert(header::SESSION, id);
        }
        headers.insert(names::ACCEPT, HeaderValue::from_static("application/json, text/event-stream"));
        headers
    }
}

/// Classifies a request without a response, or with a challenge: some servers return 401 for an unknown session.
fn classify_failure(error: McpClientError, in_session: bool) -> ExchangeError {
    let doubt = match &error {
        McpClientError::AuthorizationNeeded { challenge: Some(challenge) } => {
            SessionDoubt::from_status(challenge.status, &error, in_session)
        }
        _ => SessionDoubt::None,
    };
    ExchangeError { error, doubt }
}

/// A stream that stays open for days has no deadline, but opening it must not take forever.
async fn with_idle_timeout<T>(
    opening: impl Future<Output = Result<T, McpClientError>>,
) -> Result<T, McpClientError> {
    let silent = || McpClientError::PerhapsSent(format!("no response for {STREAM_IDLE:?}"));
    timeout(STREAM_IDLE, opening).await.unwrap_or_else(|_| Err(silent()))
}

fn insert_header(headers: &mut HeaderMap, name: &str, value: &str) -> Result<(), McpClientError> {
    let invalid = || McpClientError::Invalid(format!("`{name}` cannot be a header with this value"));
    let name = HeaderName::try_from(name).map_err(|_| invalid())?;
    headers.insert(name, HeaderValue::try_from(value).map_err(|_| invalid())?);
    Ok(())
}

/// Sends a cancellation to a handshake server when dropped. A modern server sees the connection close.
struct HttpCancelGuard<'a> {
    wire: &'a McpConnection,
    id: u64,
    notifies_server: bool,
}

impl<'a> HttpCancelGuard<'a> {
    fn new(wire: &'a McpConnection, call: &PreparedRequest) -> Self {
        Self {
            wire,
            id: call.id,
            notifies_server: call.on_abandon == AbandonPolicy::Cancel && !call.is_modern(),
        }
    }

    fn disarm(&mut self) {
        self.notifies_server = false;
    }
}

impl Drop for HttpCancelGuard<'_> {
    fn drop(&mut self) {
        if self.notifies_server && !self.wire.hub().tasks.stop_token().is_cancelled() {
            self.wire.cancel_in_background(self.id);
        }
    }
}
