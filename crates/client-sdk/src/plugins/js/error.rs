//! Why a plugin in JavaScript does not run.

use toolyard_protocol::{
    Problem,
    plugin::{ManifestError, PluginId},
};
use toolyard_trust::PluginVerdict;

/// Why a plugin in JavaScript does not run.
#[non_exhaustive]
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum JsPluginError {
    /// The manifest is invalid.
    #[error(transparent)]
    Manifest(#[from] ManifestError),
    /// The manifest cannot be put into canonical form, so it cannot be verified.
    #[error("the manifest cannot be used: {0}")]
    Form(Problem),
    /// It may not run.
    #[error("the plugin `{id}` may not run: {}", .verdict.reason)]
    Refused {
        /// The plugin.
        id: PluginId,
        /// The verdict on the plugin.
        verdict: Box<PluginVerdict>,
    },
    /// It requires a newer host.
    #[error("the plugin `{id}` requires host version {needs} or newer, and this is {}; update it", env!("CARGO_PKG_VERSION"))]
    HostTooOld {
        /// The plugin.
        id: PluginId,
        /// The oldest host version that it runs on.
        needs: String,
    },
    /// A network host that the sandbox does not accept.
    #[error("the plugin `{id}` requests access to the host `{host}`: {why}")]
    Network {
        /// The plugin.
        id: PluginId,
        /// The host, as the manifest has it.
        host: String,
        /// What is wrong with it.
        why: String,
    },
    /// An earlier call could not be stopped, so the plugin does not run again.
    #[error(
        "the plugin `{id}` got stuck and could not be stopped; it stays disabled until this program restarts"
    )]
    Stuck {
        /// The plugin.
        id: PluginId,
    },
}
