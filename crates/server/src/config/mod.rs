//! The configuration: `toolyard.toml`, environment, flags, in rising strength.
//!
//! One struct a section, each with its defaults. [`load_config`](load::load) reads and checks them; everything below it sees
//! ready parts, never a raw flag. The schema is under `contract/`.

mod chat;
mod load;
mod plugins;
mod quotas;
mod sections;
mod speech;

pub(crate) use chat::CallingSchema;
pub use chat::{
    BuiltinConfig, CallingMode, ChatConfig, ModelConfig, ModelSearchConfig, RootConfig, SearchConfig,
    SearchProvider,
};
pub use load::{ConfigLoadError, ConfigSources, load_config};
pub use plugins::{AllowUnsigned, PluginsConfig};
pub use quotas::QuotaConfig;
pub use sections::{
    AppsConfig, AuthConfig, AuthMode, CallsConfig, LedgerConfig, LogConfig, LogFormat, McpConfig, NetConfig,
    OidcConfig, PolicyConfig, RateConfig, ServerConfig, SessionsConfig, StoreConfig, TelemetryConfig,
    UpstreamConfig, ViewsConfig,
};
pub use speech::{SoundFormat, SpeakBy, SpeechConfig};

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use toolyard_core::catalog::ViewLimits;
use toolyard_protocol::upstream::UpstreamDetails;

/// Everything that can be set.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    /// Where the server listens and who may talk to it.
    pub server: ServerConfig,
    /// Who is who.
    pub auth: AuthConfig,
    /// Where things are stored.
    pub store: StoreConfig,
    /// Bounds of calls.
    pub calls: CallsConfig,
    /// Rate limits.
    pub rates: RateConfig,
    /// Apps that developers register.
    pub apps: AppsConfig,
    /// How much one person may store.
    pub quotas: QuotaConfig,
    /// What nobody may call.
    pub policy: PolicyConfig,
    /// Devices and running apps.
    pub sessions: SessionsConfig,
    /// Requests that leave.
    pub net: NetConfig,
    /// The MCP door.
    pub mcp: McpConfig,
    /// What one user can have at once.
    pub views: ViewsConfig,
    /// MCP servers in the world, by id: `[upstreams.github]`.
    pub upstreams: BTreeMap<String, UpstreamDetails>,
    /// Bounds of upstreams.
    pub upstream_settings: UpstreamConfig,
    /// The chat door.
    pub chat: ChatConfig,
    /// Places with models, by name: `[models.local]`.
    pub models: BTreeMap<String, ModelConfig>,
    /// Looking for models.
    pub model_search: ModelSearchConfig,
    /// The tools of the server itself.
    pub builtin: BuiltinConfig,
    /// Plugins of users, and the curator's service.
    pub plugins: PluginsConfig,
    /// Speech: words to sound, and the sound of devices to words.
    pub speech: SpeechConfig,
    /// How long calls are remembered.
    pub ledger: LedgerConfig,
    /// What is logged.
    pub log: LogConfig,
    /// Where traces go.
    pub telemetry: TelemetryConfig,
}

impl Config {
    /// How the server is reached from outside, without a slash at its end.
    pub fn base_url(&self) -> String {
        match &self.server.public_url {
            Some(url) => url.trim_end_matches('/').to_owned(),
            None => format!("http://{}", self.server.listen),
        }
    }

    /// Bounds of what one user can have at once.
    pub fn view_limits(&self) -> ViewLimits {
        ViewLimits { page_size: self.mcp.page_size, tools: self.views.max_tools, bytes: self.views.max_bytes }
    }
}

/// The JSON Schema of the configuration, as committed under `contract/`.
pub fn config_schema() -> serde_json::Value {
    schemars::schema_for!(Config).to_value()
}
