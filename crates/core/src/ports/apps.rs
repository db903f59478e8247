//! Ports for apps, tool definitions, installs, settings and devices.

use std::{collections::HashMap, sync::Arc};

use async_trait::async_trait;
use jiff::Timestamp;
use serde_json::{Map, Value, value::RawValue};
use toolyard_protocol::{
    PackageName, PlatformSettings, ToolAlias, ToolName, UserId, app::AppDetails, device::Capabilities,
    items::AppItems, plugin::ContentHash,
};

use super::{SourceKind, StoreError, UpstreamRecord};

/// A stored app.
#[derive(Debug, Clone)]
pub struct AppRecord {
    /// Its package name.
    pub package: PackageName,
    /// The details that its developer registered.
    pub details: AppDetails,
    /// Who registered it.
    pub owner: String,
    /// What kind of package it is.
    pub origin: PackageOrigin,
    /// Whether the operator allows it to call the tools of other apps.
    pub assistant: bool,
    /// Current version of its tools; 0 if none were published yet.
    pub tools_version: u64,
    /// How many tools that version has.
    pub tool_count: u64,
    /// When it was registered.
    pub created_at: Timestamp,
    /// When it was last changed.
    pub updated_at: Timestamp,
}

/// Where the tools of a package come from.
#[derive(Debug, Clone)]
pub enum PackageOrigin {
    /// A developer's app.
    App(AppKeys),
    /// An external MCP server.
    Upstream(Box<UpstreamRecord>),
    /// Built into this server.
    Builtin,
    /// A user's plugin.
    Plugin(ContentHash),
}

/// The credentials that an app shares with the platform.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AppKeys {
    /// SHA-256 of its API key.
    pub key_hash: [u8; 32],
    /// Its sealed signing secrets, the current one first; two during a rotation.
    pub signing: Vec<Vec<u8>>,
}

impl AppRecord {
    /// Its keys, if it is a developer's app.
    pub fn keys(&self) -> Option<&AppKeys> {
        match &self.origin {
            PackageOrigin::App(keys) => Some(keys),
            PackageOrigin::Upstream(_) | PackageOrigin::Builtin | PackageOrigin::Plugin(_) => None,
        }
    }

    /// Its upstream record, if it is an upstream.
    pub fn upstream(&self) -> Option<&UpstreamRecord> {
        match &self.origin {
            PackageOrigin::App(_) | PackageOrigin::Builtin | PackageOrigin::Plugin(_) => None,
            PackageOrigin::Upstream(upstream) => Some(upstream),
        }
    }

    /// Its content hash, if it is a plugin.
    pub fn plugin(&self) -> Option<&ContentHash> {
        match &self.origin {
            PackageOrigin::App(_) | PackageOrigin::Upstream(_) | PackageOrigin::Builtin => None,
            PackageOrigin::Plugin(hash) => Some(hash),
        }
    }

    /// Where its tools run.
    pub fn source(&self) -> SourceKind {
        match &self.origin {
            PackageOrigin::App(_) => SourceKind::App,
            PackageOrigin::Upstream(_) => SourceKind::Upstream,
            PackageOrigin::Builtin => SourceKind::Builtin,
            PackageOrigin::Plugin(_) => SourceKind::Plugin,
        }
    }
}

/// A new app to store.
#[derive(Debug, Clone)]
pub struct NewAppRecord {
    /// Its package name.
    pub package: PackageName,
    /// The details that its developer registered.
    pub details: AppDetails,
    /// Who registered it.
    pub owner: String,
    /// SHA-256 of its API key.
    pub key_hash: [u8; 32],
    /// Its sealed signing secret.
    pub signing: Vec<u8>,
    /// When it was registered.
    pub at: Timestamp,
    /// Its first tool set, stored in the same transaction.
    pub tools: Option<StoredToolSet>,
}

/// A change of a stored app.
#[derive(Debug, Clone)]
pub enum AppChange {
    /// New details.
    Details(Box<AppDetails>),
    /// The hash of a new API key; the old key becomes invalid.
    Key([u8; 32]),
    /// New sealed signing secrets, the current one first.
    Signing(Vec<Vec<u8>>),
    /// The operator's grant to call the tools of other apps.
    Assistant(bool),
}

/// Stores apps.
#[async_trait]
pub trait AppStore: Send + Sync {
    /// Finds a package.
    async fn find_app(&self, package: &PackageName) -> Result<Option<AppRecord>, StoreError>;
    /// The apps of one owner, or all apps, by name. Does not include upstreams.
    async fn list_apps(&self, owner: Option<&str>) -> Result<Vec<AppRecord>, StoreError>;
    /// Packages that users can install and whose name, description or package matches the words, by package, after
    /// `after`. Excludes upstreams that are disabled or shared with all users.
    async fn search_installable(
        &self,
        words: &str,
        after: Option<&PackageName>,
        limit: u32,
    ) -> Result<Vec<AppRecord>, StoreError>;
    /// Stores a new app with its first tools, in one transaction. False if the package name is taken.
    async fn create_app(&self, app: NewAppRecord) -> Result<bool, StoreError>;
    /// Changes an app. False if it does not exist.
    async fn change_app(
        &self,
        package: &PackageName,
        change: AppChange,
        at: Timestamp,
    ) -> Result<bool, StoreError>;
    /// Removes an app with everything that belongs to it. False if it does not exist.
    async fn remove_app(&self, package: &PackageName) -> Result<bool, StoreError>;
}

/// An immutable set of tools, prompts and resources.
#[derive(Debug, Clone)]
pub struct StoredToolSet {
    /// The raw tool definitions.
    pub tools: Vec<Box<RawValue>>,
    /// The raw prompts, resources and templates.
    pub items: AppItems,
    /// SHA-256 of the set, in hex.
    pub hash: String,
    /// Who published it.
    pub by: String,
}

