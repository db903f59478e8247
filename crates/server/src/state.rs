//! What handlers share.

use std::sync::Arc;

use metrics_exporter_prometheus::PrometheusHandle;
use toolyard_agent::shortlist::vectors::WordVectors;
use toolyard_core::{
    Catalog, Executor,
    kept::KeptResults,
    policy::LocalLimiter,
    ports::{
        AppData, Apps, CallLog, Clock, Definitions, Ids, InstalledPlugins, Installs, IssuedTokens,
        Preferences, PublishedPlugins, Secrets, Settings, Signals, Upstreams, UsageLog,
    },
};
use toolyard_net::{Guard, HttpClient};
use toolyard_sessions::Sessions;
use toolyard_sources::UpstreamSource;
use toolyard_store::SqliteStore;

use crate::{
    auth::{self, Oidc},
    change_feed::ChangeFeed,
    chat::{Replays, TurnGate},
    config::{AuthMode, Config},
    connections::ProcessState,
    console::ConsoleFiles,
    icons::Icons,
    lifecycle::Lifecycle,
    management::ManagementLimits,
    mcp::McpDoor,
    models::ModelBook,
    plugins::PluginDesk,
    speech::Speech,
    telemetry::CallMetrics,
    tickets::Tickets,
};

/// What must last, by port. One value implements them all.
pub struct Stores {
    /// Apps.
    pub apps: Arc<dyn Apps>,
    /// Their tools.
    pub definitions: Arc<dyn Definitions>,
    /// Who installed what.
    pub installs: Arc<dyn Installs>,
    /// MCP servers in the world.
    pub upstreams: Arc<dyn Upstreams>,
    /// Users' plugins.
    pub plugins: Arc<dyn InstalledPlugins>,
    /// The catalogue of plugins.
    pub published: Arc<dyn PublishedPlugins>,
    /// What users switched off.
    pub settings: Arc<dyn Settings>,
    /// Settings of users that belong to no app.
    pub preferences: Arc<dyn Preferences>,
    /// What apps keep for users.
    pub data: Arc<dyn AppData>,
    /// The ledger, to read.
    pub calls: Arc<dyn CallLog>,
    /// The ledger as a whole.
    pub usage: Arc<dyn UsageLog>,
    /// Tokens that were made.
    pub tokens: Arc<dyn IssuedTokens>,
    /// The store itself, for what is not a port: health, pruning, closing.
    pub sqlite: Arc<SqliteStore>,
}

/// What handlers share. Cheap to clone.
pub type AppState = Arc<Shared>;

/// Everything that handlers need.
pub struct Shared {
    /// The configuration as it was loaded.
    pub config: Config,
    /// How callers are believed.
    pub auth_mode: AuthMode,
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
    /// The news that something changed.
    pub signals: Arc<dyn Signals>,
    /// Rate limits, to be tidied now and then.
    pub limiter: Arc<LocalLimiter>,
    /// Rate limits of requests that manage something.
    pub(crate) management: ManagementLimits,
    /// Tokens of this server.
    pub tokens: auth::Tokens,
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
    /// Sends requests to them.
    pub(crate) http: HttpClient,
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
    /// Whether operators may add commands over REST.
    pub fn allows_commands(&self) -> bool {
        self.config.upstream_settings.allow_commands.unwrap_or(self.auth_mode == AuthMode::Dev)
    }

    /// How this server is reached from outside, without a slash at its end.
    pub fn base_url(&self) -> String {
        self.config.base_url()
    }
}
