//! What all plugins of a program share: the sandbox, their storage, and which of them are disabled.

use std::{collections::BTreeSet, fmt, sync::Arc, time::Duration};

use parking_lot::{Mutex, MutexGuard};
use toolyard_protocol::plugin::{ContentHash, MAX_CODE_BYTES};
use toolyard_sandbox::{PluginStorage, Sandbox, SandboxHost, SandboxLimits, StorageQuota};

use super::storage::{StorageBackends, StoragePlace};

/// Default timeout of a call. Shorter than the client's own timeout for tools
/// ([`TOOL_TIMEOUT`](crate::client::TOOL_TIMEOUT)): otherwise the client would cancel the call before the sandbox can detect that
/// the code is stuck.
const CALL_TIME: Duration = Duration::from_secs(25);

/// How plugins run.
#[derive(Debug, Clone)]
pub struct JsOptions {
    /// What one call may use, and how many calls may run at once. `time` should stay below the client's `tool_timeout`.
    pub limits: SandboxLimits,
    /// Where plugins keep their data.
    pub storage: StoragePlace,
    /// How much each of them may store, whatever it requests.
    pub quota: StorageQuota,
}

impl Default for JsOptions {
    /// Stores data in memory, until the program ends.
    fn default() -> Self {
        // Any code that fits into a manifest can run.
        let limits =
            SandboxLimits { time: CALL_TIME, source_bytes: MAX_CODE_BYTES, ..SandboxLimits::default() };
        Self { limits, storage: StoragePlace::Memory, quota: StorageQuota::default() }
    }
}

/// Where plugins run. Create one for the whole program. Cheap to clone.
#[derive(Clone)]
pub struct JsHost(Arc<JsHostState>);

struct JsHostState {
    sandbox: Sandbox,
    storages: StorageBackends,
    quota: StorageQuota,
    /// The plugins that got stuck. Bounded by the number of plugins.
    stuck: Mutex<BTreeSet<ContentHash>>,
}

impl JsHost {
    /// A host with these settings. Nothing is started yet.
    pub fn new(world: SandboxHost, options: JsOptions) -> Self {
        let JsOptions { limits, storage, quota } = options;
        Self(Arc::new(JsHostState {
            sandbox: Sandbox::new(limits, world),
            storages: StorageBackends::new(storage, quota),
            quota,
            stuck: Mutex::default(),
        }))
    }

    pub(super) fn sandbox(&self) -> &Sandbox {
        &self.0.sandbox
    }

    pub(super) fn quota(&self) -> StorageQuota {
        self.0.quota
    }

    pub(super) fn open_storage(&self, name: &str, quota: StorageQuota) -> Arc<dyn PluginStorage> {
        self.0.storages.open(name, quota)
    }

    fn lock_stuck(&self) -> MutexGuard<'_, BTreeSet<ContentHash>> {
        self.0.stuck.lock()
    }

    /// Disables this content.
    pub(super) fn mark_stuck(&self, hash: &ContentHash) {
        self.lock_stuck().insert(hash.clone());
    }

    pub(super) fn is_stuck(&self, hash: &ContentHash) -> bool {
        self.lock_stuck().contains(hash)
    }
}

impl fmt::Debug for JsHost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("JsHost").field("limits", self.0.sandbox.limits()).finish_non_exhaustive()
    }
}
