//! What handlers share.

use std::sync::Arc;

use metrics_exporter_prometheus::PrometheusHandle;
use toolyard_agent::shortlist::vectors::WordVectors;
use toolyard_core::{
    Catalog, Executor,
    long_results::LongResults,
    policy::LocalLimiter,
    ports::{Clock, IdGenerator, SecretSealer, Stores},
};
use toolyard_net::Guard;
use toolyard_platform::Platform;
use toolyard_sessions::Sessions;
use toolyard_sources::UpstreamSource;

use crate::{
    auth::{OidcVerifier, TokenSigner},
    change_feed::ChangeFeed,
    config::{AuthMode, Config},
    connections::ProcessState,
    console::ConsoleFiles,
    doors::chat::{ResumableStreams, TurnGate},
    doors::mcp::McpDoor,
    icons::IconCache,
    lifecycle::Lifecycle,
    models::ModelRegistry,
    plugins::PluginRuntime,
    speech::SpeechEngine,
    telemetry::CallMetrics,
    tickets::SocketTickets,
};

/// What handlers share. Cheap to clone.
pub type ServerState = Arc<SharedState>;

/// Who can send requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ServerExposure {
    /// Everyone who reaches the address.
    Network,
    /// Only the program that this platform runs in. It says for which user it asks.
    Embedded,
}

/// Everything that handlers need.
pub struct SharedState {
    /// The configuration as it was loaded.
    pub config: Config,
    /// How callers are believed.
    pub auth_mode: AuthMode,
    /// Who can send requests.
    pub(crate) exposure: ServerExposure,
    /// What must last.
    pub stores: Stores,
    /// Who sees what.
    pub catalog: Arc<Catalog>,
    /// The one way to run a tool.
    pub executor: Arc<Executor>,
    /// MCP servers in the world, live.
    pub upstreams: Arc<UpstreamSource>,
    /// Plugins: whom to believe, and what runs them.
    pub plugins: PluginRuntime,
    /// Who is live.
    pub sessions: Sessions,
    /// Words to sound, and sound to words.
    pub speech: SpeechEngine,
    /// Rate limits, to be tidied now and then.
    pub limiter: Arc<LocalLimiter>,
    /// Every change: the verbs' stores, clock, secrets and limits.
    pub platform: Arc<Platform>,
    /// Tokens of this server.
    pub tokens: Arc<TokenSigner>,
    /// Tokens of another issuer.
    pub oidc: Option<OidcVerifier>,
    /// The root key's work.
    pub secrets: Arc<dyn SecretSealer>,
    /// The time of day.
    pub clock: Arc<dyn Clock>,
    /// Unguessable numbers.
    pub ids: Arc<dyn IdGenerator>,
    /// Where apps and upstreams may be.
    pub guard: Guard,
    /// The MCP door's streams, questions and sessions.
    pub(crate) mcp: McpDoor,
    /// Changes of lists, for pages that show them.
    pub(crate) change_feed: ChangeFeed,
    /// One-use tickets with which browsers open sockets.
    pub(crate) tickets: SocketTickets,
    /// The web console.
    pub console: ConsoleFiles,
    /// Pictures of apps.
    pub(crate) icons: IconCache,
    /// Who answers in chats.
    pub models: Arc<ModelRegistry>,
    /// Results that are too long for a model.
    pub long_results: Arc<LongResults>,
    /// Word vectors, by which tools are chosen.
    pub vectors: Option<Arc<WordVectors>>,
    /// Answers of chats that can be heard again.
    pub(crate) replays: ResumableStreams,
    /// Answers of each user, at once and in a minute.
    pub(crate) turns: TurnGate,
    /// What bounds and watches the process.
    pub(crate) process: ProcessState,
    /// What a stop waits for.
    pub lifecycle: Lifecycle,
    /// The metrics page.
    pub metrics: PrometheusHandle,
    /// The metrics of calls.
    pub call_metrics: CallMetrics,
    /// The OpenAPI document, made once.
    pub openapi: bytes::Bytes,
}

impl SharedState {
    /// Whether `X-User-Id` alone says who asks.
    pub(crate) fn trusts_user_header(&self) -> bool {
        self.exposure == ServerExposure::Embedded || self.auth_mode == AuthMode::Dev
    }

    /// How this server is reached from outside, without a slash at its end.
    pub fn base_url(&self) -> String {
        self.config.base_url()
    }
}
