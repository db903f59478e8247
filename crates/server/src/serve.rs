//! The process, top to bottom: configuration, store, sources, executor, sessions, doors, listen, drain.

use std::{collections::HashMap, net::SocketAddr, sync::Arc, time::Duration};

use tokio::{net::TcpListener, runtime::Handle};
use tokio_util::sync::CancellationToken;
use toolyard_core::ports::{Clock, Ids, StoreError, SystemClock, SystemIds};
use toolyard_net::HttpClient;
use toolyard_sources::{upstream::Environment, worker::WorkerCommand};
use toolyard_store::OpenError;

use crate::{
    assembly::{assemble, drain},
    auth::TokenError,
    config::Config,
    console::ConsoleFiles,
    hosts::{Checked, Hosts},
    listen,
    process::Watchdog,
    routes,
    secrets::RootKeyError,
    state::{AppState, Exposure},
    telemetry::TraceError,
};

pub use crate::parts::root_key_file;

/// Why the server does not start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The store.
    #[error(transparent)]
    Store(#[from] OpenError),
    /// The root key.
    #[error(transparent)]
    RootKey(#[from] RootKeyError),
    /// Tokens.
    #[error(transparent)]
    Tokens(#[from] TokenError),
    /// Traces.
    #[error(transparent)]
    Traces(#[from] TraceError),
    /// A value of the configuration that only now turns out wrong.
    #[error("configuration: {0}")]
    Config(String),
    /// The address.
    #[error("cannot listen on {address}: {error}")]
    Listen {
        /// Where.
        address: SocketAddr,
        /// What the system said.
        error: std::io::Error,
    },
}

impl StartError {
    /// The store was opened, and cannot be read all the same.
    pub(crate) fn unreadable(error: StoreError) -> Self {
        Self::Config(error.to_string())
    }
}

/// Time, chance and the network, passed in so that a test can move them.
pub struct World {
    /// The time of day.
    pub clock: Arc<dyn Clock>,
    /// Unguessable numbers.
    pub ids: Arc<dyn Ids>,
    /// The environment that upstreams may name.
    pub environment: Environment,
    /// The web console.
    pub console: ConsoleFiles,
    /// What sends requests that leave, if not the server's own client, which follows the configuration.
    pub http: Option<HttpClient>,
    /// What is started as a worker, for plugins and calculations, if this program is not `toolyard`. It has to call
    /// [`serve_worker`](crate::serve_worker).
    pub worker: Option<WorkerCommand>,
}

impl Default for World {
    fn default() -> Self {
        Self::of(&[])
    }
}

impl World {
    /// This machine, with these variables.
    pub fn of(environment: &[(String, String)]) -> Self {
        let variables: HashMap<String, String> = environment.iter().cloned().collect();
        Self {
            clock: Arc::new(SystemClock),
            ids: Arc::new(SystemIds),
            environment: Arc::new(move |name| variables.get(name).cloned()),
            console: ConsoleFiles::built(),
            http: None,
            worker: None,
        }
    }
}

impl World {
    /// What is started as a worker.
    pub(crate) fn worker(&self) -> Option<WorkerCommand> {
        self.worker.clone().or_else(WorkerCommand::this_program)
    }
}

/// A server that listens.
pub struct Server {
    /// Where it listens.
    pub address: SocketAddr,
    /// Everything in it.
    pub state: AppState,
    listener: TcpListener,
    service: Checked,
}

/// Runs a server until `stop` fires, then drains it.
pub async fn serve(config: Config, world: World, stop: CancellationToken) -> Result<(), StartError> {
    let server = Server::start(config, world).await?;
    tracing::info!(address = %server.address, auth = ?server.state.auth_mode, "listening");
    server.run(stop).await;
    Ok(())
}

impl Server {
    /// Listens, and builds everything.
    pub async fn start(mut config: Config, world: World) -> Result<Self, StartError> {
        let listen = |error| StartError::Listen { address: config.server.listen, error };
        let listener = TcpListener::bind(config.server.listen).await.map_err(listen)?;
        config.server.listen = listener.local_addr().map_err(listen)?;
        let state = assemble(config, world, Exposure::Network).await?;
        let hosts = Hosts::new(&state.config.server, state.auth_mode);
        let service = Checked::new(hosts, routes::router().with_state(state.clone()));
        Ok(Self { address: state.config.server.listen, state, listener, service })
    }

    /// Serves until `stop` fires, then drains.
    pub async fn run(self, stop: CancellationToken) {
        let Self { state, listener, service, .. } = self;
        let stuck_after = Duration::from_millis(state.config.server.stuck_after_ms);
        let watchdog = Watchdog::start(&Handle::current(), stuck_after, &state.process.workers);
        if let Err(error) = &watchdog {
            tracing::error!(%error, "workers are not watched");
        }
        tokio::select! {
            () = listen::serve(listener, service, &state) => {}
            () = stop.cancelled() => {}
        }
        drain(&state).await;
    }
}
