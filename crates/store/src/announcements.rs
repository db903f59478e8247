//! Announcements inside one process, backed by the store's change log.

use std::{
    collections::HashMap,
    sync::{Arc, Weak},
};

use async_trait::async_trait;
use parking_lot::{Mutex, MutexGuard, RwLock};
use toolyard_core::ports::{Announcement, Announcements, Change, ChangeSubscriber, StoreError};

/// Changes that are read from the log in one page.
const PAGE: u32 = 500;

/// The store's numbered log of changes, written in the transactions that make them.
#[async_trait]
pub(crate) trait ChangeLog: Send + Sync {
    /// The number of the last change.
    async fn latest_version(&self) -> Result<u64, StoreError>;
    /// Changes after that version, the oldest first. None if some of them were pruned.
    async fn changes_since(&self, version: u64, limit: u32) -> Result<Option<Vec<Announcement>>, StoreError>;
}

/// Announces changes to every subscriber of this process.
pub(crate) struct LocalAnnouncements {
    log: Arc<dyn ChangeLog>,
    subscribers: RwLock<Vec<Weak<dyn ChangeSubscriber>>>,
    delivered: Mutex<DeliveredChanges>,
}

/// What was delivered to subscribers.
struct DeliveredChanges {
    /// All changes up to this version.
    up_to: u64,
    /// Later changes that this process announced itself, with at least that version.
    own: HashMap<Change, u64>,
}

impl LocalAnnouncements {
    /// Starts at the current version: no cache holds anything older.
    pub(crate) async fn start(log: Arc<dyn ChangeLog>) -> Result<Self, StoreError> {
        let delivered = DeliveredChanges { up_to: log.latest_version().await?, own: HashMap::new() };
        Ok(Self { log, subscribers: RwLock::default(), delivered: Mutex::new(delivered) })
    }

    fn lock_delivered(&self) -> MutexGuard<'_, DeliveredChanges> {
        self.delivered.lock()
    }

    fn live_subscribers(&self) -> Vec<Arc<dyn ChangeSubscriber>> {
        let subscribers = self.subscribers.read();
        subscribers.iter().filter_map(Weak::upgrade).collect()
    }

    async fn deliver(&self, announcement: &Announcement) {
        let subscribers = self.live_subscribers();
        // Invalidate all caches first, so that live components read the new state.
        subscribers.iter().for_each(|subscriber| subscriber.invalidate(&announcement.change));
        for subscriber in subscribers {
            subscriber.follow(announcement).await;
        }
    }

    /// Whether this process announced that change itself, at this version or later.
    fn is_own(&self, announcement: &Announcement) -> bool {
        let delivered = self.lock_delivered();
        delivered.own.get(&announcement.change).is_some_and(|version| *version >= announcement.version)
    }

    fn advance_to(&self, version: u64) {
        let mut delivered = self.lock_delivered();
        delivered.up_to = delivered.up_to.max(version);
        let up_to = delivered.up_to;
        delivered.own.retain(|_, version| *version > up_to);
    }
}

#[async_trait]
impl Announcements for LocalAnnouncements {
    async fn announce(&self, change: Change) {
        let version = match self.log.latest_version().await {
            Ok(version) => {
                self.lock_delivered().own.insert(change.clone(), version);
                version
            }
            // It will be found in the log later, and announced again.
            Err(error) => {
                tracing::error!(%error, ?change, "change version not read");
                0
            }
        };
        self.deliver(&Announcement { version, change }).await;
    }

    fn notify(&self, change: &Change) {
        self.live_subscribers().iter().for_each(|subscriber| subscriber.invalidate(change));
    }

    fn subscribe(&self, subscriber: Weak<dyn ChangeSubscriber>) {
        let mut subscribers = self.subscribers.write();
        subscribers.retain(|subscriber| subscriber.strong_count() > 0);
        subscribers.push(subscriber);
    }

