//! `[audit]`: the record of administrative actions.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The record of administrative actions.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct AuditConfig {
    /// Days that an entry of the audit log is kept.
    pub keep_days: u32,
}

impl Default for AuditConfig {
    fn default() -> Self {
        Self { keep_days: 400 }
    }
}
