//! `[cluster]`: several nodes as one server.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Several nodes as one server, on one PostgreSQL database.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ClusterConfig {
    /// `nats://user:password@host:4222`, or several with commas. Without it, this server is alone.
    pub nats_url: Option<String>,
    /// The URL under which the other nodes reach this one: `http://10.0.0.5:8787`. Plain HTTP, so the network between the
    /// nodes must be private. By default the address that it listens on.
    pub advertise_url: Option<String>,
    /// The first part of every NATS subject, so that clusters can share a NATS server.
    pub subject_prefix: String,
}

impl Default for ClusterConfig {
    fn default() -> Self {
        Self { nats_url: None, advertise_url: None, subject_prefix: "toolyard".to_owned() }
    }
}
