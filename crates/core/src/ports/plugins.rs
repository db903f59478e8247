//! Ports for users' plugins, the data that plugins store, and the catalogue of signed plugins.

use async_trait::async_trait;
use jiff::Timestamp;
use serde_json::value::RawValue;
use toolyard_protocol::{
    PackageName, UserId,
    app::AppDetails,
    plugin::{ContentHash, PluginId, PluginPermissions, PluginSigner},
};

use super::StoreError;

/// A user's plugin with its current verdict.
#[derive(Debug, Clone)]
pub struct UserPlugin {
    /// The package of its tools.
    pub package: PackageName,
    /// The details from its manifest.
    pub details: AppDetails,
    /// Its content hash.
    pub hash: ContentHash,
    /// Its tools as MCP definitions.
    pub tools: Vec<Box<RawValue>>,
    /// Why its tools are hidden, if so.
    pub hidden: Option<String>,
    /// When it was installed.
    pub at: Timestamp,
}

/// Run statistics of plugins.
pub trait PluginRuns: Send + Sync {
    /// Whether this content was killed too often for the user since this process started.
    fn was_killed_too_often(&self, user: &UserId, hash: &ContentHash) -> bool;
}

/// Provides users' plugins to the catalog. Implementations judge each plugin on every request.
#[async_trait]
pub trait PluginProvider: Send + Sync {
    /// The user's plugins, the earliest first. Plugins that must not run are included with the reason.
    async fn list_plugins(&self, user: &UserId) -> Result<Vec<UserPlugin>, StoreError>;
}

/// A stored plugin of a user. Being stored does not make it trusted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InstalledPlugin {
    /// Its id.
    pub id: PluginId,
    /// Its version.
    pub version: String,
    /// The manifest, byte for byte.
    pub manifest: String,
    /// The hash of the installed content.
    pub hash: ContentHash,
    /// Its status at install time: `signed`, `unsigned`.
    pub status: String,
    /// The permissions that the user granted.
    pub granted: PluginPermissions,
    /// Whether it is switched on.
    pub switch: PluginSwitch,
    /// When it was first installed.
    pub at: Timestamp,
}

/// Whether a plugin is switched on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PluginSwitch {
    /// Switched on.
    On,
    /// Switched off by the user.
    Off,
    /// Stopped by the platform, with the reason.
    Stopped(String),
}

/// Stores users' plugins.
#[async_trait]
pub trait InstalledPluginStore: Send + Sync {
    /// The user's plugins, the earliest first.
    async fn list_installed(&self, user: &UserId) -> Result<Vec<InstalledPlugin>, StoreError>;
    /// One plugin of the user.
    async fn find_installed(
        &self,
        user: &UserId,
        id: &PluginId,
    ) -> Result<Option<InstalledPlugin>, StoreError>;
    /// Stores a plugin, replacing one with the same id. False if the user would have more than `most`.
    async fn put_plugin(
        &self,
        user: &UserId,
        plugin: &InstalledPlugin,
        most: usize,
    ) -> Result<bool, StoreError>;
    /// Switches a plugin. False if the user has none with this id and content.
    async fn switch_plugin(
        &self,
        user: &UserId,
        id: &PluginId,
        hash: &ContentHash,
        switch: &PluginSwitch,
    ) -> Result<bool, StoreError>;
    /// Removes a plugin with its data. False if the user does not have it.
    async fn remove_plugin(&self, user: &UserId, id: &PluginId) -> Result<bool, StoreError>;
}

/// How much one plugin may store for one user.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PluginDataQuota {
    /// Number of keys.
    pub keys: usize,
    /// Total size of keys and values, in bytes.
    pub bytes: usize,
}

/// The namespace of a plugin's data for a user. The signer is part of it: a plugin with the same id from another signer
/// has its own namespace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PluginNamespace {
    /// The user.
    pub user: UserId,
    /// The plugin.
    pub id: PluginId,
    /// Its signer.
    pub signer: PluginSigner,
}

/// Most namespaces of one plugin and user. Those of earlier signers are kept, so that the user can go back to them.
pub const MAX_PLUGIN_NAMESPACES: usize = 4;

/// Stores plugin data: JSON by key. It belongs to the install and is removed with it.
#[async_trait]
pub trait PluginDataStore: Send + Sync {
    /// The value under a key.
    async fn read_value(&self, shelf: &PluginNamespace, key: &str) -> Result<Option<String>, StoreError>;
    /// Stores or replaces a value. If the quota would be exceeded, or the plugin is not installed, stores nothing and
    /// returns false. Beyond [`MAX_PLUGIN_NAMESPACES`], the least recently written namespace is cleared.
    async fn set_value(
        &self,
        shelf: &PluginNamespace,
        key: &str,
        value: &str,
        room: PluginDataQuota,
    ) -> Result<bool, StoreError>;
    /// Removes a value. False if there was none.
    async fn remove_value(&self, shelf: &PluginNamespace, key: &str) -> Result<bool, StoreError>;
    /// All keys in order.
    async fn list_value_keys(&self, shelf: &PluginNamespace) -> Result<Vec<String>, StoreError>;
}

/// A signed plugin in the catalogue.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PublishedPlugin {
    /// Its id.
    pub id: PluginId,
    /// Its version.
    pub version: String,
    /// Display name.
    pub name: String,
    /// Description for people.
    pub description: String,
    /// Display name of its publisher.
    pub publisher: Option<String>,
    /// Its content hash.
    pub hash: ContentHash,
    /// The signed manifest, byte for byte.
    pub manifest: String,
    /// Who had it signed.
    pub by: String,
    /// When it was published.
    pub at: Timestamp,
}

/// Stores the catalogue of signed plugins. A published version never changes.
#[async_trait]
pub trait PublishedPluginStore: Send + Sync {
    /// Adds a version; publishing the same content again is allowed. False if that version has other content, or the
    /// catalogue already has `most` versions.
    async fn publish_plugin(&self, plugin: &PublishedPlugin, most: usize) -> Result<bool, StoreError>;
    /// The newest version of each plugin whose id, name, description or publisher matches the words, by id, after
    /// `after`.
    async fn search_published(
        &self,
        words: &str,
        after: Option<&PluginId>,
        limit: usize,
    ) -> Result<Vec<PublishedPlugin>, StoreError>;
    /// One version, or the latest published one.
    async fn find_published(
        &self,
        id: &PluginId,
        version: Option<&str>,
    ) -> Result<Option<PublishedPlugin>, StoreError>;
}

/// Stores the lists of trusted keys and revoked plugins, by name, as last signed or accepted.
#[async_trait]
pub trait PluginListStore: Send + Sync {
    /// One list.
    async fn plugin_list(&self, name: &str) -> Result<Option<String>, StoreError>;
    /// Replaces a list.
    async fn save_plugin_list(&self, name: &str, text: &str) -> Result<(), StoreError>;
}
