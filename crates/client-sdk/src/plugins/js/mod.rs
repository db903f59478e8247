//! Plugins in JavaScript: a signed manifest, and code that runs in the sandbox.
//!
//! The manifest is verified each time it is loaded: who signed it, whether it was changed, and what it may do. Each call of a
//! tool runs in its own engine, with only the hosts, storage and clock that were granted. The model reads errors, with line and
//! column, as `{"error": …}`.
//!
//! [`js`] grants a plugin everything that its signature allows. To ask the user first, use the two steps separately:
//! [`JsPlugin::load`], then [`JsPlugin::plugin`] with the permissions that the user agreed to.
//!
//! | look for | in |
//! | --- | --- |
//! | trusted keys | [`JsTrust`] |
//! | the sandbox, its limits and storage | [`JsHost`], [`JsOptions`] |
//! | a verified manifest | [`JsPlugin`] |
//! | one call | `call` |
//! | data between calls | `storage` |
//! | permissions as text | [`permission_lines`] |

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

/// The plugin in a manifest, if it may run, with all permissions that its signature or the allow list grants. The name of the
/// plugin is the id of the manifest.
///
/// ```
/// use toolyard_client_sdk::{Plugin, plugins::{self, js::{JsHost, JsPluginError, JsTrust}}};
/// use toolyard_trust::{KeyEntry, KeyList, PublicKey};
///
/// fn signed_by_ada(manifest: &[u8], ada: PublicKey, now: jiff::Timestamp, host: &JsHost) -> Result<Plugin, JsPluginError> {
///     let trust = JsTrust { keys: KeyList::from_local_keys([KeyEntry::new(ada, "Ada")]), ..JsTrust::empty(now) };
///     plugins::js(manifest, &trust, host)
/// }
/// ```
pub fn js(manifest: &[u8], trust: &JsTrust, host: &JsHost) -> Result<Plugin, JsPluginError> {
    let loaded = JsPlugin::load(manifest, trust)?;
    let all = loaded.permissions().clone();
    loaded.plugin(host, &all)
}
