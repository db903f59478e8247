//! Ports towards what must last: apps, their tools, who installed what, settings, devices.

use std::{collections::HashMap, sync::Arc};

use async_trait::async_trait;
use jiff::Timestamp;
use serde_json::{Map, Value, value::RawValue};
use toolyard_protocol::{
    PackageName, PlatformSettings, ToolAlias, ToolName, UserId, app::AppDetails, device::Capabilities,
    items::AppItems, plugin::ContentHash,
};

use super::{SourceKind, StoreError, UpstreamRecord};

/// An app as it is stored.
#[derive(Debug, Clone)]
pub struct AppRecord {
    /// Its name.
    pub package: PackageName,
    /// What its developer says of it.
    pub details: AppDetails,
    /// Who registered it.
    pub owner: String,
    /// What it is: an app with keys of its own, or an MCP server in the world.
    pub origin: PackageOrigin,
    /// Whether the operator lets it call the tools of other apps.
    pub assistant: bool,
    /// Current version of its tools; 0 is none yet.
    pub tools_version: u64,
    /// How many tools that version has.
    pub tool_count: u64,
    /// When it was registered.
    pub created_at: Timestamp,
    /// When it was last changed.
    pub updated_at: Timestamp,
}

/// What brings tools under a package name.
#[derive(Debug, Clone)]
pub enum PackageOrigin {
    /// An app of a developer.
    App(AppKeys),
    /// An MCP server in the world.
    Upstream(Box<UpstreamRecord>),
    /// This program itself.
    Builtin,
    /// A plugin of one user's.
    Plugin(ContentHash),
}

/// How an app and the platform know each other.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AppKeys {
    /// SHA-256 of its API key.
    pub key_hash: [u8; 32],
    /// Its signing secrets, sealed, the current one first; two during a rotation.
    pub signing: Vec<Vec<u8>>,
}

impl AppRecord {
    /// Its keys, where it is an app of a developer.
    pub fn keys(&self) -> Option<&AppKeys> {
        match &self.origin {
            PackageOrigin::App(keys) => Some(keys),
            PackageOrigin::Upstream(_) | PackageOrigin::Builtin | PackageOrigin::Plugin(_) => None,
        }
    }

    /// What is known of it, where it is an upstream.
    pub fn upstream(&self) -> Option<&UpstreamRecord> {
        match &self.origin {
            PackageOrigin::App(_) | PackageOrigin::Builtin | PackageOrigin::Plugin(_) => None,
            PackageOrigin::Upstream(upstream) => Some(upstream),
        }
    }

