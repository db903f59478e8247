//! Ports towards the plugins that users have, what those keep, and what curators publish.

use async_trait::async_trait;
use jiff::Timestamp;
use serde_json::value::RawValue;
use toolyard_protocol::{
    PackageName, UserId,
    app::AppDetails,
    plugin::{ContentHash, PluginId, PluginPermissions, PluginSigner},
};

use super::StoreError;

/// A plugin of a user, as it was judged just now.
#[derive(Debug, Clone)]
pub struct UserPlugin {
    /// The package that its tools belong to.
    pub package: PackageName,
    /// What it says of itself.
    pub details: AppDetails,
    /// Which content it has.
    pub hash: ContentHash,
    /// Its tools in the form of MCP.
    pub tools: Vec<Box<RawValue>>,
    /// Why nothing of it can be called, if so.
    pub hidden: Option<String>,
    /// When it was installed.
    pub at: Timestamp,
}

/// What runs plugins knows of their runs.
pub trait PluginRuns: Send + Sync {
    /// Whether this content had to be killed too often for the user since the start of this process.
    fn was_killed_too_often(&self, user: &UserId, hash: &ContentHash) -> bool;
}

/// Plugins as the catalog sees them. Whoever implements it judges each of them anew whenever it is asked.
#[async_trait]
pub trait PluginProvider: Send + Sync {
    /// The user's plugins, the earliest first. Those that are not to be run are among them, with the reason.
    async fn list_plugins(&self, user: &UserId) -> Result<Vec<UserPlugin>, StoreError>;
}

/// A plugin that a user has, as it is stored. Nothing here is believed because it is stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InstalledPlugin {
    /// Which plugin.
    pub id: PluginId,
    /// Its version.
    pub version: String,
    /// The manifest, byte for byte as it came.
    pub manifest: String,
    /// The content that was installed.
    pub hash: ContentHash,
    /// What it was when it was installed: `signed`, `unsigned`.
    pub status: String,
    /// What the user agreed to.
    pub granted: PluginPermissions,
    /// Whether it is to be run.
    pub switch: PluginSwitch,
    /// When it was installed first.
    pub at: Timestamp,
}

/// Whether a plugin is to be run, as far as the user and the platform said so.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PluginSwitch {
    /// It is.
    On,
    /// The user switched it off.
    Off,
    /// The platform did, and says why.
    Stopped(String),
}

/// Which plugins users have.
#[async_trait]
pub trait InstalledPluginStore: Send + Sync {
    /// The user's plugins, the earliest first.
    async fn list_installed(&self, user: &UserId) -> Result<Vec<InstalledPlugin>, StoreError>;
    /// One of them.
    async fn find_installed(
        &self,
        user: &UserId,
        id: &PluginId,
    ) -> Result<Option<InstalledPlugin>, StoreError>;
    /// Stores one, new or in place of the one with the same id. False where the user would have more than `most`.
    async fn put_plugin(
        &self,
        user: &UserId,
        plugin: &InstalledPlugin,
        most: usize,
    ) -> Result<bool, StoreError>;
    /// Switches one. False where the user has none with this id and content.
    async fn switch_plugin(
        &self,
        user: &UserId,
        id: &PluginId,
        hash: &ContentHash,
        switch: &PluginSwitch,
    ) -> Result<bool, StoreError>;
    /// Removes one with all that it keeps. False where the user has none.
    async fn remove_plugin(&self, user: &UserId, id: &PluginId) -> Result<bool, StoreError>;
}

/// How much one plugin may keep for one user.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PluginDataQuota {
    /// Keys.
    pub keys: usize,
    /// Keys and values together.
    pub bytes: usize,
}

/// Where a plugin keeps what it keeps for a user. Whoever signed it belongs to the place: a plugin of somebody else under
/// the same id has another one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PluginNamespace {
    /// Whose data.
    pub user: UserId,
    /// Kept by which plugin.
    pub id: PluginId,
    /// Signed by whom.
    pub signer: PluginSigner,
}

/// Most shelves of one plugin of one user: those of signers before stay, for whoever goes back to them.
pub const MAX_PLUGIN_NAMESPACES: usize = 4;

/// What plugins keep for users: JSON by key. It hangs on the install and goes with it.
#[async_trait]
pub trait PluginDataStore: Send + Sync {
    /// The value under a key.
    async fn read_value(&self, shelf: &PluginNamespace, key: &str) -> Result<Option<String>, StoreError>;
    /// Stores or replaces. False where the room would not do, or the user does not have the plugin; nothing is stored
    /// then. Where the plugin has more than [`MAX_SHELVES`], the one that nothing was put on for longest is cleared.
    async fn set_value(
        &self,
        shelf: &PluginNamespace,
        key: &str,
        value: &str,
        room: PluginDataQuota,
    ) -> Result<bool, StoreError>;
    /// Removes. False where there was nothing.
    async fn remove_value(&self, shelf: &PluginNamespace, key: &str) -> Result<bool, StoreError>;
    /// All keys in order.
    async fn list_value_keys(&self, shelf: &PluginNamespace) -> Result<Vec<String>, StoreError>;
}

/// A plugin that a curator signed, as the catalogue has it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PublishedPlugin {
    /// Which plugin.
    pub id: PluginId,
    /// Its version.
    pub version: String,
    /// For people.
    pub name: String,
    /// For people.
    pub description: String,
    /// Who makes it, for people.
    pub publisher: Option<String>,
    /// Which content.
    pub hash: ContentHash,
    /// The signed manifest, byte for byte.
    pub manifest: String,
    /// Who had it signed.
    pub by: String,
    /// When.
    pub at: Timestamp,
}

/// The catalogue of signed plugins. A version that was published never changes.
#[async_trait]
pub trait PublishedPluginStore: Send + Sync {
    /// Adds a version; the same content again is fine. False where that version has other content, or the catalogue has
    /// `most` versions already.
    async fn publish_plugin(&self, plugin: &PublishedPlugin, most: usize) -> Result<bool, StoreError>;
    /// The newest version of each plugin whose id, name, description or publisher has these words, by id, after `after`.
    async fn search_published(
        &self,
        words: &str,
        after: Option<&PluginId>,
        limit: usize,
    ) -> Result<Vec<PublishedPlugin>, StoreError>;
    /// One version, or the one that was published last.
    async fn find_published(
        &self,
        id: &PluginId,
        version: Option<&str>,
    ) -> Result<Option<PublishedPlugin>, StoreError>;
}

/// Documents about whom to believe, by name, as they were signed or accepted last.
#[async_trait]
pub trait PluginListStore: Send + Sync {
    /// One of them.
    async fn plugin_list(&self, name: &str) -> Result<Option<String>, StoreError>;
    /// Keeps it in place of the one before.
    async fn save_plugin_list(&self, name: &str, text: &str) -> Result<(), StoreError>;
}
