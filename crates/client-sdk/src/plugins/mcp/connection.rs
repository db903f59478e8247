//! The connection to one server: opened on demand, reopened when lost, with a limit on restarts.

use std::collections::VecDeque;

use tokio::{
    sync::Mutex,
    time::{Duration, Instant},
};
use toolyard_mcp_client::{ChangeFilter, ClientLimits, ClientOptions, McpClient, McpClientError};

use super::{BridgeRegistration, BridgeState, server::McpServer};

/// Most starts of one server within [`START_WINDOW`].
pub(super) const MAX_STARTS: usize = 5;
/// The time in which starts are counted.
pub(super) const START_WINDOW: Duration = Duration::from_secs(60);
/// How long to wait for a response to the modern probe before the handshake is tried as well.
const PROBE: Duration = Duration::from_secs(5);

/// A server and the connection to it.
#[derive(Debug)]
pub(super) struct ServerConnection {
    pub(super) server: McpServer,
    slot: Mutex<BridgeSlot>,
}

#[derive(Debug, Default)]
struct BridgeSlot {
    client: Option<McpClient>,
    /// The latest starts, oldest first.
    starts: VecDeque<Instant>,
}

/// Why a connection could not be opened.
#[derive(Debug, thiserror::Error)]
pub(super) enum BridgeConnectError {
    #[error("{0}")]
    Settings(String),
    #[error("it was started {MAX_STARTS} times within a minute and stopped each time; retry in a minute")]
    TooOften,
    #[error("the bridge is closed")]
    Closed,
    #[error(transparent)]
    Client(#[from] McpClientError),
}

/// A connection, and whether it is new.
pub(super) enum OpenedClient {
    Existing(McpClient),
    New(McpClient),
}

impl ServerConnection {
    pub(super) fn new(server: McpServer) -> Self {
        Self { server, slot: Mutex::default() }
    }

    /// The connection. Concurrent callers wait for the one that opens it.
    pub(super) async fn open(
        &self,
        bridged: &BridgeState,
        registration: &BridgeRegistration,
    ) -> Result<OpenedClient, BridgeConnectError> {
        let mut held = self.slot.lock().await;
        if let Some(client) = held.client.as_ref().filter(|client| !client.is_closed()) {
            return Ok(OpenedClient::Existing(client.clone()));
        }
        held.client = None;
        held.count_start(Instant::now())?;
        let options = &bridged.options;
        let transport =
            self.server.transport(options, &bridged.http).map_err(BridgeConnectError::Settings)?;
        let limits = ClientLimits {
            connect: options.connect_limit,
            probe: PROBE.min(options.connect_limit / 2),
            request: options.connect_limit,
            ..ClientLimits::default()
        };
        let watch = ChangeFilter { tools: true, ..ChangeFilter::none() };
        let wire = ClientOptions {
            watch,
            limits,
            ..ClientOptions::new(registration.tasks.clone(), registration.stop.clone())
        };
        // Not every part of a connection observes the stop token.
        let connected = registration.stop.run_until_cancelled(McpClient::connect(transport, wire)).await;
        let client = connected.ok_or(BridgeConnectError::Closed)??;
        held.client = Some(client.clone());
        Ok(OpenedClient::New(client))
    }

    /// Drops the connection. It closes in the background.
    pub(super) async fn close(&self) {
        *self.slot.lock().await = BridgeSlot::default();
    }
}

impl BridgeSlot {
    fn count_start(&mut self, now: Instant) -> Result<(), BridgeConnectError> {
        while self.starts.front().is_some_and(|start| now.duration_since(*start) >= START_WINDOW) {
            self.starts.pop_front();
        }
        if self.starts.len() == MAX_STARTS {
            return Err(BridgeConnectError::TooOften);
        }
        self.starts.push_back(now);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn restarts_are_limited_within_a_window() {
        let (mut held, begin) = (BridgeSlot::default(), Instant::now());
        for start in 0..MAX_STARTS {
            held.count_start(begin + Duration::from_secs(start as u64)).unwrap();
        }
        let just_before = begin + START_WINDOW - Duration::from_millis(1);
        assert!(matches!(held.count_start(just_before), Err(BridgeConnectError::TooOften)));
        held.count_start(begin + START_WINDOW).unwrap();
        assert!(matches!(held.count_start(begin + START_WINDOW), Err(BridgeConnectError::TooOften)));
    }
}
