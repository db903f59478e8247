//! What clients may hold open: connections, sockets and streams.
//!
//! | bound | setting |
//! | --- | --- |
//! | connections at once, sockets included | `server.max_connections`, and half of the open files |
//! | without a request yet | half of those; the oldest goes first |
//! | of one address | `server.max_connections_per_address` |
//! | the head of a request, and idling between requests | `server.head_timeout_ms` |
//! | its body | `server.body_timeout_ms` |
//! | a reader that takes nothing | `server.write_timeout_ms` |
//! | sockets that have not said who they are | `server.unauthenticated_sockets`, `server.introduction_ms` |
//! | streams and sockets of one user | `server.streams_per_user`, `mcp.streams_per_user` |
//! | a socket that is silent | `server.heartbeat_s` |

mod addresses;
mod client_stream;
mod introductions;
mod streams;

use std::{
    io,
    net::SocketAddr,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use metrics_exporter_prometheus::PrometheusRecorder;
use tokio::{
    net::{TcpListener, TcpStream},
    sync::{OwnedSemaphorePermit, Semaphore},
};

use self::addresses::{AddressCounts, AddressSlot};
pub(crate) use self::{
    client_stream::ClientStream,
    introductions::{IntroductionSlot, PendingIntroductions},
    streams::{StreamSlot, StreamSlots},
};
use crate::{
    config::ServerConfig,
    process::{self, WorkerHealth},
    serve::ServerStartError,
    telemetry::ProcessMetrics,
};

/// One of so many connections may be without a request yet.
const NEWCOMER_SHARE: usize = 2;

/// What bounds and watches the process, shared by the doors.
pub(crate) struct ProcessState {
    /// Workers that make no progress.
    pub(crate) workers: WorkerHealth,
    /// What the metrics page says of it.
    pub(crate) metrics: ProcessMetrics,
    /// Streams and sockets of each user.
    pub(crate) streams: StreamSlots,
    /// Connections of clients.
    pub(crate) connections: ConnectionSlots,
    /// Sockets that have not said who they are.
    pub(crate) introductions: PendingIntroductions,
}

impl ProcessState {
    pub(crate) fn new(
        config: &ServerConfig,
        recorder: &PrometheusRecorder,
    ) -> Result<Self, ServerStartError> {
        Ok(Self {
            workers: WorkerHealth::default(),
            metrics: ProcessMetrics::new(recorder),
            streams: StreamSlots::new(config.streams_per_user),
            connections: ConnectionSlots::new(config)?,
            introductions: PendingIntroductions::new(
                config.unauthenticated_sockets,
                Duration::from_millis(config.introduction_ms),
            ),
        })
    }
}

/// Places for connections. A connection holds its place until its socket is closed, upgraded or not.
pub(crate) struct ConnectionSlots {
    places: Arc<Semaphore>,
    /// Not what is missing among the places: one is held for the connection that comes next.
    open: Arc<AtomicUsize>,
    addresses: AddressCounts,
    write_timeout: Duration,
    /// Connections without a request yet.
    pub(crate) newcomers: PendingIntroductions,
}

/// The places of one connection.
pub(crate) struct ConnectionSlot {
    _place: OwnedSemaphorePermit,
    _address: Option<AddressSlot>,
    open: Arc<AtomicUsize>,
}

impl Drop for ConnectionSlot {
    fn drop(&mut self) {
        self.open.fetch_sub(1, Ordering::Relaxed);
    }
}

impl ConnectionSlots {
    fn new(config: &ServerConfig) -> Result<Self, ServerStartError> {
        let limit = process::connection_limit(config.max_connections);
        Ok(Self {
            places: Arc::new(Semaphore::new(limit)),
            open: Arc::default(),
            addresses: AddressCounts::new(config.max_connections_per_address, &config.proxies)
                .map_err(|error| ServerStartError::Config(format!("server.proxies: {error}")))?,
            write_timeout: Duration::from_millis(config.write_timeout_ms),
            newcomers: PendingIntroductions::new(
                (limit / NEWCOMER_SHARE).max(1),
                Duration::from_millis(config.head_timeout_ms),
            ),
        })
    }

    /// How many there are.
    pub(crate) fn open_count(&self) -> usize {
        self.open.load(Ordering::Relaxed)
    }

    /// The next connection. A place first: what cannot be served is not accepted, and waits in the system's queue. None
    /// where its address has too many already.
    pub(crate) async fn accept(&self, listener: &TcpListener) -> io::Result<Option<ClientStream>> {
        let place = self.places.clone().acquire_owned().await.map_err(io::Error::other)?;
        let (stream, from) = listener.accept().await?;
        Ok(self.admit(stream, from, place))
    }

    fn admit(
        &self,
        stream: TcpStream,
        from: SocketAddr,
        place: OwnedSemaphorePermit,
    ) -> Option<ClientStream> {
        let address = self.addresses.reserve(from.ip()).ok()?;
        let _ = stream.set_nodelay(true);
        self.open.fetch_add(1, Ordering::Relaxed);
        let place = ConnectionSlot { _place: place, _address: address, open: self.open.clone() };
        Some(ClientStream::new(stream, self.write_timeout, place))
    }
}
