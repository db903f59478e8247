//! The connection to one server: made when it is needed, made anew when it is lost, and not too often.

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
/// How long a server may be silent on the modern probe before the handshake is tried as well.
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

/// Why there is no connection.
#[derive(Debug, thiserror::Error)]
pub(super) enum BridgeConnectError {
    #[error("{0}")]
    Settings(String),
    #[error(
        "it was started {MAX_STARTS} times within a minute and did not stay; it is left alone for a while"
    )]
    TooOften,
    #[error("the bridge is closed")]
    Closed,
    #[error(transparent)]
    Client(#[from] McpClientError),
}

/// A connection, and whether it was made just now.
pub(super) enum OpenedClient {
    Existing(McpClient),
    New(McpClient),
}

impl ServerConnection {
    pub(super) fn new(server: McpServer) -> Self {
        Self { server, slot: Mutex::default() }
    }

    /// The connection. Of many who want it, one makes it and the others wait.
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
        // Not every part of a connection hears of the end by itself.
        let connected = registration.stop.run_until_cancelled(McpClient::connect(transport, wire)).await;
        let client = connected.ok_or(BridgeConnectError::Closed)??;
        held.client = Some(client.clone());
        Ok(OpenedClient::New(client))
    }

    /// Gives the connection up; it ends in the background.
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
    async fn a_server_is_started_so_often_and_then_left_alone_for_a_while() {
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
