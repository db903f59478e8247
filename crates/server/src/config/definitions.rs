//! The section `[definitions]`: what happens if the definition of a tool changes.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use toolyard_core::pinning::{FirstUse, PinMode, PinPolicy};

use super::AuthMode;

/// What happens if the definition of a tool changes.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct DefinitionsConfig {
    /// Changed definitions of upstreams: `quarantine` keeps the accepted version until someone accepts the new one, `note`
    /// uses the new one and keeps a note, `off` compares nothing.
    pub upstreams: PinMode,
    /// Changed tools of apps that an operator did not publish. Default: `note` in dev mode, otherwise `quarantine`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub apps: Option<PinMode>,
    /// What an upstream offers for the first time: `pin` uses it, `approve` waits for an operator.
    pub first_use: FirstUse,
}

impl Default for DefinitionsConfig {
    fn default() -> Self {
        Self { upstreams: PinMode::Quarantine, apps: None, first_use: FirstUse::Pin }
    }
}

impl DefinitionsConfig {
    pub(crate) fn policy(&self, mode: AuthMode) -> PinPolicy {
        let default = if mode == AuthMode::Dev { PinMode::Note } else { PinMode::Quarantine };
        PinPolicy { upstreams: self.upstreams, apps: self.apps.unwrap_or(default), first_use: self.first_use }
    }
}
