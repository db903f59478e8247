//! The process, top to bottom: configuration, store, sources, executor, sessions, doors, listen, drain.

use std::{collections::HashMap, net::SocketAddr, sync::Arc, time::Duration};

use tokio::{net::TcpListener, runtime::Handle, time::timeout};
use tokio_util::sync::CancellationToken;
use toolyard_core::{
    Catalog, Executor,
    catalog::CatalogPorts,
    executor::ExecutorParts,
    kept::KeptResults,
    policy::{LocalLimiter, Policy},
    ports::{
        ChangeSubscriber, Clock, Ids, PruneBefore, Secrets, SourceKind, SystemClock, SystemIds, ToolSource,
        Waker,
    },
};
use toolyard_net::HttpClient;
use toolyard_platform::{Platform, plugins::reload_lists, upstreams};
use toolyard_sessions::{SessionParts, Sessions};
use toolyard_sources::{
    AppSource, BuiltinSource, UpstreamSource,
    app::AppSourceParts,
    builtin::BuiltinParts,
    upstream::{Environment, UpstreamParts},
    worker::WorkerCommand,
};
use toolyard_store::OpenError;

use crate::{
    auth::{Oidc, TokenError, TokenSigner},
    builtin,
    change_feed::ChangeFeed,
    config::Config,
    connections::ProcessState,
    console::ConsoleFiles,
    doors::chat::{Replays, TurnGate},
    doors::mcp::McpDoor,
    doors::rest,
    hosts::{Checked, Hosts},
    icons::Icons,
    lifecycle::Lifecycle,
    listen,
    models::ModelBook,
    openapi, parts, plugins,
    process::Watchdog,
    root_key, routes,
    secrets::RootKeyError,
    speech::{self, SpeechMetrics},
    state::{AppState, Exposure, Shared},
    telemetry::{self, CallMetrics, TraceError, Traces},
    tickets::Tickets,
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

/// Builds everything in the order in which it depends.
pub(crate) async fn assemble(
    config: Config,
    world: World,
    exposure: Exposure,
) -> Result<AppState, StartError> {
    let lifecycle = Lifecycle::default();
    let mode = parts::auth_mode(&config)?;
    // First: it locks the data folder, and says whether a root key belongs to it.
    let stores = toolyard_store::open(parts::store_settings(&config), &lifecycle.tasks).await?;
    let secrets: Arc<dyn Secrets> = Arc::new(root_key::load(&config, &world, &stores).await?);
    let guard = parts::guard(&config, mode)?;
    let own = || HttpClient::new(guard.clone(), parts::client_settings(&config));
    let http = world.http.clone().unwrap_or_else(own);
    let web = parts::web_access(&config, &world)?;
    let limits = parts::call_limits(&config.calls, &config.ledger);
    let (recorder, metrics) = telemetry::recorder();
    let process = ProcessState::new(&config.server, &recorder)?;
    let around = speech::Around {
        secrets: &*secrets,
        environment: &world.environment,
        ids: &world.ids,
        tasks: &lifecycle.tasks,
        client: parts::client_settings(&config),
        metrics: SpeechMetrics::new(&recorder),
    };
    let (speech, transcriber) = speech::open(&config.speech, around)?;
    let sessions = Sessions::new(SessionParts {
        stores: stores.clone(),
        secrets: secrets.clone(),
        http: http.clone(),
        guard: guard.clone(),
        clock: world.clock.clone(),
        ids: world.ids.clone(),
        limits: limits.clone(),
        transcriber,
        settings: parts::session_settings(&config),
        tasks: lifecycle.tasks.clone(),
        stopping: lifecycle.stopping.clone(),
    });
    let kept = Arc::new(KeptResults::default());
    let vectors = parts::vectors(&config)?;
    let around = builtin::Around {
        clock: world.clock.clone(),
        web: web.clone(),
        http: http.clone(),
        guard: guard.clone(),
        kept: kept.clone(),
        vectors: vectors.clone(),
        environment: world.environment.clone(),
        worker: world.worker(),
        tasks: lifecycle.tasks.clone(),
    };
    let builtin = builtin::parts(&config.builtin, around)?;
    let around = plugins::Around { stores: &stores, web: &web, lifecycle: &lifecycle };
    let plugins = plugins::desk(&config, &world, around).await?;
    let catalog_ports = CatalogPorts {
        plugins: plugins.source.clone().map(|source| source as _),
        builtin: builtin.as_ref().and_then(BuiltinParts::catalog),
        stores: stores.clone(),
        presence: Arc::new(sessions.clone()),
    };
    let catalog = Catalog::new(catalog_ports, config.view_limits());
    let waker: Arc<dyn Waker> = Arc::new(sessions.clone());
    let source = AppSource::new(AppSourceParts {
        http: http.clone(),
        guard: guard.clone(),
        secrets: secrets.clone(),
        waker,
        clock: world.clock.clone(),
        limits: limits.clone(),
    });
    let upstreams = UpstreamSource::new(UpstreamParts {
        stores: stores.clone(),
        secrets: secrets.clone(),
        clock: world.clock.clone(),
        ids: world.ids.clone(),
        http: http.clone(),
        guard: guard.clone(),
        environment: world.environment.clone(),
        oauth: parts::oauth_setup(&config),
        tasks: lifecycle.tasks.clone(),
        stopping: lifecycle.stopping.clone(),
        settings: parts::upstream_settings(&config.upstream_settings, &config.calls),
    });
    let mut sources: Vec<(SourceKind, Arc<dyn ToolSource>)> =
        vec![(SourceKind::App, Arc::new(source)), (SourceKind::Upstream, upstreams.clone())];
    sources.extend(builtin.map(|parts| (SourceKind::Builtin, Arc::new(BuiltinSource::new(parts)) as _)));
    sources.extend(plugins.source.clone().map(|source| (SourceKind::Plugin, source as _)));
    let limiter = Arc::new(LocalLimiter::new(parts::rates(&config.rates)?));
    let executor = Executor::new(ExecutorParts {
        sources,
        policy: Policy::denying(config.policy.deny.iter().map(String::as_str)).map_err(StartError::Config)?,
        limiter: limiter.clone(),
        ledger: stores.ledger.clone(),
        clock: world.clock.clone(),
        limits,
        tasks: lifecycle.calls.clone(),
        cut_off: lifecycle.cut_off.clone(),
    });
    if let Some(url) = &config.telemetry.otlp_url {
        Traces::to(url, world.ids.clone())?.follow(executor.watch(), &lifecycle);
    }
    let mcp = McpDoor::new(&*secrets, &config.mcp);
    let models = Arc::new(ModelBook::new(&config, &world)?);
    let tokens = Arc::new(TokenSigner::new(&*secrets)?);
    let platform = Arc::new(Platform {
        stores: stores.clone(),
        catalog: catalog.clone(),
        clock: world.clock.clone(),
        ids: world.ids.clone(),
        secrets: secrets.clone(),
        tokens: tokens.clone(),
        guard: guard.clone(),
        web_guard: web.guard.clone(),
        http: http.clone(),
        plugins: plugins.service(&config.plugins),
        limits: parts::request_limits(&config.rates)?,
        config: parts::platform_config(&config, mode),
    });
    let subscriber: Arc<dyn ChangeSubscriber> = platform.clone();
    stores.announcements.subscribe(Arc::downgrade(&subscriber));
    platform.load_revoked_tokens().await.map_err(|error| StartError::Config(error.to_string()))?;
    let state: AppState = Arc::new(Shared {
        auth_mode: mode,
        exposure,
        stores,
        catalog,
        executor,
        upstreams,
        plugins,
        sessions,
        speech,
        limiter,
        platform,
        tokens,
        icons: Icons::new(web, world.clock.clone()),
        oidc: config.auth.oidc.clone().map(|oidc| Oidc::new(oidc, http.clone())),
        secrets,
        clock: world.clock,
        ids: world.ids,
        guard,
        mcp,
        change_feed: ChangeFeed::default(),
        tickets: Tickets::new(config.mcp.ticket_s),
        console: world.console,
        models,
        kept,
        vectors,
        replays: Replays::new(&config.chat),
        turns: TurnGate::new(&config.chat),
        process,
        lifecycle,
        metrics,
        call_metrics: CallMetrics::new(recorder),
        openapi: serde_json::to_vec(&openapi::document()).unwrap_or_default().into(),
        config,
    });
    let subscriber: Arc<dyn ChangeSubscriber> = state.clone();
    state.stores.announcements.subscribe(Arc::downgrade(&subscriber));
    let restored = state.sessions.restore().await.map_err(|error| StartError::Config(error.to_string()))?;
    if restored > 0 {
        tracing::info!(restored, "apps of the process before are expected back");
    }
    let configured = upstreams::sync_from_config(&state.platform, &state.config.upstreams).await;
    configured.map_err(|error| StartError::Config(error.to_string()))?;
    state.upstreams.start().await.map_err(|error| StartError::Config(error.to_string()))?;
    housekeeping(&state);
    Ok(state)
}

/// How long a change may go unnoticed whose announcement was lost.
const CATCH_UP_EVERY: Duration = Duration::from_secs(2);

// After the time for calls, each part of a stop has its own. Together they fit into `process::EXIT_GRACE`.
/// For calls that were cut off to be recorded.
const CUT_OFF_TIMEOUT: Duration = Duration::from_secs(1);
/// For the ledger to be written and the files to be closed.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(4);
/// For sockets and everything else to end.
const TASKS_TIMEOUT: Duration = Duration::from_secs(2);

/// The end: no new calls, running ones finish within a bound, apps are told to come back, everything recorded is
/// written.
pub(crate) async fn drain(state: &AppState) {
    let lifecycle = &state.lifecycle;
    lifecycle.stopping.cancel();
    lifecycle.calls.close();
    let patience = Duration::from_millis(state.config.server.drain_ms);
    if timeout(patience, lifecycle.calls.wait()).await.is_err() {
        tracing::warn!("calls were still under way when the time to stop was over; they are cancelled");
        lifecycle.cut_off.cancel();
        let _ = timeout(CUT_OFF_TIMEOUT, lifecycle.calls.wait()).await;
    }
    state.upstreams.close();
    state.sessions.drain();
    // The ledger's writer is among the tasks: it has to be told first.
    if timeout(CLOSE_TIMEOUT, state.stores.maintenance.close()).await.is_err() {
        tracing::error!("the store could not be closed in time; records that were not written yet are lost");
    }
    lifecycle.tasks.close();
    if timeout(TASKS_TIMEOUT, lifecycle.tasks.wait()).await.is_err() {
        tracing::warn!("tasks were still running when the time to stop was over");
    }
    tracing::info!("stopped");
}

/// Idle apps and sessions, old calls and keys, caches.
fn housekeeping(state: &AppState) {
    let every = |period, work: fn(AppState) -> futures_util::future::BoxFuture<'static, ()>| {
        let state_of = state.clone();
        state.lifecycle.every(period, move || work(state_of.clone()));
    };
    every(Duration::from_millis(state.config.sessions.sweep_ms), |state| {
        Box::pin(async move { state.sessions.sweep().await })
    });
    every(CATCH_UP_EVERY, |state| {
        Box::pin(async move {
            match state.stores.announcements.catch_up().await {
                Ok(0) => {}
                Ok(missed) => tracing::info!(missed, "caught up with changes of the store"),
                Err(error) => tracing::error!(%error, "the change log of the store could not be read"),
            }
        })
    });
    every(Duration::from_secs(60), |state| {
        Box::pin(async move {
            state.catalog.forget_idle();
            state.limiter.forget_idle();
            state.platform.limits.forget_idle();
            state.speech.tidy();
            state.mcp.tidy(&state);
            state.tickets.tidy(state.clock.now());
            state.tokens.tidy(state.clock.now());
            state.kept.forget_late(state.clock.now());
            state.upstreams.tidy(|user| state.mcp.changes.is_heard(user));
            state.metrics.run_upkeep();
            if let Err(error) = reload_lists(&state.platform).await {
                tracing::error!(%error, "a list of plugins was not taken; the one before stays in force");
            }
        })
    });
    every(Duration::from_secs(3_600), |state| {
        Box::pin(async move {
            let now = state.clock.now();
            let ago = |seconds: i64| now.checked_sub(jiff::SignedDuration::from_secs(seconds)).unwrap_or(now);
            let calls = ago(i64::from(state.config.ledger.keep_days) * 24 * 60 * 60);
            let keys = ago(i64::try_from(state.config.calls.key_lifetime_s).unwrap_or(i64::MAX));
            let messages = rest::seen::messages_since(&state);
            let ages = PruneBefore { calls, messages, keys };
            if let Err(error) = state.stores.maintenance.prune(ages, &state.lifecycle.stopping).await {
                tracing::error!(%error, "old calls could not be removed");
            }
            if let Err(error) = state.stores.tokens.forget_tokens(now).await {
                tracing::error!(%error, "ended tokens could not be removed from the list");
            }
        })
    });
}
