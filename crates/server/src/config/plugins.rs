//! The section `[plugins]`: whether users' plugins run here, whom to believe, and their bounds.

use std::path::PathBuf;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use toolyard_protocol::plugin::{ContentHash, MAX_MANIFEST_BYTES, PluginId};

/// Plugins of users, and the curator's service.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct PluginsConfig {
    /// Whether users' plugins run on this server. Their code runs in worker processes, each in a sandbox; SECURITY.md says
    /// what that means.
    pub enabled: bool,
    /// The program that is started as a worker. By default this program itself.
    pub worker: Option<PathBuf>,
    /// The public root key that signs key lists and revocations: PEM, or SPKI in base64.
    pub root_key: Option<String>,
    /// The key list, signed by the root. Read again every minute.
    pub keys_file: Option<PathBuf>,
    /// The revocation list, signed by the root. Read again every minute.
    pub revocations_file: Option<PathBuf>,
    /// The secret key with which this server signs plugins, as a PEM file. Without `keys_file` it signs its own lists, too.
    pub curator_key_file: Option<PathBuf>,
    /// The same in a variable of the environment: its name.
    pub curator_key_env: Option<String>,
    /// Whose key that is, for people.
    pub curator_name: String,
    /// The secret root key, as a PEM file, where this server signs the lists with a key of their own.
    pub root_secret_file: Option<PathBuf>,
    /// The same in a variable of the environment: its name.
    pub root_secret_env: Option<String>,
    /// Unsigned plugins that may run all the same, one by one. Only in the file, never by a variable of the environment.
    pub allow_unsigned: Vec<AllowUnsigned>,
    /// Plugins of one user.
    pub per_user: usize,
    /// Largest manifest in bytes.
    pub manifest_bytes: usize,
    /// Versions in the catalogue.
    pub catalogue: usize,
    /// Runs at once, over all users; also the largest number of worker processes. One user never gets more than half.
    pub runs: usize,
    /// Runs at once for one user. More are refused.
    pub runs_per_user: usize,
    /// Runs at once of one plugin, over all users. More wait.
    pub runs_per_plugin: usize,
    /// Memory of one run in bytes.
    pub memory_bytes: usize,
    /// Longest run in milliseconds, waiting included.
    pub time_ms: u64,
    /// Longest time of one run on a processor, in milliseconds.
    pub compute_ms: u64,
    /// What one plugin may keep for one user, in bytes of keys and values.
    pub storage_bytes: usize,
    /// Keys of that.
    pub storage_keys: usize,
}

/// An unsigned plugin that may run, with exactly this content.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AllowUnsigned {
    /// Which plugin.
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
