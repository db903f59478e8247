//! Everything durable, by port.

use std::sync::Arc;

use super::{
    AccountStore, Announcements, AppDataStore, AppRunStore, AppStore, ApprovalRuleStore, ApprovalStore,
    AuditStore, BrowserSessionStore, CallLog, ClusterStore, DefinitionStore, DeviceLoginStore, DeviceStore,
    InstallStore, InstalledPluginStore, IssuedTokenStore, LabelStore, Ledger, OAuthStore, OfferStore,
    PersonalDataStore, PinStore, PluginDataStore, PluginListStore, PreferenceStore, PublishedPluginStore,
    PushSubscriptionStore, QuarantineStore, SignInStore, StoreMaintenance, ToolSwitchStore, UpstreamStore,
    UpstreamTokenStore, UsageLog,
};

/// Everything durable, by port. Created by the store, passed as a whole, cheap to clone.
#[derive(Clone)]
pub struct Stores {
    /// Apps.
    pub apps: Arc<dyn AppStore>,
    /// Tool definitions, in versions.
    pub definitions: Arc<dyn DefinitionStore>,
    /// Which user installed which app.
    pub installs: Arc<dyn InstallStore>,
    /// Tools that users switched off.
    pub settings: Arc<dyn ToolSwitchStore>,
    /// User settings that do not belong to an app.
    pub preferences: Arc<dyn PreferenceStore>,
    /// Users' last devices.
    pub devices: Arc<dyn DeviceStore>,
    /// What apps store for users, and users' app settings.
    pub app_data: Arc<dyn AppDataStore>,
    /// App sessions that outlive a restart.
    pub runs: Arc<dyn AppRunStore>,
    /// Upstream MCP servers.
    pub upstreams: Arc<dyn UpstreamStore>,
    /// The last offers of upstreams.
    pub offers: Arc<dyn OfferStore>,
    /// Users' authorizations of upstreams.
    pub upstream_tokens: Arc<dyn UpstreamTokenStore>,
    /// Users' plugins.
    pub plugins: Arc<dyn InstalledPluginStore>,
    /// What plugins store for users.
    pub plugin_data: Arc<dyn PluginDataStore>,
    /// Lists of trusted keys and revoked plugins.
    pub plugin_lists: Arc<dyn PluginListStore>,
    /// The catalogue of plugins.
    pub published_plugins: Arc<dyn PublishedPluginStore>,
    /// Idempotency keys and call records, to write.
    pub ledger: Arc<dyn Ledger>,
    /// Call records, to read one by one.
    pub calls: Arc<dyn CallLog>,
    /// Call records, to aggregate.
    pub usage: Arc<dyn UsageLog>,
    /// Approvals of calls.
    pub approvals: Arc<dyn ApprovalStore>,
    /// What users and the operator decided about future calls.
    pub approval_rules: Arc<dyn ApprovalRuleStore>,
    /// What conversations have read.
    pub labels: Arc<dyn LabelStore>,
    /// Accepted definitions.
    pub pins: Arc<dyn PinStore>,
    /// Changed definitions that wait for an answer.
    pub quarantine: Arc<dyn QuarantineStore>,
    /// Browsers that users want to be notified in.
    pub push_subscriptions: Arc<dyn PushSubscriptionStore>,
    /// Clients that connect by OAuth, and what users granted them.
    pub oauth: Arc<dyn OAuthStore>,
    /// Accounts of users.
    pub accounts: Arc<dyn AccountStore>,
    /// How users sign in.
    pub sign_in: Arc<dyn SignInStore>,
    /// In which browsers users are signed in.
    pub browser_sessions: Arc<dyn BrowserSessionStore>,
    /// Programs that wait for a person to agree.
    pub device_logins: Arc<dyn DeviceLoginStore>,
    /// Everything about one user.
    pub personal_data: Arc<dyn PersonalDataStore>,
    /// The audit log.
    pub audit: Arc<dyn AuditStore>,
    /// Issued tokens.
    pub tokens: Arc<dyn IssuedTokenStore>,
    /// Announcements of changes in all of these.
    pub announcements: Arc<dyn Announcements>,
    /// Several nodes on this store. None if it can have only one.
    pub cluster: Option<Arc<dyn ClusterStore>>,
    /// The store as a whole.
    pub maintenance: Arc<dyn StoreMaintenance>,
}
