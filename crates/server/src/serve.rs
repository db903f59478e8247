//! The process, top to bottom: configuration, store, sources, executor, sessions, doors, listen, drain.

use std::{collections::HashMap, net::SocketAddr, sync::Arc, time::Duration};

use tokio::{net::TcpListener, runtime::Handle};
use tokio_util::sync::CancellationToken;
use toolyard_core::ports::{Clock, IdGenerator, StoreError, SystemClock, SystemIds};
use toolyard_net::HttpClient;
use toolyard_platform::accounts;
use toolyard_protocol::UserId;
use toolyard_sources::{upstream::UpstreamEnvironment, worker::WorkerCommand};
use toolyard_store::OpenError;

use crate::{
    assembly::{assemble, drain},
    auth::TokenError,
    config::{AuthMode, Config},
    console::ConsoleFiles,
    doors::sign_in::link_info,
    hosts::HostCheckedRouter,
    listen,
    process::{ReloadRequests, Watchdog},
    reload::{self, ReloadSources},
    routes,
    secrets::RootKeyError,
    state::{ServerExposure, ServerState},
    telemetry::TraceError,
};

pub use toolyard_store::{CopiedTable, CopyError, StoreState};

pub use crate::parts::{copy_store, inspect_store, root_key_file, shown_store};

/// Why the server does not start.
#[derive(Debug, thiserror::Error)]
pub enum ServerStartError {
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
    /// A setting that turned out to be invalid while the server started.
    #[error("configuration: {0}")]
    Config(String),
    /// The address cannot be used.
    #[error("cannot listen on {address}: {error}")]
    Listen {
        /// The address.
        address: SocketAddr,
        /// The error of the operating system.
        error: std::io::Error,
    },
}

impl ServerStartError {
    /// The store was opened but cannot be read.
    pub(crate) fn store_unreadable(error: StoreError) -> Self {
        Self::Config(error.to_string())
    }
}

/// Clock, randomness, environment and network, passed in so that tests can replace them.
pub struct ServerDependencies {
    /// The time of day.
    pub clock: Arc<dyn Clock>,
    /// Source of random ids and secrets.
    pub ids: Arc<dyn IdGenerator>,
    /// The environment variables that settings and upstreams may refer to.
    pub environment: UpstreamEnvironment,
    /// The web console.
    pub console: ConsoleFiles,
    /// The client for outgoing requests. By default one that follows the configuration.
    pub http: Option<HttpClient>,
    /// The worker command for plugins and calculations, if this program is not `toolyard`. It must call
    /// [`serve_worker`](crate::serve_worker).
    pub worker: Option<WorkerCommand>,
    /// Where the configuration comes from, if it can be reloaded.
    pub reload: Option<ReloadSources>,
}

impl Default for ServerDependencies {
    fn default() -> Self {
        Self::with_environment(&[])
    }
}

impl ServerDependencies {
    /// The system's clock and randomness, with these environment variables.
    pub fn with_environment(environment: &[(String, String)]) -> Self {
        let variables: HashMap<String, String> = environment.iter().cloned().collect();
        Self {
            clock: Arc::new(SystemClock),
            ids: Arc::new(SystemIds),
            environment: Arc::new(move |name| variables.get(name).cloned()),
            console: ConsoleFiles::from_build(),
            http: None,
            worker: None,
            reload: None,
        }
    }
}

impl ServerDependencies {
    /// The worker command: the given one, or this program.
    pub(crate) fn worker_command(&self) -> Option<WorkerCommand> {
        self.worker.clone().or_else(WorkerCommand::this_program)
    }
}

/// A server that listens.
pub struct Server {
    /// The address it listens on.
    pub address: SocketAddr,
    /// The state of the server.
    pub state: ServerState,
    listener: TcpListener,
    service: HostCheckedRouter,
}

/// Runs a server until `stop` fires, then drains it.
pub async fn run_server(
    config: Config,
    deps: ServerDependencies,
    stop: CancellationToken,
) -> Result<(), ServerStartError> {
    let server = Server::start(config, deps).await?;
    tracing::info!(address = %server.address, auth = ?server.state.auth_mode, "listening");
    server.run(stop).await;
    Ok(())
}

impl Server {
    /// Binds the address and builds all parts.
    pub async fn start(mut config: Config, deps: ServerDependencies) -> Result<Self, ServerStartError> {
        let listen = |error| ServerStartError::Listen { address: config.server.listen, error };
        let listener = TcpListener::bind(config.server.listen).await.map_err(listen)?;
        config.server.listen = listener.local_addr().map_err(listen)?;
        // On the heap: the future of a start is large, and its caller may be deep.
        let state = Box::pin(assemble(config, deps, ServerExposure::Network)).await?;
        let router = routes::build_router(&state).with_state(state.clone());
        let service = HostCheckedRouter::new(state.live.hosts.clone(), state.marked_paths(), router);
        let address = state.config.load().server.listen;
        Ok(Self { address, state, listener, service })
    }

    /// A link with which the first operator signs in, at this base URL. None if an operator has an account, or in dev mode,
    /// where nobody has to sign in.
    pub async fn first_operator_link(&self, base_url: &str) -> Result<Option<String>, ServerStartError> {
        if self.state.auth_mode == AuthMode::Dev {
            return Ok(None);
        }
        let operator = UserId::from_stored(accounts::FIRST_OPERATOR);
        let link = accounts::first_operator_link(&self.state.platform, operator).await;
        let link = link.map_err(|error| ServerStartError::Config(error.to_string()))?;
        Ok(link.map(|link| link_info(base_url, &link).url))
    }

    /// Reloads the configuration whenever it is requested, until the server stops.
    pub fn reload_on(&self, requests: ReloadRequests) {
        let (state, stopping) = (self.state.clone(), self.state.lifecycle.stopping.clone());
        self.state.lifecycle.spawn(async move {
            loop {
                tokio::select! {
                    () = requests.next() => {}
                    () = stopping.cancelled() => return,
                }
                // The result is logged.
                let _ = reload::reload_config(&state).await;
            }
        });
    }

    /// Serves until `stop` fires, then drains.
    pub async fn run(self, stop: CancellationToken) {
        let Self { state, listener, service, .. } = self;
        let stuck_after = Duration::from_millis(state.config.load().server.stuck_after_ms);
        let watchdog = Watchdog::start(&Handle::current(), stuck_after, &state.process.workers);
        if let Err(error) = &watchdog {
            tracing::error!(%error, "failed to start the worker watchdog");
        }
        let closing = async {
            stop.cancelled().await;
            // Until the other nodes and a load balancer know, they send requests to this one.
            if let Some(cluster) = &state.cluster {
                cluster.give_notice().await;
            }
        };
        listen::serve_connections(listener, service, &state, closing).await;
        if let Some(cluster) = &state.cluster {
            cluster.finish_notice().await;
        }
        drain(&state).await;
    }
}
