//! How a client is made: who it says it is, what it can do, and whom it runs under.

use serde::Serialize;
use serde_json::value::RawValue;
use tokio::sync::mpsc;
use tokio_util::{sync::CancellationToken, task::TaskTracker};
use toolyard_protocol::{mcp::McpRevision, raw::to_raw};

use crate::{limits::ClientLimits, server_request::ServerRequest, watch::ChangeFilter};

/// How a client is made.
#[derive(Debug, Clone)]
pub struct ClientOptions {
    /// Where background work runs.
    pub tasks: TaskTracker,
    /// Stops everything.
    pub stop: CancellationToken,
    /// Which program asks.
    pub info: ClientInfo,
    /// What this client can do, as the protocol writes it. Handshake revisions hear it once; modern ones with each
    /// request that brings no other.
    pub capabilities: Box<RawValue>,
    /// Which wire is spoken.
    pub era: ProtocolEra,
    /// Takes the questions that belong to no request of ours: those over stdio, WebSocket and the standing stream.
    pub asks: Option<mpsc::Sender<ServerRequest>>,
    /// Takes the log messages that belong to no request, as they came.
    pub logs: Option<mpsc::Sender<Box<RawValue>>>,
    /// What to hear of.
    pub watch: ChangeFilter,
    /// The bounds.
    pub limits: ClientLimits,
}

impl ClientOptions {
    /// Nothing declared, nothing asked, every list watched.
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

/// Which program asks.
#[derive(Debug, Clone, Serialize)]
pub struct ClientInfo {
    /// For programs.
    pub name: String,
    /// Of the program.
    pub version: String,
    /// For people.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
}

impl Default for ClientInfo {
    fn default() -> Self {
        Self { name: "toolyard".to_owned(), version: env!("CARGO_PKG_VERSION").to_owned(), title: None }
    }
}

/// Which wire is spoken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ProtocolEra {
    /// The modern one where the server knows it, else the handshake.
    #[default]
    Either,
    /// Without a handshake, or not at all.
    Modern,
    /// With a handshake, or not at all.
    Handshake,
}

impl From<McpRevision> for ProtocolEra {
    /// The era of a revision: what was found once need not be found out again.
    fn from(revision: McpRevision) -> Self {
        if revision.is_modern() { Self::Modern } else { Self::Handshake }
    }
}
