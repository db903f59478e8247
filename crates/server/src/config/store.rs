//! `[store]`: where everything durable is.

use std::path::PathBuf;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The database.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct StoreConfig {
    /// The database file, if there is no `url`.
    pub path: PathBuf,
    /// Connections for reading, of a database file.
    pub readers: u32,
    /// A PostgreSQL database instead of a file: `postgres://user:password@host/database`.
    pub url: Option<String>,
    /// Connections of this server to PostgreSQL.
    pub connections: u32,
    /// How long a statement may run in PostgreSQL, in milliseconds.
    pub statement_timeout_ms: u64,
    /// How long a statement waits for a lock in PostgreSQL, in milliseconds.
    pub lock_timeout_ms: u64,
    /// How long a request waits for a connection to PostgreSQL, in milliseconds.
    pub acquire_timeout_ms: u64,
}

impl Default for StoreConfig {
    fn default() -> Self {
        Self {
            path: PathBuf::from("data/toolyard.db"),
            readers: 4,
            url: None,
            connections: 16,
            statement_timeout_ms: 10_000,
            lock_timeout_ms: 5_000,
            acquire_timeout_ms: 2_000,
        }
    }
}
