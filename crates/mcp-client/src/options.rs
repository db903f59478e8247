//! How a client is created: its name, its capabilities, and where its tasks run.

use serde::Serialize;
use serde_json::value::RawValue;
use tokio::sync::mpsc;
use tokio_util::{sync::CancellationToken, task::TaskTracker};
use toolyard_protocol::{mcp::McpRevision, raw::to_raw};

use crate::{limits::ClientLimits, server_request::ServerRequest, watch::ChangeFilter};

/// Options of a client.
#[derive(Debug, Clone)]
pub struct ClientOptions {
    /// Where background work runs.
    pub tasks: TaskTracker,
    /// Cancelling it closes the client.
    pub stop: CancellationToken,
    /// The program that connects.
    pub info: ClientInfo,
    /// Capabilities of this client, in protocol form. Handshake servers receive them once; modern ones with each
    /// request that has no other.
    pub capabilities: Box<RawValue>,
    /// Which era to use.
    pub era: ProtocolEra,
    /// Receives server requests that belong to no request of ours: over stdio, WebSocket and the standing stream.
    pub asks: Option<mpsc::Sender<ServerRequest>>,
    /// Receives log messages that belong to no request, unchanged.
    pub logs: Option<mpsc::Sender<Box<RawValue>>>,
    /// Which changes to report.
    pub watch: ChangeFilter,
    /// Limits.
    pub limits: ClientLimits,
}

impl ClientOptions {
    /// No capabilities, no handlers, every list watched.
    pub fn new(tasks: TaskTracker, stop: CancellationToken) -> Self {
        Self {
            tasks,
            stop,
            info: ClientInfo::default(),
            capabilities: to_raw(&serde_json::Map::new()),
            era: ProtocolEra::default(),
            asks: None,
            logs: None,
            watch: ChangeFilter::default(),
            limits: ClientLimits::default(),
        }
    }
}

/// The program that connects.
#[derive(Debug, Clone, Serialize)]
pub struct ClientInfo {
    /// Machine-readable name.
    pub name: String,
    /// Version of the program.
    pub version: String,
    /// Display name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
}

impl Default for ClientInfo {
    fn default() -> Self {
        Self { name: "toolyard".to_owned(), version: env!("CARGO_PKG_VERSION").to_owned(), title: None }
    }
}

/// Era of the protocol.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ProtocolEra {
    /// The modern era if the server supports it, otherwise the handshake.
    #[default]
    Either,
    /// Modern only.
    Modern,
    /// Handshake only.
    Handshake,
}

impl From<McpRevision> for ProtocolEra {
    /// The era of a revision that was negotiated before, so that it need not be probed again.
    fn from(revision: McpRevision) -> Self {
        if revision.is_modern() { Self::Modern } else { Self::Handshake }
    }
}
