//! The client as callers see it.

use std::{fmt, sync::Arc};

use serde_json::value::RawValue;
use tokio::time::timeout;
use tokio_util::sync::DropGuard;
use toolyard_protocol::mcp::Revision;

use crate::{
    agree::agree,
    answer::Answer,
    error::ClientError,
    events::{CloseReason, ServerEvents},
    link::Link,
    options::{Era, Options},
    pipe::stdio::DRAIN_WAIT,
    request::RequestOptions,
    server::Server,
    transport::Transport,
    watch::{self, Watch},
    wire::Wire,
};

/// A connection to one server. Clones are cheap and share it; when the last one is dropped it ends, in the background.
#[derive(Clone)]
pub struct Client {
    pub(crate) link: Arc<Link>,
    _ends: Arc<DropGuard>,
}

impl Client {
    /// Reaches a server and agrees with it on how to speak.
    pub async fn connect(transport: Transport, options: Options) -> Result<Self, ClientError> {
        let limit = options.limits.connect;
        match timeout(limit, Self::open(transport, options)).await {
            Ok(opened) => opened,
            Err(_) => Err(ClientError::Timeout(limit)),
        }
    }

    async fn open(transport: Transport, options: Options) -> Result<Self, ClientError> {
        match Self::open_once(&transport, &options).await {
            // Some servers die of a request that they do not know. A second one is not asked.
            Err(Opening { error, lost: true }) if options.era == Era::Either => {
                tracing::debug!(%error, "the server did not survive the probe; starting over with the handshake");
                let options = Options { era: Era::Handshake, ..options };
                Self::open_once(&transport, &options).await.map_err(|opening| opening.error)
            }
            opened => opened.map_err(|opening| opening.error),
        }
    }

    async fn open_once(transport: &Transport, options: &Options) -> Result<Self, Opening> {
        let never = |error| Opening { error, lost: false };
        let wire = Wire::open(transport, options).await.map_err(never)?;
        let hub = wire.hub().clone();
        // From here on whoever gives up ends the process, too.
        let ends = hub.tasks.stop().clone().drop_guard();
        let server = agree(&wire, options.era, &options.limits).await.map_err(|error| {
            let lost = matches!(hub.reason(), CloseReason::Lost(_));
            Opening { error, lost }
        })?;
        let link = Link::new(wire, server, options.limits.clone(), options.watch.clone());
        if link.wire().http().is_some() && !link.server().revision.is_modern() {
            hub.tasks.spawn(leave(link.clone()));
        }
        watch::start(&link).await;
        Ok(Self { link, _ends: Arc::new(ends) })
    }

    /// What is spoken.
    pub fn revision(&self) -> Revision {
        self.link.server().revision
    }

    /// What the server said of itself.
    pub fn server(&self) -> Arc<Server> {
        self.link.server()
    }

    /// Makes a request and waits for its answer. Dropping the future cancels the request.
    pub async fn request(
        &self,
        method: &str,
        params: Option<&RawValue>,
        options: RequestOptions,
    ) -> Result<Answer, ClientError> {
        self.link.request(method, params, options).await
    }

    /// Tells the server something. What the protocol tells by itself is told without you.
    pub async fn notify(&self, method: &str, params: Option<&RawValue>) -> Result<(), ClientError> {
        let told = self.link.wire().notify(method, params);
        timeout(self.link.limits().request, told)
            .await
            .unwrap_or(Err(ClientError::Timeout(self.link.limits().request)))
    }

    /// What the server tells of its own accord, from now on.
    pub fn events(&self) -> ServerEvents {
        self.link.wire().hub().subscribe()
    }

    /// Watches something else from now on.
    pub fn watch(&self, watch: Watch) {
        self.link.watch(watch);
    }

    /// Whether the connection is over.
    pub fn is_closed(&self) -> bool {
        self.link.wire().hub().tasks.stop().is_cancelled()
    }

    /// Ends the connection for all clones: requests under way fail, the session is given back, the process ends. Returns
    /// when that is done, or after a bounded time; the rest then goes on in the background.
    pub async fn close(&self) {
        let hub = self.link.wire().hub();
        hub.end(CloseReason::Asked);
        // The waits for a process that will not go, for what it has said, and for the last words.
        let limits = self.link.limits();
        let wait = limits.exit * 3 + limits.courtesy * 2 + DRAIN_WAIT * 3;
        if !hub.tasks.finished(wait).await {
            tracing::warn!("a connection took longer than {wait:?} to close");
        }
    }
}

impl fmt::Debug for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let revision = self.revision();
        f.debug_struct("Client").field("revision", &revision).finish_non_exhaustive()
    }
}

struct Opening {
    error: ClientError,
    /// The connection itself was lost.
    lost: bool,
}

/// Gives the session back when the client ends.
async fn leave(link: Arc<Link>) {
    link.wire().hub().tasks.stop().cancelled().await;
    if let Some(http) = link.wire().http() {
        http.leave(link.wire().courtesy()).await;
    }
}