/// One version of an app's tools.
#[derive(Debug, Clone)]
pub struct ToolSetRecord {
    /// Counts from 1.
    pub version: u64,
    /// SHA-256 of the set, in hex.
    pub hash: String,
    /// Who published it.
    pub by: String,
    /// When it was published.
    pub at: Timestamp,
    /// How many tools.
    pub tool_count: u64,
}

/// Tool definitions: immutable versions and a pointer to the current one.
#[async_trait]
pub trait DefinitionStore: Send + Sync {
    /// Adds a version and makes it current, in one transaction. None if the app does not exist. If the set is
    /// unchanged, returns the current version.
    async fn publish_tools(
        &self,
        package: &PackageName,
        set: StoredToolSet,
        at: Timestamp,
    ) -> Result<Option<u64>, StoreError>;
    /// One version of the tools.
    async fn find_tool_set(
        &self,
        package: &PackageName,
        version: u64,
    ) -> Result<Option<StoredToolSet>, StoreError>;
    /// The versions, newest first.
    async fn list_tool_sets(&self, package: &PackageName) -> Result<Vec<ToolSetRecord>, StoreError>;
    /// Makes an older version the current one. False if it does not exist.
    async fn activate_version(
        &self,
        package: &PackageName,
        version: u64,
        at: Timestamp,
    ) -> Result<bool, StoreError>;
    /// Which tools own these hashed aliases. Publishing claims those that are free; removing the app releases them.
    async fn alias_owners(&self, aliases: &[ToolAlias]) -> Result<HashMap<ToolAlias, ToolName>, StoreError>;
}

/// One installed app.
#[derive(Debug, Clone)]
pub struct InstalledApp {
    /// The package.
    pub package: PackageName,
    /// When it was installed.
    pub at: Timestamp,
    /// Whether the user allows it to call the tools of other apps.
    pub assistant: bool,
}

/// Stores which user installed which app.
#[async_trait]
pub trait InstallStore: Send + Sync {
    /// The user's apps, the earliest install first.
    async fn list_installs(&self, user: &UserId) -> Result<Vec<InstalledApp>, StoreError>;
    /// Installs an app. Installing it again changes nothing. False if the app does not exist.
    async fn install_app(
        &self,
        user: &UserId,
        package: &PackageName,
        at: Timestamp,
    ) -> Result<bool, StoreError>;
    /// Removes an install with its grants and the app's data for this user. False if it is not installed.
    async fn uninstall_app(&self, user: &UserId, package: &PackageName) -> Result<bool, StoreError>;
    /// Users after this one with at least one install whose id contains this text, with their number of installs, by id.
    async fn search_users(
        &self,
        part: &str,
        after: Option<&UserId>,
        limit: u32,
    ) -> Result<Vec<(UserId, u64)>, StoreError>;
    /// Sets whether the app may call the tools of other apps for this user. False if it is not installed.
    async fn set_assistant_grant(
        &self,
        user: &UserId,
        package: &PackageName,
        assistant: bool,
    ) -> Result<bool, StoreError>;
}

/// Stores the tools that users switched off.
#[async_trait]
pub trait ToolSwitchStore: Send + Sync {
    /// The user's switched-off tools.
    async fn list_switched_off(&self, user: &UserId) -> Result<Vec<ToolName>, StoreError>;
    /// Switches a tool on or off.
    async fn switch_tool(&self, user: &UserId, tool: &ToolName, on: bool) -> Result<(), StoreError>;
}

/// Stores user settings that do not belong to an app.
#[async_trait]
pub trait PreferenceStore: Send + Sync {
    /// The user's settings, or the defaults.
    async fn platform_settings(&self, user: &UserId) -> Result<PlatformSettings, StoreError>;
    /// Replaces the user's settings.
    async fn set_platform_settings(
        &self,
        user: &UserId,
        settings: &PlatformSettings,
    ) -> Result<(), StoreError>;
}

/// The last device of a user.
#[derive(Debug, Clone)]
pub struct StoredDevice {
    /// Its capabilities.
    pub capabilities: Arc<Capabilities>,
    /// When it was last seen.
    pub at: Timestamp,
}

/// Stores the last device of each user.
#[async_trait]
pub trait DeviceStore: Send + Sync {
    /// The user's last device.
    async fn last_device(&self, user: &UserId) -> Result<Option<StoredDevice>, StoreError>;
    /// Saves the user's device.
    async fn save_device(&self, user: &UserId, device: StoredDevice) -> Result<(), StoreError>;
}

/// Stores what an app keeps for a user: its key-value entries, and the user's values of its settings.
#[async_trait]
pub trait AppDataStore: Send + Sync {
    /// All entries.
    async fn read_entries(
        &self,
        user: &UserId,
        package: &PackageName,
    ) -> Result<Map<String, Value>, StoreError>;
    /// Adds or replaces entries. If the total would exceed `max_bytes`, stores nothing and returns false.
    async fn write_entries(
        &self,
        user: &UserId,
        package: &PackageName,
        entries: Map<String, Value>,
        max_bytes: usize,
    ) -> Result<bool, StoreError>;
    /// Removes one entry, or all. Returns how many were removed.
    async fn remove_entries(
        &self,
        user: &UserId,
        package: &PackageName,
        key: Option<&str>,
    ) -> Result<u64, StoreError>;
    /// The user's values of the app's settings.
    async fn app_settings(
        &self,
        user: &UserId,
        package: &PackageName,
    ) -> Result<Map<String, Value>, StoreError>;
    /// Replaces the user's values.
    async fn set_app_settings(
        &self,
        user: &UserId,
        package: &PackageName,
        values: Map<String, Value>,
    ) -> Result<(), StoreError>;
}
