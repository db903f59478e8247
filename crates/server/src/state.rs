//! What handlers share.

use std::sync::Arc;

use metrics_exporter_prometheus::PrometheusHandle;
use toolyard_agent::shortlist::vectors::WordVectors;
use toolyard_core::{
    Catalog, Executor,
    kept::KeptResults,
    policy::LocalLimiter,
    ports::{Clock, Ids, Secrets, Stores},
};
use toolyard_net::Guard;
use toolyard_platform::Platform;
use toolyard_sessions::Sessions;
use toolyard_sources::UpstreamSource;

use crate::{
    auth::{Oidc, TokenSigner},
    change_feed::ChangeFeed,
    config::{AuthMode, Config},
    connections::ProcessState,
    console::ConsoleFiles,
    doors::chat::{Replays, TurnGate},
    doors::mcp::McpDoor,
    icons::Icons,
    lifecycle::Lifecycle,
    models::ModelBook,
    plugins::PluginDesk,
    speech::Speech,
    telemetry::CallMetrics,
    tickets::Tickets,
};

/// What handlers share. Cheap to clone.
pub type AppState = Arc<Shared>;

/// Who can send requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Exposure {
    /// Everyone who reaches the address.
    Network,
    /// Only the program that this platform runs in. It says for which user it asks.
    Embedded,
}

/// Everything that handlers need.
pub struct Shared {
    /// The configuration as it was loaded.
    pub config: Config,
    /// How callers are believed.
    pub auth_mode: AuthMode,
    /// Who can send requests.
    pub(crate) exposure: Exposure,
    /// What must last.
    pub stores: Stores,
    /// Who sees what.
    pub catalog: Arc<Catalog>,
    /// The one way to run a tool.
    pub executor: Arc<Executor>,
    /// MCP servers in the world, live.
    pub upstreams: Arc<UpstreamSource>,
    /// Plugins: whom to believe, and what runs them.
    pub plugins: PluginDesk,
    /// Who is live.
    pub sessions: Sessions,
    /// Words to sound, and sound to words.
    pub speech: Speech,
    /// Rate limits, to be tidied now and then.
    pub limiter: Arc<LocalLimiter>,
    /// Every change: the verbs' stores, clock, secrets and limits.
    pub platform: Arc<Platform>,
    /// Tokens of this server.
    pub tokens: Arc<TokenSigner>,
    /// Tokens of another issuer.
    pub oidc: Option<Oidc>,
    /// The root key's work.
    pub secrets: Arc<dyn Secrets>,
    /// The time of day.
    pub clock: Arc<dyn Clock>,
    /// Unguessable numbers.
    pub ids: Arc<dyn Ids>,
    /// Where apps and upstreams may be.
    pub guard: Guard,
    /// The MCP door's streams, questions and sessions.
    pub(crate) mcp: McpDoor,
    /// Changes of lists, for pages that show them.
    pub(crate) change_feed: ChangeFeed,
    /// One-use tickets with which browsers open sockets.
    pub(crate) tickets: Tickets,
    /// The web console.
    pub console: ConsoleFiles,
    /// Pictures of apps.
    pub(crate) icons: Icons,
    /// Who answers in chats.
    pub models: Arc<ModelBook>,
    /// Results that are too long for a model.
    pub kept: Arc<KeptResults>,
    /// Word vectors, by which tools are chosen.
    pub vectors: Option<Arc<WordVectors>>,
    /// Answers of chats that can be heard again.
    pub(crate) replays: Replays,
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

impl Shared {
    /// Whether `X-User-Id` alone says who asks.
    pub(crate) fn trusts_user_header(&self) -> bool {
        self.exposure == Exposure::Embedded || self.auth_mode == AuthMode::Dev
    }

    /// How this server is reached from outside, without a slash at its end.
    pub fn base_url(&self) -> String {
        self.config.base_url()
    }
}
