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
    /// Reaches a server and agrees with it on how to speak.
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
            // Some servers die of a request that they do not know. A second one is not asked.
            Err(OpenFailure { error, lost: true }) if options.era == ProtocolEra::Either => {
                tracing::debug!(%error, "the server did not survive the probe; starting over with the handshake");
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
        // From here on whoever gives up ends the process, too.
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

    /// What is spoken.
    pub fn revision(&self) -> McpRevision {
        self.link.server().revision
    }

    /// What the server said of itself.
    pub fn server(&self) -> Arc<ServerDescription> {
        self.link.server()
    }

    /// Makes a request and waits for its answer. Dropping the future cancels the request.
    pub async fn request(
        &self,
        method: &str,
        params: Option<&RawValue>,
        options: RequestOptions,
    ) -> Result<UpstreamReply, McpClientError> {
        self.link.request(method, params, options).await
    }

    /// Tells the server something. What the protocol tells by itself is told without you.
    pub async fn notify(&self, method: &str, params: Option<&RawValue>) -> Result<(), McpClientError> {
        let told = self.link.wire().notify(method, params);
        timeout(self.link.limits().request, told)
            .await
            .unwrap_or(Err(McpClientError::Timeout(self.link.limits().request)))
    }

    /// What the server tells of its own accord, from now on.
    pub fn subscribe_events(&self) -> ServerEvents {
        self.link.wire().hub().subscribe()
    }

    /// Watches something else from now on.
    pub fn set_change_filter(&self, watch: ChangeFilter) {
        self.link.set_change_filter(watch);
    }

    /// Whether the connection is over.
    pub fn is_closed(&self) -> bool {
        self.link.wire().hub().tasks.stop_token().is_cancelled()
    }

    /// Ends the connection for all clones: requests under way fail, the session is given back, the process ends. Returns
    /// when that is done, or after a bounded time; the rest then goes on in the background.
    pub async fn close(&self) {
        let hub = self.link.wire().hub();
        hub.close(CloseReason::Requested);
        // The waits for a process that will not go, for what it has said, and for the last words.
        let limits = self.link.limits();
        let wait = limits.exit * 3 + limits.courtesy * 2 + DRAIN_WAIT * 3;
        if !hub.tasks.wait_until_finished(wait).await {
            tracing::warn!("a connection took longer than {wait:?} to close");
        }
    }
}

impl fmt::Debug for McpClient {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let revision = self.revision();
        f.debug_struct("Client").field("revision", &revision).finish_non_exhaustive()
    }
}

struct OpenFailure {
    error: McpClientError,
    /// The connection itself was lost.
    lost: bool,
}

/// Gives the session back when the client ends.
async fn end_session_on_stop(link: Arc<ServerLink>) {
    link.wire().hub().tasks.stop_token().cancelled().await;
    if let Some(http) = link.wire().http() {
        http.end_session(link.wire().courtesy()).await;
    }
}
