//! Changes of lists on their way to pages that show them.
//!
//! A page that shows a list subscribes and reads the list again when it is told to. It is told which lists, never what is
//! in them, so one feed serves everybody and each stream filters by who listens.

use std::sync::Arc;

use dashmap::DashMap;
use tokio::sync::broadcast;
use toolyard_core::ports::Change;

/// Changes that a slow stream may lag behind. One that lags further reads all of its lists again.
const FEED_DEPTH: usize = 256;
/// Streams of one person at once: a browser opens six connections to a server, so this is several browsers.
pub(crate) const MAX_STREAMS_PER_PERSON: usize = 32;

/// The changes of this node, and who listens.
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
    /// Passes a change on. Resources are read by MCP clients, and are in no list here.
    pub(crate) fn publish(&self, change: &Change) {
        if !matches!(change, Change::ResourceUpdated { .. }) {
            // Nobody listens: nobody has to be told.
            let _ = self.sender.send(change.clone());
        }
    }

    /// Subscribes a person. None where they have too many streams.
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

/// Gives the place back when the stream ends.
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
    fn streams_of_one_person_are_bounded_and_places_come_back() {
        let feed = ChangeFeed::default();
        let mut open: Vec<_> = (0..MAX_STREAMS_PER_PERSON).map(|_| feed.subscribe("ada").unwrap()).collect();
        assert!(feed.subscribe("ada").is_none());
        assert!(feed.subscribe("bob").is_some(), "another person's are their own");
        open.pop();
        assert!(feed.subscribe("ada").is_some());
        open.clear();
        assert!(feed.streams.is_empty());
    }
}
