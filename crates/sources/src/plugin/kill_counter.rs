//! Code that had to be killed. Some built-in functions of the engine cannot be interrupted, so a run may not end when its
//! time is over; then its process is killed, which ends it and costs the next run a new process. A plugin that does this
//! again and again is switched off for its user.

use std::sync::Arc;

use dashmap::DashMap;
use tokio_util::{sync::CancellationToken, task::TaskTracker};
use toolyard_core::ports::{Change, PluginSwitch, Stores};
use toolyard_protocol::{
    UserId,
    plugin::{ContentHash, PluginId},
};

/// Why it is switched off, for people.
pub(super) const REASON: &str = "it had to be killed three times because it did not stop when its time was over, or \
     crashed; install another version";
/// How often a plugin of one user may have to be killed. A machine under load may be slow once or twice.
const MAX_KILLS: usize = 3;
/// Most that is remembered in memory; the store remembers what is switched off.
const MAX_REMEMBERED: usize = 10_000;

/// Counts what had to be killed. What is switched off is remembered in the store with the plugin, and here also after it
/// was removed, so that installing it again does not help.
pub(super) struct KillCounter {
    stores: Stores,
    tasks: TaskTracker,
    stopping: CancellationToken,
    kills: DashMap<(UserId, ContentHash), usize>,
}

/// Which plugin of whom.
#[derive(Clone)]
pub(super) struct UserPluginKey {
    pub(super) user: UserId,
    pub(super) id: PluginId,
    pub(super) hash: ContentHash,
}

impl KillCounter {
    pub(super) fn new(stores: Stores, tasks: TaskTracker, stopping: CancellationToken) -> Self {
        Self { stores, tasks, stopping, kills: DashMap::new() }
    }

    pub(super) fn is_switched_off(&self, user: &UserId, hash: &ContentHash) -> bool {
        self.kills.get(&(user.clone(), hash.clone())).is_some_and(|kills| *kills >= MAX_KILLS)
    }

    /// A run of it had to be killed, or its process died.
    pub(super) fn record_kill(self: &Arc<Self>, whose: UserPluginKey) {
        // A server that stops kills what does not stop with it.
        if self.stopping.is_cancelled() {
            return;
        }
        let kills = self.count_kill(&whose);
        tracing::warn!(user = %whose.user, plugin = %whose.id, hash = %whose.hash, kills, "plugin run killed");
        if kills >= MAX_KILLS {
            let stuck = self.clone();
            self.tasks.spawn(async move { stuck.switch_off(&whose).await });
        }
    }

    fn count_kill(&self, whose: &UserPluginKey) -> usize {
        let key = (whose.user.clone(), whose.hash.clone());
        // Who is full forgets those that are still on; a guard of the map must not be held meanwhile.
        if self.kills.len() >= MAX_REMEMBERED && !self.kills.contains_key(&key) {
            self.kills.retain(|_, kills| *kills >= MAX_KILLS);
            if self.kills.len() >= MAX_REMEMBERED {
                return 1;
            }
        }
        let mut kills = self.kills.entry(key).or_default();
        *kills += 1;
        *kills
    }

    async fn switch_off(&self, whose: &UserPluginKey) {
        let off = PluginSwitch::Stopped(REASON.to_owned());
        let stored = self.stores.plugins.switch_plugin(&whose.user, &whose.id, &whose.hash, &off).await;
        if let Err(error) = stored {
            tracing::error!(%error, plugin = %whose.id, "a plugin that had to be killed could not be switched off in the store");
        }
        self.stores.announcements.announce(Change::ViewChanged(whose.user.clone())).await;
    }
}
