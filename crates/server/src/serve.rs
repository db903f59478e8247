//! The process, top to bottom: configuration, store, sources, executor, sessions, doors, listen, drain.

use std::{collections::HashMap, net::SocketAddr, num::NonZeroU32, sync::Arc, time::Duration};

use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;
use toolyard_core::{
    Catalog, Executor,
    catalog::CatalogPorts,
    executor::ExecutorParts,
    limits::CallLimits,
    policy::{LocalLimiter, Policy, Rate, Rates},
    ports::{Clock, Ids, Secrets, Signals, SourceKind, SystemClock, SystemIds, Waker},
};
use toolyard_net::{ClientSettings, Guard, GuardPolicy, HttpClient};
use toolyard_sessions::{SessionParts, SessionSettings, Sessions};
use toolyard_sources::{
    AppSource, UpstreamSource,
    app::AppSourceParts,
    upstream::{Environment, OAuthSetup, UpstreamParts, UpstreamSettings},
};
use toolyard_store::{LocalSignals, OpenError, SqliteStore, StoreSettings};

use crate::{
    auth::{Oidc, TokenError, Tokens},
    config::{AuthMode, CallsConfig, Config, RateConfig, UpstreamConfig},
    configured,
    hosts::{Checked, Hosts},
    lifecycle::Lifecycle,
    listen,
    mcp::McpDoor,
    openapi, routes,
    secrets::{self, RootKeyError, RootKeys},
    state::{AppState, Shared, Stores},
    telemetry::{self, CallMetrics, TraceError, Traces},
};

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

/// Time and chance, passed in so that a test can move them.
pub struct World {
    /// The time of day.
    pub clock: Arc<dyn Clock>,
    /// Unguessable numbers.
    pub ids: Arc<dyn Ids>,
    /// The environment that upstreams may name.
    pub environment: Environment,
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
        }
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
        let hosts = Hosts::new(&config.server);
        let state = assemble(config, world).await?;
        let service = Checked::new(hosts, routes::router().with_state(state.clone()));
        Ok(Self { address: state.config.server.listen, state, listener, service })
    }

    /// Serves until `stop` fires, then drains.
    pub async fn run(self, stop: CancellationToken) {
        let Self { state, listener, service, .. } = self;
        let connections =
            listen::serve(listener, service, state.config.server.max_connections, &state.lifecycle);
        tokio::select! {
            () = connections => {}
            () = stop.cancelled() => {}
        }
        drain(&state).await;
    }
}

/// Builds everything in the order in which it depends.
pub(crate) async fn assemble(config: Config, world: World) -> Result<AppState, StartError> {
    let lifecycle = Lifecycle::default();
    let mode = auth_mode(&config)?;
    let secrets: Arc<dyn Secrets> = Arc::new(root_keys(&config, &world)?);
    let store = Arc::new(SqliteStore::open(store_settings(&config), &lifecycle.tasks).await?);
    if config.auth.old_root_key.is_some() {
        secrets::seal_anew(&*store, &*secrets)
            .await
            .map_err(|error| StartError::Config(error.to_string()))?;
    }
    let signals: Arc<dyn Signals> = Arc::new(LocalSignals::default());
    let guard = guard(&config, mode)?;
    let http = HttpClient::new(guard.clone(), client_settings(&config));
    let limits = call_limits(&config.calls);
    let sessions = Sessions::new(SessionParts {
        apps: store.clone(),
        data: store.clone(),
        devices: store.clone(),
        runs: store.clone(),
        signals: signals.clone(),
        secrets: secrets.clone(),
        http: http.clone(),
        guard: guard.clone(),
        clock: world.clock.clone(),
        ids: world.ids.clone(),
        limits: limits.clone(),
        settings: session_settings(&config),
        tasks: lifecycle.tasks.clone(),
        stopping: lifecycle.stopping.clone(),
    });
    let catalog_ports = CatalogPorts {
        builtin: None,
        apps: store.clone(),
        definitions: store.clone(),
        installs: store.clone(),
        settings: store.clone(),
        presence: Arc::new(sessions.clone()),
        upstreams: store.clone(),
        offers: store.clone(),
    };
    let catalog = Catalog::new(catalog_ports, config.mcp.page_size, &*signals);
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
        apps: store.clone(),
        upstreams: store.clone(),
        offers: store.clone(),
        tokens: store.clone(),
        signals: signals.clone(),
        secrets: secrets.clone(),
        clock: world.clock.clone(),
        ids: world.ids.clone(),
        http: http.clone(),
        guard: guard.clone(),
        environment: world.environment.clone(),
        oauth: oauth_setup(&config),
        tasks: lifecycle.tasks.clone(),
        stopping: lifecycle.stopping.clone(),
        settings: upstream_settings(&config.upstream_settings),
    });
    let limiter = Arc::new(LocalLimiter::new(rates(&config.rates)?));
    let executor = Executor::new(ExecutorParts {
        sources: vec![(SourceKind::App, Arc::new(source)), (SourceKind::Upstream, upstreams.clone())],
        policy: Policy::denying(config.policy.deny.iter().map(String::as_str)).map_err(StartError::Config)?,
        limiter: limiter.clone(),
        ledger: store.clone(),
        clock: world.clock.clone(),
        limits,
        tasks: lifecycle.calls.clone(),
    });
    if let Some(url) = &config.telemetry.otlp_url {
        Traces::to(url, world.ids.clone())?.follow(executor.watch(), &lifecycle);
    }
    let (recorder, metrics) = telemetry::recorder();
    let mcp = McpDoor::new(&*secrets, &config.mcp);
    let state: AppState = Arc::new(Shared {
        auth_mode: mode,
        stores: stores(store),
        catalog,
        executor,
        upstreams,
        sessions,
        signals,
        limiter,
        tokens: Tokens::new(&*secrets)?,
        oidc: config.auth.oidc.clone().map(|oidc| Oidc::new(oidc, http)),
        secrets,
        clock: world.clock,
        ids: world.ids,
        guard,
        mcp,
        lifecycle,
        metrics,
        call_metrics: CallMetrics::new(recorder),
        openapi: serde_json::to_vec(&openapi::document()).unwrap_or_default().into(),
        config,
    });
    let hears = Arc::downgrade(&state);
    state.signals.listen(Box::new(move |change| {
        if let Some(state) = hears.upgrade() {
            state.mcp.changes.hear(change);
        }
    }));
    let restored = state.sessions.restore().await.map_err(|error| StartError::Config(error.to_string()))?;
    if restored > 0 {
        tracing::info!(restored, "apps of the process before are expected back");
    }
    configured::upstreams(&state).await.map_err(|error| StartError::Config(error.to_string()))?;
    state.upstreams.start().await.map_err(|error| StartError::Config(error.to_string()))?;
    housekeeping(&state);
    Ok(state)
}

