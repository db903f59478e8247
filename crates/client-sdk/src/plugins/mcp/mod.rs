//! The tools of MCP servers as tools of this client. Servers run as a command or behind a URL, with or without a handshake.
//!
//! A tool is offered as `mcp_<server>_<tool>`. If that is not a valid name, is too long or is ambiguous, a hash of both names
//! is appended. References in schemas are inlined. Tools that still cannot be offered are set aside; [`McpBridge::set_aside`]
//! lists them with the reason.
//!
//! When the plugin is registered, all servers are asked for their tools at the same time. [`McpBridge::server_statuses`] reports
//! a server that fails; the others still work. From then on the bridge follows their changes. A server that dies is restarted
//! by the next call, a few times a minute at most. The processes end when the plugin is removed or the last handle of the
//! bridge is dropped.
//!
//! | look for | in |
//! | --- | --- |
//! | server settings | `server`, `options` |
//! | configuration files of MCP clients | `file` |
//! | names, schemas, definitions | `name`, `schema`, `offer` |
//! | the tools of all servers together | `board` |
//! | connections, changes | `connection`, `follow` |
//! | calls and results | `call`, `result` |
//!
//! Deliberately not supported: prompts, resources, OAuth, and elicitation.

mod board;
mod call;
mod connection;
pub mod file;
mod follow;
mod name;
mod offer;
mod options;
mod result;
mod schema;
mod server;

use std::{sync::Arc, time::Duration};

use async_trait::async_trait;
use futures_util::future::join_all;
use parking_lot::{Mutex, MutexGuard};
use tokio::time::timeout;
use tokio_util::{
    sync::{CancellationToken, DropGuard},
    task::TaskTracker,
};
use toolyard_mcp_client::UpstreamListing;
use toolyard_net::{ClientSettings, HttpClient};

use self::{
    board::ServerBoard,
    connection::{BridgeConnectError, OpenedClient, ServerConnection},
};
pub use self::{
    board::{ServerState, ServerStatus},
    offer::SetAsideTool,
    options::{EnvLookup, McpOptions},
    server::{McpReach, McpServer},
};
use crate::plugin::{HookError, Hooks, Plugin, PluginError, PluginTools};

/// Most servers of one bridge. More are not started.
pub const MAX_SERVERS: usize = 64;
/// How long to wait for all servers to stop. Each has its own, shorter timeout; the rest stops in the background.
const CLOSE_WAIT: Duration = Duration::from_secs(15);

/// The plugin `mcp`. Use an [`McpBridge`] instead if you need the status of the servers.
pub fn mcp(servers: impl IntoIterator<Item = McpServer>, options: McpOptions) -> Plugin {
    McpBridge::new(servers, options).plugin()
}

/// A bridge to MCP servers. Cheap to clone. The processes end with the last handle, including the plugin.
#[derive(Clone)]
pub struct McpBridge(Arc<BridgeState>);

impl McpBridge {
    /// A bridge to these servers. Nothing is started yet.
    pub fn new(servers: impl IntoIterator<Item = McpServer>, options: McpOptions) -> Self {
        let lines: Vec<_> = servers.into_iter().map(ServerConnection::new).collect();
        let board = ServerBoard::new(lines.iter().map(|line| line.server.name.clone()));
        let http = HttpClient::new(options.guard.clone(), ClientSettings::default());
        Self(Arc::new(BridgeState {
            options,
            http,
            connections: lines,
            board: Mutex::new(board),
            registered: Mutex::default(),
        }))
    }

    /// The plugin. One bridge serves one client at a time.
    pub fn plugin(&self) -> Plugin {
        Plugin::new("mcp", super::VERSION).hooks(self.clone())
    }

    /// The tools that are not offered, and why.
    pub fn set_aside(&self) -> Vec<SetAsideTool> {
        self.0.lock_board().set_aside()
    }

    /// The status of the servers, in the given order.
    pub fn server_statuses(&self) -> Vec<ServerStatus> {
        self.0.lock_board().server_statuses()
    }
}

impl std::fmt::Debug for McpBridge {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Bridge").field("servers", &self.server_statuses()).finish_non_exhaustive()
    }
}

#[async_trait]
impl Hooks for McpBridge {
    async fn on_register(&self, tools: &PluginTools) -> Result<(), HookError> {
        self.0.end_registration().await;
        let registration = self.0.begin_registration(tools);
        // If the caller stops waiting, nothing is left running.
        let unfinished = registration.stop.clone().drop_guard();
        let started =
            join_all((0..self.0.connections.len()).map(|at| self.0.start_server(at, &registration))).await;
        let offered = self.0.publish_tools(&registration).map_err(HookError::new);
        let outcome = if !started.is_empty() && started.iter().all(Result::is_err) {
            let why: Vec<_> = started.into_iter().filter_map(Result::err).collect();
            Err(HookError(format!("no MCP server could be used: {}", why.join("; "))))
        } else {
            offered
        };
        match outcome {
            Ok(()) => drop(unfinished.disarm()),
            Err(_) => self.0.end_registration().await,
        }
        outcome
    }

    async fn on_unregister(&self) {
        self.0.end_registration().await;
    }
}

