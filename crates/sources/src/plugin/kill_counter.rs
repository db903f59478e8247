//! Counts killed runs. Some built-in functions of the engine cannot be interrupted, so a run may not end when its time
//! is over. Then its process is killed, and the next run needs a new one. A plugin that causes this repeatedly is
//! switched off for its user.

use std::sync::Arc;

use dashmap::DashMap;
use tokio_util::{sync::CancellationToken, task::TaskTracker};
use toolyard_core::ports::{Change, PluginSwitch, Stores};
use toolyard_protocol::{
    UserId,
    plugin::{ContentHash, PluginId},
};

/// Why it is switched off, for users.
pub(super) const REASON: &str = "it had to be killed three times because it did not stop when its time was over, or \
     crashed; install another version";
/// How many runs of one user's plugin may be killed. A machine under load may be slow once or twice.
const MAX_KILLS: usize = 3;
/// Most plugins that are counted in memory; the store keeps which ones are switched off.
const MAX_REMEMBERED: usize = 10_000;

/// Counts killed runs. The store keeps that a plugin is switched off; this counter also remembers it after the plugin
/// was removed, so that installing it again does not help.
pub(super) struct KillCounter {
    stores: Stores,
    tasks: TaskTracker,
    stopping: CancellationToken,
    kills: DashMap<(UserId, ContentHash), usize>,
}

/// A plugin of a user.
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

    /// Records that a run was killed or that its process died.
    pub(super) fn record_kill(self: &Arc<Self>, plugin_key: UserPluginKey) {
        // During shutdown, runs are killed through no fault of their own.
        if self.stopping.is_cancelled() {
            return;
        }
        let kills = self.count_kill(&plugin_key);
        tracing::warn!(user = %plugin_key.user, plugin = %plugin_key.id, hash = %plugin_key.hash, kills, "plugin run killed");
        if kills >= MAX_KILLS {
            let counter = self.clone();
            self.tasks.spawn(async move { counter.switch_off(&plugin_key).await });
        }
    }

    fn count_kill(&self, plugin_key: &UserPluginKey) -> usize {
        let key = (plugin_key.user.clone(), plugin_key.hash.clone());
        // When full, forget the plugins that are still on. No guard of the map may be held here.
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

    async fn switch_off(&self, plugin_key: &UserPluginKey) {
        let off = PluginSwitch::Stopped(REASON.to_owned());
        let stored =
            self.stores.plugins.switch_plugin(&plugin_key.user, &plugin_key.id, &plugin_key.hash, &off).await;
        if let Err(error) = stored {
            tracing::error!(%error, plugin = %plugin_key.id, "plugin could not be switched off in the store");
        }
        self.stores.announcements.announce(Change::ViewChanged(plugin_key.user.clone())).await;
    }
}