    async fn catch_up(&self) -> Result<usize, StoreError> {
        let mut missed = 0;
        loop {
            let up_to = self.lock_delivered().up_to;
            let Some(page) = self.log.changes_since(up_to, PAGE).await? else {
                let version = self.log.latest_version().await?;
                tracing::warn!(
                    up_to,
                    version,
                    "missed changes were pruned from the log; dropping all caches"
                );
                self.deliver(&Announcement { version, change: Change::Everything }).await;
                self.advance_to(version);
                return Ok(missed + 1);
            };
            let is_last = page.len() < PAGE as usize;
            for announcement in page {
                if !self.is_own(&announcement) {
                    self.deliver(&announcement).await;
                    missed += 1;
                }
                self.advance_to(announcement.version);
            }
            if is_last {
                return Ok(missed);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A log with scripted content.
    #[derive(Default)]
    struct ScriptedLog(Mutex<Vec<Announcement>>);

    impl ScriptedLog {
        fn write(&self, change: Change) {
            let mut log = self.0.lock();
            let version = log.last().map_or(1, |last| last.version + 1);
            log.push(Announcement { version, change });
        }
    }

    #[async_trait]
    impl ChangeLog for ScriptedLog {
        async fn latest_version(&self) -> Result<u64, StoreError> {
            Ok(self.0.lock().last().map_or(0, |last| last.version))
        }

        async fn changes_since(
            &self,
            version: u64,
            limit: u32,
        ) -> Result<Option<Vec<Announcement>>, StoreError> {
            let log = self.0.lock();
            if log.first().is_some_and(|first| first.version > version + 1) {
                return Ok(None);
            }
            let later = log.iter().filter(|one| one.version > version);
            Ok(Some(later.take(limit as usize).cloned().collect()))
        }
    }

    #[derive(Default)]
    struct Recorder {
        invalidated: Mutex<Vec<Change>>,
        followed: Mutex<Vec<Announcement>>,
    }

    #[async_trait]
    impl ChangeSubscriber for Recorder {
        fn invalidate(&self, change: &Change) {
            self.invalidated.lock().push(change.clone());
        }

        async fn follow(&self, announcement: &Announcement) {
            assert_eq!(self.invalidated.lock().last(), Some(&announcement.change), "caches come first");
            self.followed.lock().push(announcement.clone());
        }
    }

    async fn start() -> (Arc<ScriptedLog>, LocalAnnouncements, Arc<Recorder>) {
        let log = Arc::new(ScriptedLog::default());
        let announcements = LocalAnnouncements::start(log.clone()).await.unwrap();
        let recorder = Arc::new(Recorder::default());
        announcements.subscribe(Arc::downgrade(&(recorder.clone() as Arc<dyn ChangeSubscriber>)));
        (log, announcements, recorder)
    }

    fn view(user: &str) -> Change {
        Change::ViewChanged(user.parse().unwrap())
    }

    #[tokio::test]
    async fn a_change_that_was_announced_is_not_announced_again() {
        let (log, announcements, recorder) = start().await;
        log.write(view("ada"));
        announcements.announce(view("ada")).await;
        assert_eq!(announcements.catch_up().await.unwrap(), 0);
        assert_eq!(*recorder.followed.lock(), [Announcement { version: 1, change: view("ada") }]);
        // The same change again is a new change.
        log.write(view("ada"));
        assert_eq!(announcements.catch_up().await.unwrap(), 1);
    }

    #[tokio::test]
    async fn a_change_that_was_not_announced_is_found_in_the_log() {
        let (log, announcements, recorder) = start().await;
        log.write(view("ada"));
        log.write(view("bob"));
        announcements.announce(view("bob")).await;
        assert_eq!(announcements.catch_up().await.unwrap(), 1);
        assert_eq!(*recorder.invalidated.lock(), [view("bob"), view("ada")]);
        assert_eq!(announcements.catch_up().await.unwrap(), 0);
    }

    #[tokio::test]
    async fn more_than_the_log_holds_drops_every_cache() {
        let (log, announcements, recorder) = start().await;
        (0..3).for_each(|_| log.write(view("ada")));
        log.0.lock().drain(..2);
        assert_eq!(announcements.catch_up().await.unwrap(), 1);
        assert_eq!(*recorder.invalidated.lock(), [Change::Everything]);
        assert_eq!(announcements.catch_up().await.unwrap(), 0);
    }

    #[tokio::test]
    async fn live_changes_only_drop_caches_and_dropped_subscribers_get_nothing() {
        let (_log, announcements, recorder) = start().await;
        announcements.notify(&Change::UpstreamStatusChanged);
        assert!(recorder.followed.lock().is_empty());
        assert_eq!(recorder.invalidated.lock().len(), 1);
        drop(recorder);
        assert!(announcements.live_subscribers().is_empty());
    }
}