/// The end: no new calls, running ones finish within a bound, apps are told to come back, everything recorded is
/// written.
pub(crate) async fn drain(state: &AppState) {
    let lifecycle = &state.lifecycle;
    lifecycle.stopping.cancel();
    lifecycle.calls.close();
    let patience = Duration::from_millis(state.config.server.drain_ms);
    if tokio::time::timeout(patience, lifecycle.calls.wait()).await.is_err() {
        tracing::warn!("calls were still under way when the time to stop was over");
    }
    state.upstreams.close();
    state.sessions.drain();
    // The ledger's writer is among the tasks: it has to be told first.
    state.stores.sqlite.close().await;
    lifecycle.tasks.close();
    if tokio::time::timeout(patience, lifecycle.tasks.wait()).await.is_err() {
        tracing::warn!("tasks were still running when the time to stop was over");
    }
    tracing::info!("stopped");
}

fn stores(store: Arc<SqliteStore>) -> Stores {
    Stores {
        apps: store.clone(),
        definitions: store.clone(),
        installs: store.clone(),
        upstreams: store.clone(),
        settings: store.clone(),
        data: store.clone(),
        calls: store.clone(),
        sqlite: store,
    }
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
    every(Duration::from_secs(60), |state| {
        Box::pin(async move {
            state.catalog.forget_idle();
            state.limiter.forget_idle();
            state.mcp.tidy(&state);
            state.upstreams.tidy(|user| state.mcp.changes.is_heard(user));
            state.metrics.run_upkeep();
        })
    });
    every(Duration::from_secs(3_600), |state| {
        Box::pin(async move {
            let now = state.clock.now();
            let ago = |seconds: i64| now.checked_sub(jiff::SignedDuration::from_secs(seconds)).unwrap_or(now);
            let calls = ago(i64::from(state.config.ledger.keep_days) * 24 * 60 * 60);
            let keys = ago(i64::try_from(state.config.calls.key_lifetime_s).unwrap_or(i64::MAX));
            if let Err(error) = state.stores.sqlite.prune(calls, keys).await {
                tracing::error!(%error, "old calls could not be removed");
            }
        })
    });
}

fn auth_mode(config: &Config) -> Result<AuthMode, StartError> {
    let at_home = config.server.listen.ip().is_loopback();
    // A public URL says that a proxy stands before us: then loopback is not home.
    let default = if at_home && config.server.public_url.is_none() { AuthMode::Dev } else { AuthMode::Token };
    let mode = config.auth.mode.unwrap_or(default);
    if mode == AuthMode::Dev {
        // Checked when the configuration is read, and again here: it may have been made in another way.
        if !at_home {
            let text =
                format!("auth.mode `dev` is only for a loopback address, not {}", config.server.listen);
            return Err(StartError::Config(text));
        }
        tracing::warn!(
            "auth is in dev mode: every caller on this machine is believed; set auth.mode = \"token\" to end it"
        );
    }
    Ok(mode)
}

