//! The configuration: `toolyard.toml`, environment variables and flags, each overriding the one before.
//!
//! One struct for each section, with its defaults. [`load_config`] reads and checks them. The schema is under `contract/`.

mod approvals;
mod audit;
mod chat;
mod cluster;
mod definitions;
mod load;
mod oauth;
mod plugins;
mod quotas;
mod redaction;
mod sections;
mod sign_in;
mod speech;
mod store;

pub use approvals::{ApprovalWebhookConfig, ApprovalsConfig};
pub use audit::AuditConfig;
pub(crate) use chat::CallingSchema;
pub use chat::{
    BuiltinConfig, CallingMode, ChatConfig, ModelConfig, ModelSearchConfig, RootConfig, SearchConfig,
    SearchProvider,
};
pub use cluster::ClusterConfig;
pub use definitions::DefinitionsConfig;
pub use load::{ConfigLoadError, ConfigSources, load_config};
pub use oauth::{OAuthClientConfig, OAuthConfig};
pub use plugins::{AllowUnsigned, PluginsConfig};
pub use quotas::QuotaConfig;
pub use redaction::{RedactionConfig, RedactionMode, RestSecrets};
pub use sections::{
    AppsConfig, AuthConfig, AuthMode, CallsConfig, LedgerConfig, LogConfig, LogFormat, McpConfig, NetConfig,
    OidcConfig, PolicyConfig, RateConfig, ServerConfig, SessionsConfig, TelemetryConfig, UpstreamConfig,
    ViewsConfig,
};
pub use sign_in::{IssuerConfig, SignInConfig};
pub use speech::{SoundFormat, SpeakBy, SpeechConfig};
pub use store::StoreConfig;

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use toolyard_core::catalog::ViewLimits;
use toolyard_protocol::upstream::UpstreamDetails;

/// All settings.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    /// Where the server listens, and who may send requests to it.
    pub server: ServerConfig,
    /// Authentication.
    pub auth: AuthConfig,
    /// How people sign in in a browser.
    pub sign_in: SignInConfig,
    /// Clients that users connect with one click: the authorization server.
    pub oauth: OAuthConfig,
    /// The database.
    pub store: StoreConfig,
    /// Several nodes as one server.
    pub cluster: ClusterConfig,
    /// Limits of calls.
    pub calls: CallsConfig,
    /// Rate limits.
    pub rates: RateConfig,
    /// Apps that developers register.
    pub apps: AppsConfig,
    /// How much one person may store.
    pub quotas: QuotaConfig,
    /// Tools that are denied to all users.
    pub policy: PolicyConfig,
    /// Which calls are asked about before they run.
    pub approvals: ApprovalsConfig,
    /// Secrets in the results of tools.
    pub redaction: RedactionConfig,
    /// What happens if the definition of a tool changes.
    pub definitions: DefinitionsConfig,
    /// Devices and running apps.
    pub sessions: SessionsConfig,
    /// Outgoing requests.
    pub net: NetConfig,
    /// The MCP door.
    pub mcp: McpConfig,
    /// Limits of one user's view.
    pub views: ViewsConfig,
    /// Upstream MCP servers by id: `[upstreams.github]`.
    pub upstreams: BTreeMap<String, UpstreamDetails>,
    /// Limits of upstreams.
    pub upstream_settings: UpstreamConfig,
    /// The chat door.
    pub chat: ChatConfig,
    /// Endpoints and files of models, by name: `[models.local]`.
    pub models: BTreeMap<String, ModelConfig>,
    /// Discovery of models.
    pub model_search: ModelSearchConfig,
    /// The built-in tools.
    pub builtin: BuiltinConfig,
    /// Plugins of users, and signing them as a curator.
    pub plugins: PluginsConfig,
    /// Text to speech, and transcription of the audio of devices.
    pub speech: SpeechConfig,
    /// How long records of calls are kept.
    pub ledger: LedgerConfig,
    /// The record of administrative actions.
    pub audit: AuditConfig,
    /// Logging.
    pub log: LogConfig,
    /// Traces.
    pub telemetry: TelemetryConfig,
}

impl Config {
    /// The URL under which clients reach the server, without a trailing slash.
    pub fn base_url(&self) -> String {
        match &self.server.public_url {
            Some(url) => url.trim_end_matches('/').to_owned(),
            None => format!("http://{}", self.server.listen),
        }
    }

    /// The limits of one user's view.
    pub fn view_limits(&self) -> ViewLimits {
        ViewLimits { page_size: self.mcp.page_size, tools: self.views.max_tools, bytes: self.views.max_bytes }
    }
}

/// The JSON Schema of the configuration, as committed under `contract/`.
pub fn config_schema() -> serde_json::Value {
    schemars::schema_for!(Config).to_value()
}
