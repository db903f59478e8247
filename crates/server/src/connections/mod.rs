//! Limits on what clients may hold open: connections, sockets and streams.
//!
//! | limit | setting |
//! | --- | --- |
//! | concurrent connections, sockets included | `server.max_connections`, and half of the open file limit |
//! | connections without a request yet | half of those; the oldest is closed first |
//! | connections of one address | `server.max_connections_per_address` |
//! | time for the head of a request, and idle time between requests | `server.head_timeout_ms` |
//! | time for the body | `server.body_timeout_ms` |
//! | time that a client may stop reading | `server.write_timeout_ms` |
//! | unauthenticated sockets | `server.unauthenticated_sockets`, `server.introduction_ms` |
//! | streams and sockets of one user | `server.streams_per_user`, `mcp.streams_per_user` |
//! | time that a socket may be silent | `server.heartbeat_s` |

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

/// One in this many connections may be without a request yet.
const NEWCOMER_SHARE: usize = 2;

/// Limits and health of the process, shared by the doors.
pub(crate) struct ProcessState {
    /// The health of worker threads.
    pub(crate) workers: WorkerHealth,
    /// Metrics of the process.
    pub(crate) metrics: ProcessMetrics,
    /// Streams and sockets of each user.
    pub(crate) streams: StreamSlots,
    /// Connections of clients.
    pub(crate) connections: ConnectionSlots,
    /// Sockets that are not authenticated yet.
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

/// Slots for connections. A connection holds its slot until its socket is closed, upgraded or not.
pub(crate) struct ConnectionSlots {
    slots: Arc<Semaphore>,
    limit: usize,
    /// Open connections. Not the number of used slots: one is reserved for the next connection.
    open: Arc<AtomicUsize>,
    addresses: AddressCounts,
    write_timeout: Duration,
    /// Connections without a request yet.
    pub(crate) newcomers: PendingIntroductions,
}

/// The slots that one connection holds.
pub(crate) struct ConnectionSlot {
    _slot: OwnedSemaphorePermit,
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
            slots: Arc::new(Semaphore::new(limit)),
            limit,
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

    /// How many connections may be open.
    pub(crate) fn limit(&self) -> usize {
        self.limit
    }

    /// The number of open connections.
    pub(crate) fn open_count(&self) -> usize {
        self.open.load(Ordering::Relaxed)
    }

    /// Accepts the next connection, after it has reserved a slot: without one, connections wait in the system's queue. None
    /// if the address has too many connections.
    pub(crate) async fn accept(&self, listener: &TcpListener) -> io::Result<Option<ClientStream>> {
        let slot = self.slots.clone().acquire_owned().await.map_err(io::Error::other)?;
        let (stream, from) = listener.accept().await?;
        Ok(self.admit(stream, from, slot))
    }

    fn admit(&self, stream: TcpStream, from: SocketAddr, slot: OwnedSemaphorePermit) -> Option<ClientStream> {
        let address = self.addresses.reserve(from.ip()).ok()?;
        let _ = stream.set_nodelay(true);
        self.open.fetch_add(1, Ordering::Relaxed);
        let slot = ConnectionSlot { _slot: slot, _address: address, open: self.open.clone() };
        Some(ClientStream::new(stream, self.write_timeout, slot))
    }
}
