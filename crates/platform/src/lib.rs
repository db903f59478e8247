//! The application layer: everything that changes the platform, one verb per file.
//!
//! Each verb has the same shape: it takes an [`Actor`], checks the request, writes the change, and announces it. It
//! fails with a typed [`PlatformError`]. Doors parse a request, call a verb and write the response; they contain no
//! rules. Live components (connections, sessions, caches) subscribe to the announcements; no verb calls them.
//!
//! | to change | look in |
//! | --- | --- |
//! | an app, its tools, its keys | [`apps`] |
//! | what a user has installed, granted or switched off | [`installs`] |
//! | a user's settings, and what apps store for users | [`settings`] |
//! | tokens of this server | [`tokens`] |
//! | upstream MCP servers | [`upstreams`] |
//! | plugins of users, and what curators sign and revoke | [`plugins`] |
//!
//! Nothing here knows HTTP, SQL or sockets.

mod actor;
pub mod apps;
mod error;
pub mod installs;
pub mod plugins;
mod rate_limits;
pub mod settings;
pub mod tokens;
pub mod upstreams;

use std::sync::Arc;

use toolyard_core::{
    Catalog,
    ports::{Clock, IdGenerator, SecretSealer, Stores, TokenQuota},
};
use toolyard_net::{Guard, HttpClient};
use toolyard_protocol::app::AppKind;

pub use self::{
    actor::{Actor, ActorOfUser, Credential, NoUserNamed},
    error::{NeededAgreement, PlatformError},
    rate_limits::RequestLimits,
};

/// Limits and defaults that the operator sets.
#[derive(Debug, Clone)]
pub struct PlatformConfig {
    /// The default kind of an app.
    pub default_app_kind: AppKind,
    /// The longest call timeout that an app or an upstream may request, in milliseconds.
    pub max_call_timeout_ms: u64,
    /// The longest wake timeout that an app may request, in milliseconds.
    pub max_wake_timeout_ms: u64,
    /// How many tokens there may be.
    pub token_quota: TokenQuota,
    /// Whether operators may add upstreams that run a program on this machine.
    pub allow_commands: bool,
}

/// The dependencies of the verbs.
pub struct Platform {
    /// Everything durable.
    pub stores: Stores,
    /// The catalog of tools.
    pub catalog: Arc<Catalog>,
    /// The wall clock.
    pub clock: Arc<dyn Clock>,
    /// Generates ids.
    pub ids: Arc<dyn IdGenerator>,
    /// Seals secrets before they are stored.
    pub secrets: Arc<dyn SecretSealer>,
    /// Signs and verifies tokens.
    pub tokens: Arc<tokens::TokenSigner>,
    /// Which URLs apps and upstreams may have.
    pub guard: Guard,
    /// Which URLs may be used for pages, images and plugin requests.
    pub web_guard: Guard,
    /// Sends requests to apps.
    pub http: HttpClient,
    /// Plugin trust and execution.
    pub plugins: plugins::PluginContext,
    /// Rate limits of changes.
    pub limits: RequestLimits,
    /// Limits and defaults.
    pub config: PlatformConfig,
}
