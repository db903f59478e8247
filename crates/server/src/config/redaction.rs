//! The section `[redaction]`: secrets in the results of tools.

use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use toolyard_core::redaction::RedactionSettings;

/// Secrets in the results of tools: models get placeholders.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct RedactionConfig {
    /// `on` or `off`.
    pub mode: RedactionMode,
    /// What people get who call a tool over REST with their own token: `plain` or `placeholders`. Chats, MCP clients, apps and
    /// the legacy endpoint always get placeholders.
    pub rest: RestSecrets,
    /// How long the secrets of a conversation are kept after their last use, in seconds. They are in memory only.
    pub expires_s: u64,
}

/// Whether secrets are replaced.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum RedactionMode {
    /// Models get placeholders.
    #[default]
    On,
    /// Results stay as they are.
    Off,
}

/// What people get over REST.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum RestSecrets {
    /// Results as they are.
    #[default]
    Plain,
    /// Placeholders, as models.
    Placeholders,
}

impl Default for RedactionConfig {
    fn default() -> Self {
        Self {
            mode: RedactionMode::default(),
            rest: RestSecrets::default(),
            expires_s: RedactionSettings::default().lifetime.as_secs(),
        }
    }
}

impl RedactionConfig {
    pub(crate) fn settings(&self) -> RedactionSettings {
        RedactionSettings {
            enabled: self.mode == RedactionMode::On,
            for_people: self.rest == RestSecrets::Placeholders,
            lifetime: Duration::from_secs(self.expires_s.max(1)),
        }
    }
}
