//! Notifies web pages when a list that they show has changed.
//!
//! A page subscribes, and reloads a list when it is notified. A notification names the lists, never their content, so one
//! feed serves all users, and each stream filters by its subscriber.

use std::sync::Arc;

use dashmap::DashMap;
use tokio::sync::broadcast;
use toolyard_core::ports::Change;

/// Changes that a slow stream may lag behind. If it lags further, the page reloads all of its lists.
const FEED_DEPTH: usize = 256;
/// Concurrent streams of one person. A browser opens six connections to a server, so this is enough for several browsers.
pub(crate) const MAX_STREAMS_PER_PERSON: usize = 32;

/// The changes of this node and their subscribers.
pub(crate) struct ChangeFeed {
    sender: broadcast::Sender<Change>,
    streams: Arc<DashMap<String, usize>>,
}

impl Default for ChangeFeed {
    fn default() -> Self {
        Self { sender: broadcast::channel(FEED_DEPTH).0, streams: Arc::default() }
    }
}

impl ChangeFeed {
    /// Sends a change to all subscribers, except for updated resources, which no web page lists.
    pub(crate) fn publish(&self, change: &Change) {
        if !matches!(change, Change::ResourceUpdated { .. }) {
            // An error only means that there is no subscriber.
            let _ = self.sender.send(change.clone());
        }
    }

    /// Follows all changes, for a part of this server.
    pub(crate) fn follow(&self) -> broadcast::Receiver<Change> {
        self.sender.subscribe()
    }

    /// Subscribes a person. None if they have too many streams.
    pub(crate) fn subscribe(&self, person: &str) -> Option<ChangeSubscription> {
        let mut count = self.streams.entry(person.to_owned()).or_default();
        if *count >= MAX_STREAMS_PER_PERSON {
            return None;
        }
        *count += 1;
        let place = ChangeStreamSlot { person: person.to_owned(), streams: self.streams.clone() };
        drop(count);
        Some(ChangeSubscription { changes: self.sender.subscribe(), _place: place })
    }
}

/// One stream of changes.
pub(crate) struct ChangeSubscription {
    pub(crate) changes: broadcast::Receiver<Change>,
    _place: ChangeStreamSlot,
}

/// Frees the slot when the stream ends.
struct ChangeStreamSlot {
    person: String,
    streams: Arc<DashMap<String, usize>>,
}

impl Drop for ChangeStreamSlot {
    fn drop(&mut self) {
        self.streams.remove_if_mut(&self.person, |_, count| {
            *count = count.saturating_sub(1);
            *count == 0
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn streams_per_person_are_limited_and_slots_are_freed() {
        let feed = ChangeFeed::default();
        let mut open: Vec<_> = (0..MAX_STREAMS_PER_PERSON).map(|_| feed.subscribe("ada").unwrap()).collect();
        assert!(feed.subscribe("ada").is_none());
        assert!(feed.subscribe("bob").is_some(), "each person has a limit of their own");
        open.pop();
        assert!(feed.subscribe("ada").is_some());
        open.clear();
        assert!(feed.streams.is_empty());
    }
}
