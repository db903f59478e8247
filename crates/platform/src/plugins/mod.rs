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
use toolyard_trust::Status;

pub use self::{
    install::{InstallRequest, install},
    revoke::{RevokeRequest, reload_lists, revoke},
    sign::{SignedPlugin, sign},
    switch::{find_installed, switch},
    trust::{InForce, PluginTrust, TrustError, TrustSetup},
    uninstall::uninstall,
};
use crate::PlatformError;

/// Bounds of plugins that the operator sets.
#[derive(Debug, Clone, Copy)]
pub struct PluginBounds {
    /// Plugins of one user.
    pub per_user: usize,
    /// Largest manifest, in bytes.
    pub manifest_bytes: usize,
    /// Versions in the catalogue.
    pub catalogue: usize,
}

/// What the verbs about plugins work with.
pub struct PluginService {
    /// Which plugins this server trusts.
    pub trust: Arc<PluginTrust>,
    /// What runs them, if the operator allows that.
    pub runs: Option<Arc<dyn PluginRuns>>,
    /// Bounds.
    pub bounds: PluginBounds,
    /// One install at a time, so that two cannot both find their names free.
    installing: tokio::sync::Mutex<()>,
}

impl PluginService {
    /// A service of these parts.
    pub fn new(trust: Arc<PluginTrust>, runs: Option<Arc<dyn PluginRuns>>, bounds: PluginBounds) -> Self {
        Self { trust, runs, bounds, installing: tokio::sync::Mutex::new(()) }
    }

    /// Refuses if plugins do not run on this server.
    pub fn require_enabled(&self) -> Result<&dyn PluginRuns, PlatformError> {
        let text = "plugins do not run on this server; the operator can allow them (plugins.enabled)";
        self.runs.as_deref().ok_or_else(|| PlatformError::forbidden(text))
    }
}

/// A status as stores and the API write it.
pub fn status_word(status: &Status) -> &'static str {
    match status {
        Status::Signed { .. } => "signed",
        Status::Unsigned => "unsigned",
        Status::Modified => "modified",
        Status::UnknownKey => "unknown-key",
        Status::Revoked => "revoked",
        Status::Expired => "expired",
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
            | TrustError::NotHere(_)
            | TrustError::NotBelieved(_) => Self::Conflict(error.to_string()),
        }
    }
}