/// State that the handles of a bridge share.
struct BridgeState {
    options: McpOptions,
    http: HttpClient,
    connections: Vec<ServerConnection>,
    board: Mutex<ServerBoard>,
    /// Set while the plugin is registered.
    registered: Mutex<Option<ActiveRegistration>>,
}

struct ActiveRegistration {
    registration: BridgeRegistration,
    /// Stops everything when the bridge is dropped.
    _ends: DropGuard,
}

/// One registration of the plugin, until it is removed.
#[derive(Clone)]
struct BridgeRegistration {
    own: PluginTools,
    stop: CancellationToken,
    tasks: TaskTracker,
}

impl BridgeState {
    fn lock_board(&self) -> MutexGuard<'_, ServerBoard> {
        self.board.lock()
    }

    fn server_name(&self, at: usize) -> &str {
        self.connections.get(at).map_or("", |line| &line.server.name)
    }

    fn lock_registered(&self) -> MutexGuard<'_, Option<ActiveRegistration>> {
        self.registered.lock()
    }

    fn current_registration(&self) -> Option<BridgeRegistration> {
        self.lock_registered().as_ref().map(|registered| registered.registration.clone())
    }

    fn begin_registration(&self, tools: &PluginTools) -> BridgeRegistration {
        let (stop, tasks) = (CancellationToken::new(), TaskTracker::new());
        let registration = BridgeRegistration { own: tools.clone(), stop: stop.clone(), tasks };
        *self.lock_registered() =
            Some(ActiveRegistration { registration: registration.clone(), _ends: stop.drop_guard() });
        registration
    }

    /// Closes every connection and waits until the processes have ended.
    async fn end_registration(&self) {
        let Some(registered) = self.lock_registered().take() else { return };
        let BridgeRegistration { stop, tasks, .. } = registered.registration;
        stop.cancel();
        join_all(self.connections.iter().map(ServerConnection::close)).await;
        self.lock_board().clear();
        tasks.close();
        if timeout(CLOSE_WAIT, tasks.wait()).await.is_err() {
            tracing::warn!(wait = ?CLOSE_WAIT, "MCP servers did not stop in time");
        }
    }

    /// Starts a server and lists its tools, or says why it cannot be used.
    async fn start_server(
        self: &Arc<Self>,
        at: usize,
        registration: &BridgeRegistration,
    ) -> Result<(), String> {
        let name = self.server_name(at);
        let started = async {
            if at >= MAX_SERVERS {
                return Err(format!("there are more than {MAX_SERVERS} servers"));
            }
            if self.connections.iter().take(at).any(|line| line.server.name == name) {
                return Err("another server has the same name".to_owned());
            }
            let (OpenedClient::Existing(client) | OpenedClient::New(client)) =
                self.open_connection(at, registration).await.map_err(|error| error.to_string())?;
            let listing = follow::list_tools(&client).await.map_err(|error| error.to_string())?;
            self.store_offer(at, &listing);
            Ok(())
        };
        let limit = self.options.connect_limit;
        let outcome =
            timeout(limit, started).await.unwrap_or_else(|_| Err(format!("no answer within {limit:?}")));
        outcome.map_err(|why| {
            tracing::warn!(server = name, reason = why, "MCP server cannot be used");
            self.lock_board().set_state(at, ServerState::Down(why.clone()));
            format!("`{name}`: {why}")
        })
    }

    /// The connection to a server. A new connection is followed from its start.
    async fn open_connection(
        self: &Arc<Self>,
        at: usize,
        registration: &BridgeRegistration,
    ) -> Result<OpenedClient, BridgeConnectError> {
        let line = self
            .connections
            .get(at)
            .ok_or_else(|| BridgeConnectError::Settings("there is no such server".to_owned()))?;
        let opened = line.open(self, registration).await;
        match &opened {
            Ok(OpenedClient::New(client)) => {
                let (events, client) = (client.subscribe_events(), client.clone());
                registration.tasks.spawn(follow::follow_connection(Arc::downgrade(self), at, client, events));
            }
            Ok(OpenedClient::Existing(_)) => {}
            Err(error) => self.lock_board().set_state(at, ServerState::Down(error.to_string())),
        }
        opened
    }

    /// Stores what a server offers.
    fn store_offer(self: &Arc<Self>, at: usize, listing: &UpstreamListing) {
        let Some(line) = self.connections.get(at) else { return };
        let executor = |tool: &str| call::bridge_executor(Arc::downgrade(self), at, tool);
        let offer = offer::read_offer(&line.server, listing, &self.options.limits, executor);
        for aside in &offer.set_aside {
            tracing::info!(
                server = aside.server,
                tool = aside.tool,
                reason = aside.reason,
                "MCP tool set aside"
            );
        }
        self.lock_board().set_offer(at, offer);
    }

    /// Stores a new list and publishes it, unless the plugin was removed meanwhile.
    fn update_offer(self: &Arc<Self>, at: usize, listing: &UpstreamListing) -> Result<(), PluginError> {
        let Some(registration) = self.current_registration() else { return Ok(()) };
        self.store_offer(at, listing);
        self.publish_tools(&registration)
    }

    fn publish_tools(&self, registration: &BridgeRegistration) -> Result<(), PluginError> {
        self.lock_board().publish_tools(&registration.own, &self.options.limits)
    }
}
