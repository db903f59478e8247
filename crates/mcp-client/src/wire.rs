//! One connection to a server over any transport, with concurrent requests.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use serde_json::value::RawValue;
use toolyard_protocol::mcp::{McpRevision, message};
use toolyard_protocol::raw::to_raw;

use crate::{
    error::McpClientError,
    http::HttpConnection,
    hub::ConnectionHub,
    options::ClientOptions,
    pipe::{PipeConnection, stdio, websocket},
    request::{ClientIdentity, PreparedRequest, RequestOptions},
    server_request::DeclaredCapabilities,
    session::ExchangeError,
    tasks::ClientTasks,
    transport::McpTransport,
};

/// A connection. Cheap to clone.
#[derive(Clone)]
pub(crate) struct McpConnection(Arc<ConnectionParts>);

struct ConnectionParts {
    way: ConnectionKind,
    hub: Arc<ConnectionHub>,
    hello: ClientIdentity,
    ids: AtomicU64,
    courtesy: Duration,
}

enum ConnectionKind {
    Http(Box<HttpConnection>),
    Pipe(PipeConnection),
}

impl McpConnection {
    /// Starts the process or opens the socket; over HTTP there is nothing to open.
    pub(crate) async fn open(
        transport: &McpTransport,
        options: &ClientOptions,
    ) -> Result<Self, McpClientError> {
        let declared = DeclaredCapabilities::parse(&options.capabilities)
            .ok_or_else(|| McpClientError::Invalid("`capabilities` must be an object".to_owned()))?;
        let tasks = ClientTasks::new(options.tasks.clone(), options.stop.child_token());
        let hub = ConnectionHub::new(tasks, options.asks.clone(), declared, options.logs.clone());
        let hello =
            ClientIdentity { info: to_raw(&options.info), capabilities: options.capabilities.clone() };
        let bytes = options.limits.message_bytes;
        let courtesy = options.limits.courtesy;
        let made = |way| {
            let ids = AtomicU64::new(1);
            Self(Arc::new(ConnectionParts { way, hub: hub.clone(), hello, ids, courtesy }))
        };
        match transport {
            McpTransport::Http(target) => {
                let http = HttpConnection::new(target.clone(), &options.info, &options.limits);
                Ok(made(ConnectionKind::Http(Box::new(http))))
            }
            McpTransport::Stdio(command) => {
                let child = stdio::start_process(command)?;
                let (pipe, queue) = PipeConnection::new();
                let wire = made(ConnectionKind::Pipe(pipe));
                stdio::run_process(wire.clone(), child, queue, &options.limits);
                Ok(wire)
            }
            McpTransport::WebSocket(target) => {
                let socket = websocket::dial_websocket(target, bytes).await?;
                let (pipe, queue) = PipeConnection::new();
                let wire = made(ConnectionKind::Pipe(pipe));
                websocket::run_websocket(wire.clone(), socket, queue, options.limits.ping);
                Ok(wire)
            }
        }
    }

    pub(crate) fn hub(&self) -> &Arc<ConnectionHub> {
        &self.0.hub
    }

    /// Time limit for optional messages.
    pub(crate) fn courtesy(&self) -> Duration {
        self.0.courtesy
    }

    pub(crate) fn identity(&self) -> &ClientIdentity {
        &self.0.hello
    }

    pub(crate) fn http(&self) -> Option<&HttpConnection> {
        match &self.0.way {
            ConnectionKind::Http(http) => Some(http),
            ConnectionKind::Pipe(_) => None,
        }
    }

    pub(crate) fn pipe(&self) -> Option<&PipeConnection> {
        match &self.0.way {
            ConnectionKind::Http(_) => None,
            ConnectionKind::Pipe(pipe) => Some(pipe),
        }
    }

    /// Builds a request with a new id.
    pub(crate) fn prepare_request(
        &self,
        revision: Option<McpRevision>,
        method: &str,
        params: Option<&RawValue>,
        options: RequestOptions,
    ) -> Result<PreparedRequest, McpClientError> {
        let id = self.0.ids.fetch_add(1, Ordering::Relaxed);
        PreparedRequest::new(id, revision, method, params, options, &self.0.hello)
    }

    /// Sends a request and waits for its result. Dropping the future cancels the request.
    pub(crate) async fn exchange(&self, call: PreparedRequest) -> Result<Box<RawValue>, ExchangeError> {
        match &self.0.way {
            ConnectionKind::Http(http) => http.exchange(self, call).await,
            ConnectionKind::Pipe(pipe) => pipe.exchange(self, call).await.map_err(ExchangeError::from),
        }
    }

    /// Sends a notification.
    pub(crate) async fn notify(&self, method: &str, params: Option<&RawValue>) -> Result<(), McpClientError> {
        let text = message::write_notification(method, params);
        match &self.0.way {
            ConnectionKind::Http(http) => http.post_message(text).await,
            ConnectionKind::Pipe(pipe) => pipe.send_message(text).await,
        }
    }

    /// Sends the response to a server request.
    pub(crate) async fn send_response(&self, text: String) {
        let sent = match &self.0.way {
            ConnectionKind::Http(http) => http.post_message(text).await,
            ConnectionKind::Pipe(pipe) => pipe.send_message(text).await,
        };
        if let Err(error) = sent {
            tracing::debug!(%error, "response not delivered to the server");
        }
    }

    /// Notifies the server, in the background, that a request is cancelled.
    pub(crate) fn cancel_in_background(&self, id: u64) {
        let wire = self.clone();
        self.hub().tasks.spawn(async move {
            let params =
                to_raw(&serde_json::json!({ "requestId": id, "reason": "the caller no longer waits" }));
            let sending = wire.notify(toolyard_protocol::mcp::method::CANCELLED, Some(&params));
            if let Ok(Err(error)) = tokio::time::timeout(wire.courtesy(), sending).await {
                tracing::debug!(id, %error, "cancellation not delivered to the server");
            }
        });
    }
}
