//! Sends one request over a kept-alive connection and returns its response, whatever its status.
//!
//! It never follows a redirect, and repeats a request only if hyper returned it unwritten. There is no total
//! timeout: drop the future, and the peer sees the connection close.

use std::fmt;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::Request;
use http_body_util::Full;
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::capture_connection;
use hyper_util::rt::{TokioExecutor, TokioTimer};

use crate::connect::GuardedConnector;
use crate::error::NetError;
use crate::guard::Guard;
use crate::response::HttpResponse;

/// Longest status line and headers of a response, in bytes, and the most that is read ahead of a slow reader. hyper
/// checks it before it enlarges its buffer, so up to twice as much may pass.
const MAX_HEAD_BYTES: usize = 64 * 1024;

/// How connections are opened and reused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ClientSettings {
    /// Timeout for DNS, TCP and TLS together.
    pub connect_timeout: Duration,
    /// Idle connections kept per scheme, host and port.
    pub idle_per_host: usize,
    /// Timeout after which an idle connection is closed.
    pub idle_timeout: Duration,
}

impl Default for ClientSettings {
    /// Node closes idle connections after 5 s. Closing them earlier avoids requests that race with the close and
    /// would have to be reported as possibly sent.
    fn default() -> Self {
        Self {
            connect_timeout: Duration::from_secs(5),
            idle_per_host: 64,
            idle_timeout: Duration::from_secs(4),
        }
    }
}

/// The client for outbound requests. Clones share the connections.
#[derive(Clone)]
pub struct HttpClient {
    client: Arc<Client<GuardedConnector, Full<Bytes>>>,
}

impl HttpClient {
    /// A client that connects only to what the guard allows.
    pub fn new(guard: Guard, settings: ClientSettings) -> Self {
        Self::with_connector(GuardedConnector::new(guard, settings.connect_timeout), settings)
    }

    pub(crate) fn with_connector(connector: GuardedConnector, settings: ClientSettings) -> Self {
        let client = Client::builder(TokioExecutor::new())
            .pool_timer(TokioTimer::new())
            .pool_max_idle_per_host(settings.idle_per_host)
            .pool_idle_timeout(settings.idle_timeout)
            .http1_max_buf_size(MAX_HEAD_BYTES)
            // Only requests that hyper returns unwritten, from a connection that had been idle.
            .retry_canceled_requests(true)
            .build(connector);
        Self { client: Arc::new(client) }
    }

    /// Sends a request with an absolute URI; returns once the head of the response has arrived.
    pub async fn send(&self, request: Request<Full<Bytes>>) -> Result<HttpResponse, NetError> {
        match self.client.request(request).await {
            Ok(response) => Ok(HttpResponse::new(response)),
            Err(error) => Err(NetError::from_send(&error)),
        }
    }

    /// Sends a request, and calls `on_connection` when it is handed to a connection. Until then the peer has not seen it:
    /// if the future is dropped before, nothing was sent.
    pub async fn send_noting(
        &self,
        mut request: Request<Full<Bytes>>,
        on_connection: impl FnOnce(),
    ) -> Result<HttpResponse, NetError> {
        let connection = capture_connection(&mut request);
        let mut sending = pin!(self.send(request));
        let mut on_connection = Some(on_connection);
        std::future::poll_fn(|cx| {
            let polled = sending.as_mut().poll(cx);
            // Checked in the same poll that hands the request over, so that it cannot be dropped in between.
            if on_connection.is_some()
                && connection.connection_metadata().is_some()
                && let Some(note) = on_connection.take()
            {
                note();
            }
            polled
        })
        .await
    }
}

impl fmt::Debug for HttpClient {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HttpClient").finish_non_exhaustive()
    }
}