fn root_keys(config: &Config, world: &World) -> Result<RootKeys, RootKeyError> {
    let auth = &config.auth;
    let current = match &auth.root_key {
        Some(text) => secrets::parse(text, "auth.root_key")?,
        None => RootKeys::in_file(&root_key_file(config), &*world.ids)?,
    };
    let old =
        auth.old_root_key.as_deref().map(|text| secrets::parse(text, "auth.old_root_key")).transpose()?;
    Ok(RootKeys::new(std::iter::once(current).chain(old).collect(), world.ids.clone()))
}

/// Where the root key is kept.
pub fn root_key_file(config: &Config) -> std::path::PathBuf {
    config.auth.root_key_file.clone().unwrap_or_else(|| config.store.path.with_file_name("root.key"))
}

/// Makes tokens as the server with this configuration would, without starting it.
pub fn tokens(config: &Config) -> Result<Tokens, StartError> {
    Ok(Tokens::new(&root_keys(config, &World::default())?)?)
}

fn guard(config: &Config, mode: AuthMode) -> Result<Guard, StartError> {
    let range =
        |text: &String| text.parse().map_err(|error| StartError::Config(format!("net.also_allow: {error}")));
    Ok(Guard::new(GuardPolicy {
        loopback: config.net.allow_loopback.unwrap_or(mode == AuthMode::Dev),
        private: config.net.allow_private,
        also: config.net.also_allow.iter().map(range).collect::<Result<_, _>>()?,
    }))
}

fn client_settings(config: &Config) -> ClientSettings {
    ClientSettings {
        connect_timeout: Duration::from_millis(config.net.connect_timeout_ms),
        idle_per_host: config.net.idle_per_app,
        ..ClientSettings::default()
    }
}

fn store_settings(config: &Config) -> StoreSettings {
    StoreSettings {
        path: config.store.path.clone(),
        readers: config.store.readers,
        batch_delay: Duration::from_millis(config.ledger.batch_delay_ms),
        batch_size: config.ledger.batch_size,
    }
}

fn call_limits(config: &CallsConfig) -> CallLimits {
    CallLimits {
        call_timeout: Duration::from_millis(config.timeout_ms),
        max_call_timeout: Duration::from_millis(config.max_timeout_ms),
        wake_timeout: Duration::from_millis(config.wake_timeout_ms),
        max_wake_timeout: Duration::from_millis(config.max_wake_timeout_ms),
        in_flight_node: config.in_flight,
        in_flight_app: config.in_flight_per_app,
        in_flight_user: config.in_flight_per_user,
        key_lifetime: Duration::from_secs(config.key_lifetime_s),
        key_outcome_bytes: config.key_outcome_bytes,
    }
}

fn rates(config: &RateConfig) -> Result<Rates, StartError> {
    let rate = |per_second, burst| match (NonZeroU32::new(per_second), NonZeroU32::new(burst)) {
        (Some(per_second), Some(burst)) => Ok(Rate { per_second, burst }),
        _ => Err(StartError::Config("rates: at least 1".to_owned())),
    };
    Ok(Rates {
        user: rate(config.user_per_s, config.user_burst)?,
        tool: rate(config.tool_per_s, config.tool_burst)?,
        all: rate(config.all_per_s, config.all_burst)?,
    })
}

fn upstream_settings(config: &UpstreamConfig) -> UpstreamSettings {
    UpstreamSettings {
        connect: Duration::from_millis(config.connect_timeout_ms),
        list: Duration::from_millis(config.list_timeout_ms),
        refresh: Duration::from_secs(config.refresh_s),
        idle: Duration::from_secs(config.idle_s),
        held: Duration::from_secs(config.held_s),
        max_held: config.max_held,
        max_connections: config.max_connections,
    }
}

/// Where users come back to. Authorization servers can read who we are only over https.
fn oauth_setup(config: &Config) -> OAuthSetup {
    let base = config.base_url();
    let client_metadata_url = base.starts_with("https:").then(|| format!("{base}/oauth/client.json"));
    OAuthSetup { redirect_uri: format!("{base}/oauth/callback"), client_metadata_url }
}

fn session_settings(config: &Config) -> SessionSettings {
    let sessions = &config.sessions;
    SessionSettings {
        app_socket_url: app_socket_url(config),
        reconnect_window: Duration::from_millis(sessions.reconnect_window_ms),
        idle_stop: Duration::from_secs(sessions.idle_stop_s),
        device_grace: Duration::from_secs(sessions.device_grace_s),
        session_idle: Duration::from_secs(sessions.session_idle_s),
        overlay: Duration::from_millis(sessions.overlay_ms),
        stream_queue: sessions.stream_queue,
        control_queue: sessions.control_queue,
        max_users: sessions.max_users,
        max_apps: sessions.max_apps,
        ..SessionSettings::default()
    }
}

/// `ws://…/app-ws` under the public URL, or under the address we listen on.
fn app_socket_url(config: &Config) -> String {
    let base = match &config.server.public_url {
        Some(url) => url.trim_end_matches('/').replacen("http", "ws", 1),
        None => format!("ws://{}", config.server.listen),
    };
    format!("{base}/app-ws")
}
