//! What all plugins of a program share: the sandbox, what they keep, and which of them are switched off.

use std::{collections::BTreeSet, fmt, sync::Arc, time::Duration};

use parking_lot::{Mutex, MutexGuard};
use toolyard_protocol::plugin::{ContentHash, MAX_CODE_BYTES};
use toolyard_sandbox::{PluginStorage, Sandbox, SandboxHost, SandboxLimits, StorageQuota};

use super::storage::{StorageBackends, StoragePlace};

/// How long a call may take, unless said otherwise. Below the client's own limit for tools
/// ([`TOOL_TIMEOUT`](crate::client::TOOL_TIMEOUT)): whoever is cut off first does not learn that the code got stuck.
const CALL_TIME: Duration = Duration::from_secs(25);

/// How plugins run.
#[derive(Debug, Clone)]
pub struct JsOptions {
    /// What one call may use, and how many there may be at once. `time` should stay below the client's `tool_timeout`.
    pub limits: SandboxLimits,
    /// Where plugins keep their data.
    pub storage: StoragePlace,
    /// How much each of them may keep, whatever it asks for.
    pub quota: StorageQuota,
}

impl Default for JsOptions {
    /// Data is forgotten when the program ends.
    fn default() -> Self {
        // Whatever a manifest may have is run.
        let limits =
            SandboxLimits { time: CALL_TIME, source_bytes: MAX_CODE_BYTES, ..SandboxLimits::default() };
        Self { limits, storage: StoragePlace::Memory, quota: StorageQuota::default() }
    }
}

/// Where plugins run. One for the whole program; cheap to clone.
#[derive(Clone)]
pub struct JsHost(Arc<JsHostState>);

struct JsHostState {
    sandbox: Sandbox,
    storages: StorageBackends,
    quota: StorageQuota,
    /// What got stuck. As many as there are plugins, at most.
    stuck: Mutex<BTreeSet<ContentHash>>,
}

impl JsHost {
    /// Starts nothing yet.
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

    /// From now on this content is not run any more.
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
