//! Everything durable, by port.

use std::sync::Arc;

use super::{
    Announcements, AppData, Apps, CallLog, Definitions, Devices, InstalledPlugins, Installs, IssuedTokens,
    Ledger, Maintenance, Offers, PluginData, PluginLists, Preferences, PublishedPlugins, Runs, Settings,
    UpstreamTokens, Upstreams, UsageLog,
};

/// Everything durable, by port. Made by the store, passed as a whole, cheap to clone.
#[derive(Clone)]
pub struct Stores {
    /// Apps.
    pub apps: Arc<dyn Apps>,
    /// Their tools, in versions.
    pub definitions: Arc<dyn Definitions>,
    /// Which user installed which app.
    pub installs: Arc<dyn Installs>,
    /// Tools that users switched off.
    pub settings: Arc<dyn Settings>,
    /// Settings of users that belong to no app.
    pub preferences: Arc<dyn Preferences>,
    /// Users' last devices.
    pub devices: Arc<dyn Devices>,
    /// What apps store for users, and users' values of the apps' settings.
    pub app_data: Arc<dyn AppData>,
    /// Sessions of apps that outlive a restart.
    pub runs: Arc<dyn Runs>,
    /// Upstream MCP servers.
    pub upstreams: Arc<dyn Upstreams>,
    /// What they offered last.
    pub offers: Arc<dyn Offers>,
    /// Users' authorizations of upstreams.
    pub upstream_tokens: Arc<dyn UpstreamTokens>,
    /// Users' plugins.
    pub plugins: Arc<dyn InstalledPlugins>,
    /// What plugins store for users.
    pub plugin_data: Arc<dyn PluginData>,
    /// Lists of trusted keys and revoked plugins.
    pub plugin_lists: Arc<dyn PluginLists>,
    /// The catalogue of plugins.
    pub published_plugins: Arc<dyn PublishedPlugins>,
    /// Idempotency keys and records of calls, to write.
    pub ledger: Arc<dyn Ledger>,
    /// Records of calls, to read one by one.
    pub calls: Arc<dyn CallLog>,
    /// Records of calls, to read in total.
    pub usage: Arc<dyn UsageLog>,
    /// Tokens that were issued.
    pub tokens: Arc<dyn IssuedTokens>,
    /// Announcements of what changed in all of these.
    pub announcements: Arc<dyn Announcements>,
    /// The store as a whole.
    pub maintenance: Arc<dyn Maintenance>,
}
