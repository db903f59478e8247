//! The application layer: everything that changes the platform, one verb per file.
//!
//! Each verb has the same shape: it takes an [`Actor`], checks the request, writes the change, announces it, and records it in
//! the audit log if it matters to an auditor. It fails with a typed [`PlatformError`]. Doors parse a request, call a verb and write the response; they contain no
//! rules. Live components (connections, sessions, caches) subscribe to the announcements; no verb calls them. The one
//! exception are verbs whose change is live and not stored: they use the port
//! [`SessionControl`].
//!
//! | to change | look in |
//! | --- | --- |
//! | an app, its tools, its keys | [`apps`] |
//! | what a user has installed, granted or switched off | [`installs`] |
//! | a user's settings, and what apps store for users | [`settings`] |
//! | accounts, how people sign in, and where they are signed in | [`accounts`] |
//! | tokens of this server | [`tokens`] |
//! | clients that users connect, and what they were granted | [`clients`] |
//! | upstream MCP servers | [`upstreams`] |
//! | which definitions are accepted | [`definitions`] |
//! | approvals, and what runs without a question | [`approvals`] |
//! | the browsers in which users are notified | [`push`] |
//! | plugins of users, and what curators sign and revoke | [`plugins`] |
//! | how formats of the first generation are converted | [`legacy`] |
//! | a user's session, its running apps, and tickets for sockets | [`users`] |
//! | which user a device belongs to | [`devices`] |
//! | state that browsers and links carry | [`sealed_state`] |
//! | what is recorded in the audit log, and how | [`audit`] |
//!
//! Nothing here knows HTTP, SQL or sockets.

pub mod accounts;
mod actor;
pub mod approvals;
pub mod apps;
pub mod audit;
pub mod clients;
pub mod definitions;
pub mod devices;
mod error;
pub mod installs;
mod lease;
pub mod legacy;
pub mod plugins;
pub mod push;
mod rate_limits;
pub mod sealed_state;
pub mod settings;
pub mod tokens;
pub mod upstreams;
pub mod users;

use std::sync::Arc;

use toolyard_core::{
    Catalog, LiveValue,
    approvals::ApprovalGate,
    ports::{Clock, IdGenerator, SecretSealer, SessionControl, Stores, TokenQuota},
};
use toolyard_net::{Guard, HttpClient};
use toolyard_protocol::{PackageName, app::AppKind};

pub use self::{
    actor::{Actor, ActorOfUser, Credential, NoUserNamed},
    error::{NeededAgreement, PlatformError},
    lease::CredentialLease,
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
    /// How people sign in.
    pub accounts: accounts::AccountSettings,
    /// Limits and lifetimes of connected clients.
    pub clients: clients::ClientSettings,
    /// Apps that may answer approvals, because they ask the user in person.
    pub approval_apps: Vec<PackageName>,
}

/// The dependencies of the verbs.
pub struct Platform {
    /// Everything durable.
    pub stores: Stores,
    /// The catalog of tools.
    pub catalog: Arc<Catalog>,
    /// Decides which calls are asked about.
    pub approvals: Arc<ApprovalGate>,
    /// Compares definitions with what was accepted.
    pub definitions: Arc<definitions::DefinitionReviewer>,
    /// The wall clock.
    pub clock: Arc<dyn Clock>,
    /// Generates ids.
    pub ids: Arc<dyn IdGenerator>,
    /// Seals secrets before they are stored.
    pub secrets: Arc<dyn SecretSealer>,
    /// What sign-ins need to remember.
    pub accounts: accounts::AccountState,
    /// Writes the audit log.
    pub audit_log: audit::AuditWriter,
    /// Signs and verifies tokens.
    pub tokens: Arc<tokens::TokenSigner>,
    /// Opens and ends sessions.
    pub sessions: Arc<dyn SessionControl>,
    /// Tickets for sockets.
    pub tickets: users::SocketTickets,
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
    pub config: LiveValue<PlatformConfig>,
}
