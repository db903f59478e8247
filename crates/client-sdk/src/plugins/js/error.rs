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
    /// It is no manifest.
    #[error(transparent)]
    Manifest(#[from] ManifestError),
    /// It has no form that could be signed.
    #[error("the manifest cannot be used: {0}")]
    Form(Problem),
    /// It may not run.
    #[error("the plugin `{id}` may not run: {}", .verdict.reason)]
    Refused {
        /// The plugin.
        id: PluginId,
        /// What it turned out to be.
        verdict: Box<PluginVerdict>,
    },
    /// It was made for a newer host.
    #[error("the plugin `{id}` needs a host of {needs} or newer, and this is {}; update it", env!("CARGO_PKG_VERSION"))]
    HostTooOld {
        /// The plugin.
        id: PluginId,
        /// The oldest host that it runs on.
        needs: String,
    },
    /// A host that the sandbox does not take.
    #[error("the plugin `{id}` asks for the host `{host}`: {why}")]
    Network {
        /// The plugin.
        id: PluginId,
        /// The host, as the manifest has it.
        host: String,
        /// What is wrong with it.
        why: String,
    },
    /// It could not be stopped before, and is not run again.
    #[error(
        "the plugin `{id}` got stuck and could not be stopped; it stays off until this program starts anew"
    )]
    Stuck {
        /// The plugin.
        id: PluginId,
    },
}
