//! Plugins: what users install, and what curators sign, publish and revoke.

mod install;
mod manifest;
mod revoke;
mod sign;
mod switch;
mod trust;
mod uninstall;

use std::sync::Arc;

use toolyard_core::ports::PluginRuns;
use toolyard_trust::TrustStatus;

pub use self::{
    install::{InstallRequest, install},
    revoke::{RevokeRequest, reload_lists, revoke},
    sign::{SignedPlugin, sign},
    switch::{find_installed, switch},
    trust::{PluginTrust, TrustError, TrustSetup, TrustSummary},
    uninstall::uninstall,
};
use crate::PlatformError;

/// Limits of plugins that the operator sets.
#[derive(Debug, Clone, Copy)]
pub struct PluginBounds {
    /// Plugins of one user.
    pub per_user: usize,
    /// Largest manifest, in bytes.
    pub manifest_bytes: usize,
    /// Versions in the catalogue.
    pub catalogue: usize,
}

/// The dependencies of the verbs about plugins.
pub struct PluginContext {
    /// Decides which plugins this server trusts.
    pub trust: Arc<PluginTrust>,
    /// Runs plugins, if the operator allows them.
    pub runs: Option<Arc<dyn PluginRuns>>,
    /// Limits.
    pub bounds: PluginBounds,
    /// One install at a time, so that two cannot both claim the same tool names.
    installing: tokio::sync::Mutex<()>,
}

impl PluginContext {
    /// Creates the context from these parts.
    pub fn new(trust: Arc<PluginTrust>, runs: Option<Arc<dyn PluginRuns>>, bounds: PluginBounds) -> Self {
        Self { trust, runs, bounds, installing: tokio::sync::Mutex::new(()) }
    }

    /// Fails if plugins do not run on this server.
    pub fn require_enabled(&self) -> Result<&dyn PluginRuns, PlatformError> {
        let text = "plugins do not run on this server; the operator can allow them (plugins.enabled)";
        self.runs.as_deref().ok_or_else(|| PlatformError::forbidden(text))
    }
}

/// The name of a status in stores and the API.
pub fn status_name(status: &TrustStatus) -> &'static str {
    match status {
        TrustStatus::Signed { .. } => "signed",
        TrustStatus::Unsigned => "unsigned",
        TrustStatus::Modified => "modified",
        TrustStatus::UnknownKey => "unknown-key",
        TrustStatus::Revoked => "revoked",
        TrustStatus::Expired => "expired",
    }
}

impl From<TrustError> for PlatformError {
    fn from(error: TrustError) -> Self {
        match error {
            TrustError::Sign(error) => Self::invalid(error.to_string()),
            TrustError::Store(error) => error.into(),
            TrustError::Setup(_)
            | TrustError::List { .. }
            | TrustError::File { .. }
            | TrustError::NoSigningKey(_)
            | TrustError::NotTrusted(_) => Self::Conflict(error.to_string()),
        }
    }
}
