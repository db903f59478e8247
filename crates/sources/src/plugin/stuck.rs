//! Code that cannot be stopped. Some built-in functions of the engine cannot be interrupted, so a run may be over and its
//! thread go on. Such a plugin is switched off for its user, so that it does not take thread after thread.

use std::{
    sync::{Arc, Weak},
    time::Duration,
};

use dashmap::DashSet;
use tokio::runtime::Handle;
use tokio_util::{sync::CancellationToken, task::TaskTracker};
use toolyard_core::ports::{Change, InstalledPlugins, Signals, Switch};
use toolyard_protocol::{
    UserId,
    plugin::{ContentHash, PluginId},
};

/// Why it is switched off, for people.
pub(super) const REASON: &str =
    "it could not be stopped when its time was over, so it was switched off; install another version";
/// What a run may take to notice that its caller left, before it counts as stuck.
const NOTICE: Duration = Duration::from_secs(3);
/// Most that is remembered in memory; the store remembers all.
const MAX_REMEMBERED: usize = 10_000;

/// Remembers what got stuck: in the store with the plugin, and here also after it was removed, so that installing it again
/// does not help.
pub(super) struct Stuck {
    installed: Arc<dyn InstalledPlugins>,
    signals: Arc<dyn Signals>,
    tasks: TaskTracker,
    stopping: CancellationToken,
    seen: DashSet<(UserId, ContentHash)>,
}

/// Which plugin of whom.
#[derive(Clone)]
pub(super) struct Whose {
    pub(super) user: UserId,
    pub(super) id: PluginId,
    pub(super) hash: ContentHash,
}

impl Stuck {
    pub(super) fn new(
        installed: Arc<dyn InstalledPlugins>,
        signals: Arc<dyn Signals>,
        tasks: TaskTracker,
        stopping: CancellationToken,
    ) -> Self {
        Self { installed, signals, tasks, stopping, seen: DashSet::new() }
    }

    pub(super) fn has(&self, user: &UserId, hash: &ContentHash) -> bool {
        self.seen.contains(&(user.clone(), hash.clone()))
    }

    /// Switches it off.
    pub(super) async fn switch_off(&self, whose: &Whose) {
        if self.seen.len() < MAX_REMEMBERED {
            self.seen.insert((whose.user.clone(), whose.hash.clone()));
        }
        tracing::warn!(user = %whose.user, plugin = %whose.id, hash = %whose.hash, "a plugin got stuck and was switched off");
        let off = Switch::Stopped(REASON.to_owned());
        let stored = self.installed.switch_plugin(&whose.user, &whose.id, &whose.hash, &off).await;
        if let Err(error) = stored {
            tracing::error!(%error, plugin = %whose.id, "a plugin that got stuck could not be switched off in the store");
        }
        self.signals.publish(Change::View(whose.user.clone()));
    }
}

/// Looks after a run whose caller may leave: then the sandbox does not say any more whether its thread ended.
pub(super) struct Watch {
    stuck: Arc<Stuck>,
    whose: Option<Whose>,
    /// The thread of a run holds the code until it ends.
    code: Weak<str>,
    runtime: Handle,
}

impl Watch {
    pub(super) fn over(stuck: &Arc<Stuck>, whose: Whose, code: &Arc<str>) -> Self {
        Self {
            stuck: stuck.clone(),
            whose: Some(whose),
            code: Arc::downgrade(code),
            runtime: Handle::current(),
        }
    }

    /// The run came to an end of its own.
    pub(super) fn ended(mut self) {
        self.whose = None;
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        let Some(whose) = self.whose.take() else { return };
        let (stuck, code) = (self.stuck.clone(), self.code.clone());
        let look = async move {
            tokio::select! {
                () = tokio::time::sleep(NOTICE) => {}
                () = stuck.stopping.cancelled() => return,
            }
            if code.strong_count() > 0 {
                stuck.switch_off(&whose).await;
            }
        };
        self.stuck.tasks.spawn_on(look, &self.runtime);
    }
}
