//! How a client is made: who it says it is, what it can do, and whom it runs under.

use serde::Serialize;
use serde_json::value::RawValue;
use tokio::sync::mpsc;
use tokio_util::{sync::CancellationToken, task::TaskTracker};
use toolyard_protocol::{mcp::Revision, raw::to_raw};

use crate::{ask::Ask, limits::Limits, watch::Watch};

/// How a client is made.
#[derive(Debug, Clone)]
pub struct Options {
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
    pub era: Era,
    /// Takes the questions that belong to no request of ours: those over stdio, WebSocket and the standing stream.
    pub asks: Option<mpsc::Sender<Ask>>,
    /// Takes the log messages that belong to no request, as they came.
    pub logs: Option<mpsc::Sender<Box<RawValue>>>,
    /// What to hear of.
    pub watch: Watch,
    /// The bounds.
    pub limits: Limits,
}

impl Options {
    /// Nothing declared, nothing asked, every list watched.
    pub fn new(tasks: TaskTracker, stop: CancellationToken) -> Self {
        Self {
            tasks,
            stop,
            info: ClientInfo::default(),
            capabilities: to_raw(&serde_json::Map::new()),
            era: Era::default(),
            asks: None,
            logs: None,
            watch: Watch::default(),
            limits: Limits::default(),
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
pub enum Era {
    /// The modern one where the server knows it, else the handshake.
    #[default]
    Either,
    /// Without a handshake, or not at all.
    Modern,
    /// With a handshake, or not at all.
    Handshake,
}

impl From<Revision> for Era {
    /// The era of a revision: what was found once need not be found out again.
    fn from(revision: Revision) -> Self {
        if revision.is_modern() { Self::Modern } else { Self::Handshake }
    }
}
