//! Plugins in JavaScript: a manifest that somebody signed, and code that runs in the sandbox.
//!
//! The manifest is judged each time that it is loaded: who signed it, whether it is still what was signed, and what it may
//! therefore have. Its tools are offered as it says; each call runs in an engine of its own, with the hosts, the storage and
//! the clock that were granted, and nothing else. What goes wrong in it, with line and column, is told to the model as
//! `{"error": …}`.
//!
//! [`js`] gives a plugin all that its signature lets it have. To ask the user first, take the two steps apart:
//! [`JsPlugin::load`], then [`JsPlugin::plugin`] with what was agreed to.
//!
//! | look for | in |
//! | --- | --- |
//! | whom to believe | [`JsTrust`] |
//! | the sandbox, its limits, where data is kept | [`JsHost`], [`JsOptions`] |
//! | a manifest that may run | [`JsPlugin`] |
//! | one call | `call` |
//! | what is kept between calls | `storage` |
//! | permissions in words | [`permission_lines`] |

mod call;
mod error;
mod host;
mod load;
mod permission_text;
mod storage;

pub use toolyard_sandbox::{ClockFn, RandomFn, SandboxHost, SandboxLimits, StorageQuota};

pub use self::{
    error::JsPluginError,
    host::{JsHost, JsOptions},
    load::{JsPlugin, JsTrust},
    permission_text::permission_lines,
    storage::StoragePlace,
};
use crate::plugin::Plugin;

/// The plugin in a manifest, if it may run, with all permissions that its signature, or the word of whoever allowed it, lets
/// it have. It goes by the id of the manifest.
///
/// ```
/// use toolyard_client_sdk::{Plugin, plugins::{self, js::{JsHost, JsPluginError, JsTrust}}};
/// use toolyard_trust::{KeyEntry, KeyList, PublicKey};
///
/// fn of_ada(manifest: &[u8], ada: PublicKey, now: jiff::Timestamp, host: &JsHost) -> Result<Plugin, JsPluginError> {
///     let trust = JsTrust { keys: KeyList::local([KeyEntry::new(ada, "Ada")]), ..JsTrust::nobody(now) };
///     plugins::js(manifest, &trust, host)
/// }
/// ```
pub fn js(manifest: &[u8], trust: &JsTrust, host: &JsHost) -> Result<Plugin, JsPluginError> {
    let loaded = JsPlugin::load(manifest, trust)?;
    let all = loaded.permissions().clone();
    loaded.plugin(host, &all)
}
