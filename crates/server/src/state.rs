//! The state that all handlers share.

use std::{ops::Deref, sync::Arc};

use axum::extract::FromRef;
use metrics_exporter_prometheus::PrometheusHandle;
use toolyard_core::{
    Catalog, Executor, LiveValue,
    approvals::ApprovalGate,
    policy::LocalLimiter,
    ports::{Clock, IdGenerator, SecretSealer, Stores},
};
use toolyard_net::Guard;
use toolyard_platform::Platform;
use toolyard_protocol::UserId;
use toolyard_sessions::Sessions;
use toolyard_sources::UpstreamSource;

use crate::{
    auth::{OidcVerifier, ScrapeToken, SessionCookies, TokenSigner},
    change_feed::ChangeFeed,
    cluster::{ClusterNode, MarkedPaths},
    config::{AuthMode, Config},
    connections::ProcessState,
    console::ConsoleFiles,
    doors::chat::ChatState,
    doors::mcp::McpDoor,
    doors::oauth::OAuthDoor,
    doors::sign_in::SignInIssuers,
    icons::IconCache,
    lifecycle::Lifecycle,
    models::ModelRegistry,
    plugins::PluginRuntime,
    reload::{ConfigReloader, LiveParts},
    speech::SpeechEngine,
    telemetry::CallMetrics,
    web_push::WebPush,
};

/// The state that all handlers share. Cheap to clone.
#[derive(Clone)]
pub struct ServerState(pub(crate) Arc<SharedState>);

impl Deref for ServerState {
    type Target = SharedState;

    fn deref(&self) -> &SharedState {
        &self.0
    }
}

/// Who can send requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ServerExposure {
    /// Everyone who can reach the address.
    Network,
    /// Only the program that embeds the server. It names the user of each request.
    Embedded,
}

/// Everything that handlers need.
pub struct SharedState {
    /// The configuration in force: as it was at the start, with what was reloaded since.
    pub config: LiveValue<Config>,
    /// How callers authenticate.
    pub auth_mode: AuthMode,
    /// Who can send requests.
    pub(crate) exposure: ServerExposure,
    /// Everything durable.
    pub stores: Stores,
    /// All tools, and who can see them.
    pub catalog: Arc<Catalog>,
    /// The one way to run a tool.
    pub executor: Arc<Executor>,
    /// Decides which calls are asked about first.
    pub approvals: Arc<ApprovalGate>,
    /// Connected upstreams.
    pub upstreams: Arc<UpstreamSource>,
    /// Plugin trust, and the source that runs plugins.
    pub plugins: PluginRuntime,
    /// Live users with their devices and apps.
    pub sessions: Sessions,
    /// Text to speech and speech to text.
    pub speech: SpeechEngine,
    /// Rate limits of calls.
    pub limiter: Arc<LocalLimiter>,
    /// What every change goes through: the verbs with their stores, clock, secrets and limits.
    pub platform: Arc<Platform>,
    /// Issues and verifies tokens of this server.
    pub tokens: Arc<TokenSigner>,
    /// Verifies tokens of the identity provider.
    pub oidc: Option<OidcVerifier>,
    /// Seals, opens and derives secrets with the root key.
    pub secrets: Arc<dyn SecretSealer>,
    /// The time of day.
    pub clock: Arc<dyn Clock>,
    /// Unguessable numbers.
    pub ids: Arc<dyn IdGenerator>,
    /// Decides which addresses apps and upstreams may have.
    pub guard: Guard,
    /// The MCP door's streams, questions and sessions.
    pub(crate) mcp: McpDoor,
    /// Notifies web pages about changed lists.
    pub(crate) change_feed: ChangeFeed,
    /// The web console.
    pub console: ConsoleFiles,
    /// The authorization server. None if the operator switched it off.
    pub(crate) oauth: Option<OAuthDoor>,
    /// The cookies of browser sessions.
    pub(crate) cookies: SessionCookies,
    /// The identity providers at which people sign in.
    pub(crate) issuers: SignInIssuers,
    /// Notifies users' browsers. None if the operator switched it off.
    pub(crate) web_push: Option<WebPush>,
    /// Icons of apps.
    pub(crate) icons: IconCache,
    /// What only chats need: models, long results, turns, resumable streams.
    pub(crate) chat: Arc<ChatState>,
    /// Limits and health of the process.
    pub(crate) process: ProcessState,
    /// This node in its cluster. None if it is alone.
    pub(crate) cluster: Option<ClusterNode>,
    /// Tasks and signals for a graceful stop.
    pub lifecycle: Lifecycle,
    /// The metrics page.
    pub metrics: PrometheusHandle,
    /// The metrics of calls.
    pub call_metrics: CallMetrics,
    /// With which a monitoring system reads metrics.
    pub(crate) scrape_token: Option<ScrapeToken>,
    /// Parts whose settings can be reloaded.
    pub(crate) live: LiveParts,
    /// Reads the configuration again. None if this server has no file to read.
    pub(crate) reloader: Option<ConfigReloader>,
    /// The OpenAPI document, serialized once.
    pub openapi: bytes::Bytes,
}

/// Lets a handler take the part it needs, `State<Arc<Platform>>`, instead of everything.
macro_rules! parts {
    ($($field:ident: $part:ty,)*) => {$(
        impl FromRef<ServerState> for $part {
            fn from_ref(state: &ServerState) -> Self {
                state.$field.clone()
            }
        }
    )*};
}

parts! {
    platform: Arc<Platform>,
    stores: Stores,
    sessions: Sessions,
    catalog: Arc<Catalog>,
    executor: Arc<Executor>,
    approvals: Arc<ApprovalGate>,
    upstreams: Arc<UpstreamSource>,
    chat: Arc<ChatState>,
    clock: Arc<dyn Clock>,
    lifecycle: Lifecycle,
}

impl FromRef<ServerState> for Arc<ModelRegistry> {
    fn from_ref(state: &ServerState) -> Self {
        state.chat.models.clone()
    }
}

impl SharedState {
    /// Whether `X-User-Id` alone identifies the caller.
    pub(crate) fn trusts_user_header(&self) -> bool {
        self.exposure == ServerExposure::Embedded || self.auth_mode == AuthMode::Dev
    }

    /// Whether this node does the work that one node does for all.
    pub(crate) async fn holds_lease(&self, name: &str) -> bool {
        let Some(store) = self.stores.cluster.as_ref().filter(|_| self.cluster.is_some()) else {
            return true;
        };
        match store.hold_lease(name).await {
            Ok(held) => held,
            Err(error) => {
                tracing::error!(%error, lease = name, "lease not read");
                false
            }
        }
    }

    /// The paths that are marked with their user.
    pub(crate) fn marked_paths(&self) -> MarkedPaths {
        self.cluster.as_ref().map(ClusterNode::marked_paths).unwrap_or_default()
    }

    /// Whether this node does what is done once for a user. In a cluster that is the user's home.
    pub(crate) async fn acts_for(&self, user: &UserId) -> bool {
        let Some(cluster) = &self.cluster else { return true };
        match cluster.claims(user).await {
            Ok(acts) => acts,
            Err(error) => {
                tracing::error!(%error, %user, "home of a user not found");
                false
            }
        }
    }

    /// The URL under which clients reach this server, without a trailing slash.
    pub fn base_url(&self) -> String {
        self.config.load().base_url()
    }
}
