//! The application layer: everything that changes the platform, one verb a file.
//!
//! Each verb has the same shape: an [`Actor`] comes in, the request is checked, the change is written, and it is announced. A
//! typed [`PlatformError`] goes out. Doors read a request, call a verb and write the response; they hold no rule. Live parts
//! (connections, sessions, caches) subscribe to the announcements; no verb calls them.
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

/// Bounds and defaults that the operator sets.
#[derive(Debug, Clone)]
pub struct PlatformConfig {
    /// The kind of an app that does not say its kind.
    pub default_app_kind: AppKind,
    /// The longest timeout of a call that an app or an upstream may ask for, in milliseconds.
    pub max_call_timeout_ms: u64,
    /// The longest time to start that an app may ask for, in milliseconds.
    pub max_wake_timeout_ms: u64,
    /// How many tokens there may be.
    pub token_quota: TokenQuota,
    /// Whether operators may add upstreams that run a program on this machine.
    pub allow_commands: bool,
}

/// What the verbs work with.
pub struct Platform {
    /// Everything durable.
    pub stores: Stores,
    /// What each user can see.
    pub catalog: Arc<Catalog>,
    /// The time of day.
    pub clock: Arc<dyn Clock>,
    /// Unguessable numbers.
    pub ids: Arc<dyn IdGenerator>,
    /// Seals what is stored and must not be read.
    pub secrets: Arc<dyn SecretSealer>,
    /// Signs and verifies tokens.
    pub tokens: Arc<tokens::TokenSigner>,
    /// Where apps and upstreams may be.
    pub guard: Guard,
    /// Where pages, pictures and what plugins fetch may be.
    pub web_guard: Guard,
    /// Sends requests to apps.
    pub http: HttpClient,
    /// Trust in plugins, and what runs them.
    pub plugins: plugins::PluginContext,
    /// How often callers may change something.
    pub limits: RequestLimits,
    /// Bounds and defaults.
    pub config: PlatformConfig,
}
