//! The section `[plugins]`: whether users' plugins run here, whose signatures are trusted, and limits.

use std::path::PathBuf;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use toolyard_protocol::plugin::{ContentHash, MAX_MANIFEST_BYTES, PluginId};

/// Plugins of users, and signing them as a curator.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct PluginsConfig {
    /// Whether users' plugins run on this server. Their code runs sandboxed in worker processes; see SECURITY.md.
    pub enabled: bool,
    /// The program that runs as a worker. Default: this program itself.
    pub worker: Option<PathBuf>,
    /// The public root key that signs key lists and revocations: PEM, or SPKI in base64.
    pub root_key: Option<String>,
    /// The key list, signed by the root key. Reloaded every minute.
    pub keys_file: Option<PathBuf>,
    /// The revocation list, signed by the root key. Reloaded every minute.
    pub revocations_file: Option<PathBuf>,
    /// The secret key with which this server signs plugins, as a PEM file. Without `keys_file` it also signs its own lists.
    pub curator_key_file: Option<PathBuf>,
    /// The name of an environment variable that holds the same.
    pub curator_key_env: Option<String>,
    /// The display name of the owner of that key.
    pub curator_name: String,
    /// The secret root key, as a PEM file, if this server signs the lists with a separate key.
    pub root_secret_file: Option<PathBuf>,
    /// The name of an environment variable that holds the same.
    pub root_secret_env: Option<String>,
    /// Unsigned plugins that may run, one by one. Can be set in the file only, not by an environment variable.
    pub allow_unsigned: Vec<AllowUnsigned>,
    /// Most plugins of one user.
    pub per_user: usize,
    /// Largest manifest in bytes.
    pub manifest_bytes: usize,
    /// Most versions in the catalogue.
    pub catalogue: usize,
    /// Concurrent runs of all users, and the largest number of worker processes. One user never gets more than half.
    pub runs: usize,
    /// Concurrent runs of one user. More are refused.
    pub runs_per_user: usize,
    /// Concurrent runs of one plugin, over all users. More wait.
    pub runs_per_plugin: usize,
    /// Memory of one run in bytes.
    pub memory_bytes: usize,
    /// Longest run in milliseconds, waiting times included.
    pub time_ms: u64,
    /// Most CPU time of one run, in milliseconds.
    pub compute_ms: u64,
    /// Storage of one plugin for one user, in bytes of keys and values.
    pub storage_bytes: usize,
    /// Most keys in that storage.
    pub storage_keys: usize,
}

/// An unsigned plugin that may run, with exactly this content.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AllowUnsigned {
    /// The id of the plugin.
    pub id: PluginId,
    /// Its content hash, as `toolyard plugin inspect` shows it.
    pub hash: ContentHash,
}

impl Default for PluginsConfig {
    fn default() -> Self {
        Self {
            enabled: false,
            worker: None,
            root_key: None,
            keys_file: None,
            revocations_file: None,
            curator_key_file: None,
            curator_key_env: None,
            curator_name: "The curators of this server".to_owned(),
            root_secret_file: None,
            root_secret_env: None,
            allow_unsigned: Vec::new(),
            per_user: 32,
            manifest_bytes: MAX_MANIFEST_BYTES,
            catalogue: 10_000,
            runs: 8,
            runs_per_user: 4,
            runs_per_plugin: 6,
            memory_bytes: 32 * 1024 * 1024,
            time_ms: 20_000,
            compute_ms: 5_000,
            storage_bytes: 1024 * 1024,
            storage_keys: 256,
        }
    }
}
