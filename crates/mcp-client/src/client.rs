//! The client as callers see it.

use std::{fmt, sync::Arc};

use serde_json::value::RawValue;
use tokio::time::timeout;
use tokio_util::sync::DropGuard;
use toolyard_protocol::mcp::McpRevision;

use crate::{
    error::McpClientError,
    events::{CloseReason, ServerEvents},
    link::ServerLink,
    negotiate::negotiate_revision,
    options::{ClientOptions, ProtocolEra},
    pipe::stdio::DRAIN_WAIT,
    reply::UpstreamReply,
    request::RequestOptions,
    server::ServerDescription,
    transport::McpTransport,
    watch::{self, ChangeFilter},
    wire::McpConnection,
};

/// A connection to one server. Clones are cheap and share it; when the last one is dropped it ends, in the background.
#[derive(Clone)]
pub struct McpClient {
    pub(crate) link: Arc<ServerLink>,
    _ends: Arc<DropGuard>,
}

impl McpClient {
    /// Connects to a server and negotiates the protocol revision.
    pub async fn connect(transport: McpTransport, options: ClientOptions) -> Result<Self, McpClientError> {
        let limit = options.limits.connect;
        match timeout(limit, Self::open_with_fallback(transport, options)).await {
            Ok(opened) => opened,
            Err(_) => Err(McpClientError::Timeout(limit)),
        }
    }

    async fn open_with_fallback(
        transport: McpTransport,
        options: ClientOptions,
    ) -> Result<Self, McpClientError> {
        match Self::open_once(&transport, &options).await {
            // Some servers exit on a request that they do not know. The second attempt skips the probe.
            Err(OpenFailure { error, lost: true }) if options.era == ProtocolEra::Either => {
                tracing::debug!(%error, "server lost during the probe, retrying with the handshake");
                let options = ClientOptions { era: ProtocolEra::Handshake, ..options };
                Self::open_once(&transport, &options).await.map_err(|opening| opening.error)
            }
            opened => opened.map_err(|opening| opening.error),
        }
    }

    async fn open_once(transport: &McpTransport, options: &ClientOptions) -> Result<Self, OpenFailure> {
        let never = |error| OpenFailure { error, lost: false };
        let wire = McpConnection::open(transport, options).await.map_err(never)?;
        let hub = wire.hub().clone();
        // From here on, dropping the future also ends the process.
        let ends = hub.tasks.stop_token().clone().drop_guard();
        let server = negotiate_revision(&wire, options.era, &options.limits).await.map_err(|error| {
            let lost = matches!(hub.close_reason(), CloseReason::Lost(_));
            OpenFailure { error, lost }
        })?;
        let link = ServerLink::new(wire, server, options.limits.clone(), options.watch.clone());
        if link.wire().http().is_some() && !link.server().revision.is_modern() {
            hub.tasks.spawn(end_session_on_stop(link.clone()));
        }
        watch::start_watching(&link).await;
        Ok(Self { link, _ends: Arc::new(ends) })
    }

    /// The negotiated protocol revision.
    pub fn revision(&self) -> McpRevision {
        self.link.server().revision
    }

    /// How the server described itself.
    pub fn server(&self) -> Arc<ServerDescription> {
        self.link.server()
    }

    /// Sends a request and waits for its response. Dropping the future cancels the request.
    pub async fn request(
        &self,
        method: &str,
        params: Option<&RawValue>,
        options: RequestOptions,
    ) -> Result<UpstreamReply, McpClientError> {
        self.link.request(method, params, options).await
    }

    /// Sends a notification. Notifications that the protocol requires are sent without you.
    pub async fn notify(&self, method: &str, params: Option<&RawValue>) -> Result<(), McpClientError> {
        let sending = self.link.wire().notify(method, params);
        timeout(self.link.limits().request, sending)
            .await
            .unwrap_or(Err(McpClientError::Timeout(self.link.limits().request)))
    }

    /// Subscribes to unsolicited events of the server, starting now.
    pub fn subscribe_events(&self) -> ServerEvents {
        self.link.wire().hub().subscribe()
    }

    /// Replaces the filter for change notifications.
    pub fn set_change_filter(&self, watch: ChangeFilter) {
        self.link.set_change_filter(watch);
    }

    /// Whether the connection is closed.
    pub fn is_closed(&self) -> bool {
        self.link.wire().hub().tasks.stop_token().is_cancelled()
    }

    /// Closes the connection for all clones: pending requests fail, the session ends, the process exits. Returns when
    /// that is done, or after a bounded time; the rest then continues in the background.
    pub async fn close(&self) {
        let hub = self.link.wire().hub();
        hub.close(CloseReason::Requested);
        // Time for a process that does not exit, for its remaining output, and for the final messages.
        let limits = self.link.limits();
        let wait = limits.exit * 3 + limits.courtesy * 2 + DRAIN_WAIT * 3;
        if !hub.tasks.wait_until_finished(wait).await {
            tracing::warn!(duration_ms = wait.as_millis(), "connection close timed out");
        }
    }
}

impl fmt::Debug for McpClient {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let revision = self.revision();
        f.debug_struct("McpClient").field("revision", &revision).finish_non_exhaustive()
    }
}

struct OpenFailure {
    error: McpClientError,
    /// The connection itself was lost.
    lost: bool,
}

/// Ends the session when the client closes.
async fn end_session_on_stop(link: Arc<ServerLink>) {
    link.wire().hub().tasks.stop_token().cancelled().await;
    if let Some(http) = link.wire().http() {
        http.end_session(link.wire().courtesy()).await;
    }
}