    /// Which content of a plugin this is, where it is one.
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

/// An app to be stored.
#[derive(Debug, Clone)]
pub struct NewAppRecord {
    /// Its name.
    pub package: PackageName,
    /// What its developer says of it.
    pub details: AppDetails,
    /// Who registers it.
    pub owner: String,
    /// SHA-256 of its API key.
    pub key_hash: [u8; 32],
    /// Its signing secret, sealed.
    pub signing: Vec<u8>,
    /// When.
    pub at: Timestamp,
    /// Its first set of tools, stored in the same act.
    pub tools: Option<StoredToolSet>,
}

/// A change of an app.
#[derive(Debug, Clone)]
pub enum AppChange {
    /// Other details.
    Details(Box<AppDetails>),
    /// A new key; the old one is void.
    Key([u8; 32]),
    /// New signing secrets, sealed, the current one first.
    Signing(Vec<Vec<u8>>),
    /// The operator's grant to call the tools of other apps.
    Assistant(bool),
}

/// Apps.
#[async_trait]
pub trait AppStore: Send + Sync {
    /// One app.
    async fn find_app(&self, package: &PackageName) -> Result<Option<AppRecord>, StoreError>;
    /// The apps of an owner, or of everybody, by name; upstreams are not among them.
    async fn list_apps(&self, owner: Option<&str>) -> Result<Vec<AppRecord>, StoreError>;
    /// What users can install and whose name, description or package has these words, by package, after one: apps, and
    /// upstreams that are neither off nor everybody's already.
    async fn search_installable(
        &self,
        words: &str,
        after: Option<&PackageName>,
        limit: u32,
    ) -> Result<Vec<AppRecord>, StoreError>;
    /// Stores a new app with its first tools, whole or not at all. False where the name is taken.
    async fn create_app(&self, app: NewAppRecord) -> Result<bool, StoreError>;
    /// Changes an app. False where there is none.
    async fn change_app(
        &self,
        package: &PackageName,
        change: AppChange,
        at: Timestamp,
    ) -> Result<bool, StoreError>;
    /// Removes an app with everything that hangs on it. False where there is none.
    async fn remove_app(&self, package: &PackageName) -> Result<bool, StoreError>;
}

/// A set of tools with the prompts and resources beside them, immutable.
#[derive(Debug, Clone)]
pub struct StoredToolSet {
    /// The definitions as they came.
    pub tools: Vec<Box<RawValue>>,
    /// Prompts, resources and templates as they came.
    pub items: AppItems,
    /// SHA-256 of the set, in hex.
    pub hash: String,
    /// By whom.
    pub by: String,
}

/// One version of an app's tools.
#[derive(Debug, Clone)]
pub struct ToolSetRecord {
    /// Counts from 1.
    pub version: u64,
    /// SHA-256 of the set, in hex.
    pub hash: String,
    /// By whom.
    pub by: String,
    /// When.
    pub at: Timestamp,
    /// How many tools.
    pub tool_count: u64,
}

/// Tool definitions: immutable versions and a pointer to the current one.
#[async_trait]
pub trait DefinitionStore: Send + Sync {
    /// Adds a version and makes it the current one, in one act. None where there is no such app; the version that is
    /// current already where the set is the same.
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
    /// Makes an older version the current one. False where there is none.
    async fn activate_version(
        &self,
        package: &PackageName,
        version: u64,
        at: Timestamp,
    ) -> Result<bool, StoreError>;
    /// Which tools had these hashed aliases first. Publishing takes those that nobody has; they are free again when their
    /// app is removed.
    async fn alias_owners(&self, aliases: &[ToolAlias]) -> Result<HashMap<ToolAlias, ToolName>, StoreError>;
}

/// One installed app.
#[derive(Debug, Clone)]
pub struct InstalledApp {
    /// Which.
    pub package: PackageName,
    /// Since when.
    pub at: Timestamp,
    /// Whether the user lets it call the tools of other apps.
    pub assistant: bool,
}

/// Who installed what.
#[async_trait]
pub trait InstallStore: Send + Sync {
    /// The user's apps, the earliest install first.
    async fn list_installs(&self, user: &UserId) -> Result<Vec<InstalledApp>, StoreError>;
    /// Installs an app; installing it again changes nothing. False where there is no such app.
    async fn install_app(
        &self,
        user: &UserId,
        package: &PackageName,
        at: Timestamp,
    ) -> Result<bool, StoreError>;
    /// Removes an install, its grants and the app's data of this user. False where there is none.
    async fn uninstall_app(&self, user: &UserId, package: &PackageName) -> Result<bool, StoreError>;
    /// Users whose id has these characters and who installed something, with how many, by id.
    async fn search_users(&self, part: &str, limit: u32) -> Result<Vec<(UserId, u64)>, StoreError>;
    /// Lets the app call the tools of other apps for this user, or takes that back. False where it is not installed.
    async fn set_assistant_grant(
        &self,
        user: &UserId,
        package: &PackageName,
        assistant: bool,
    ) -> Result<bool, StoreError>;
}

/// What a user has switched off.
#[async_trait]
pub trait ToolSwitchStore: Send + Sync {
    /// The tools that are off.
    async fn list_switched_off(&self, user: &UserId) -> Result<Vec<ToolName>, StoreError>;
    /// Switches a tool on or off.
    async fn switch_tool(&self, user: &UserId, tool: &ToolName, on: bool) -> Result<(), StoreError>;
}

/// Settings of users that belong to no app.
#[async_trait]
pub trait PreferenceStore: Send + Sync {
    /// The user's, or the defaults.
    async fn platform_settings(&self, user: &UserId) -> Result<PlatformSettings, StoreError>;
    /// Replaces them.
    async fn set_platform_settings(
        &self,
        user: &UserId,
        settings: &PlatformSettings,
    ) -> Result<(), StoreError>;
}

/// The device that a user had last.
#[derive(Debug, Clone)]
pub struct StoredDevice {
    /// What it can do.
    pub capabilities: Arc<Capabilities>,
    /// Since when.
    pub at: Timestamp,
}

/// Devices.
#[async_trait]
pub trait DeviceStore: Send + Sync {
    /// The device that the user had last.
    async fn last_device(&self, user: &UserId) -> Result<Option<StoredDevice>, StoreError>;
    /// Remembers it.
    async fn save_device(&self, user: &UserId, device: StoredDevice) -> Result<(), StoreError>;
}

/// What an app keeps for a user: its own key-value storage, and the user's values of its settings.
#[async_trait]
pub trait AppDataStore: Send + Sync {
    /// Everything stored.
    async fn read_entries(
        &self,
        user: &UserId,
        package: &PackageName,
    ) -> Result<Map<String, Value>, StoreError>;
    /// Adds or replaces entries. False where the total would pass `max_bytes`; nothing is stored then.
    async fn write_entries(
        &self,
        user: &UserId,
        package: &PackageName,
        entries: Map<String, Value>,
        max_bytes: usize,
    ) -> Result<bool, StoreError>;
    /// Removes one entry, or all. How many there were.
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
