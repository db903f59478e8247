//! Limits connections without a request yet, and sockets that are not authenticated yet.
//!
//! If there are too many, the oldest is closed instead of refusing the newest. Real clients and apps send their first message
//! immediately, so they get through even if an attacker opens many silent connections.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use parking_lot::{Mutex, MutexGuard};
use tokio_util::sync::CancellationToken;

/// Connections that have not sent their first message, by age.
pub(crate) struct PendingIntroductions {
    limit: usize,
    timeout: Duration,
    waiting: Arc<Mutex<WaitingSockets>>,
}

#[derive(Default)]
struct WaitingSockets {
    next: u64,
    sockets: BTreeMap<u64, CancellationToken>,
}

/// A connection that has not sent its first message. Dropping it frees the slot.
pub(crate) struct IntroductionSlot {
    waiting: Arc<Mutex<WaitingSockets>>,
    number: u64,
    evicted: CancellationToken,
    timeout: Duration,
}

impl PendingIntroductions {
    pub(super) fn new(most: usize, timeout: Duration) -> Self {
        Self { limit: most, timeout, waiting: Arc::default() }
    }

    /// Reserves a slot. If there are too many, the oldest connection is evicted.
    pub(crate) fn reserve(&self) -> IntroductionSlot {
        let evicted = CancellationToken::new();
        let mut waiting = lock_sockets(&self.waiting);
        let number = waiting.next;
        waiting.next += 1;
        waiting.sockets.insert(number, evicted.clone());
        while waiting.sockets.len() > self.limit
            && let Some((_, oldest)) = waiting.sockets.pop_first()
        {
            oldest.cancel();
        }
        IntroductionSlot { waiting: self.waiting.clone(), number, evicted, timeout: self.timeout }
    }
}

impl IntroductionSlot {
    /// Fires when this connection is evicted. Never after this slot is dropped.
    pub(crate) fn eviction_token(&self) -> CancellationToken {
        self.evicted.clone()
    }

    /// Waits for the first message. None after the timeout, or if this connection is evicted.
    pub(crate) async fn wait_for<T>(&self, first: impl Future<Output = Option<T>>) -> Option<T> {
        tokio::select! {
            biased;
            first = first => first,
            () = self.evicted.cancelled() => None,
            () = tokio::time::sleep(self.timeout) => None,
        }
    }
}

impl Drop for IntroductionSlot {
    fn drop(&mut self) {
        lock_sockets(&self.waiting).sockets.remove(&self.number);
    }
}

fn lock_sockets(waiting: &Mutex<WaitingSockets>) -> MutexGuard<'_, WaitingSockets> {
    waiting.lock()
}

#[cfg(test)]
mod tests {
    use std::future::{pending, ready};

    use super::*;

    #[tokio::test]
    async fn the_oldest_silent_socket_is_evicted_and_slots_are_freed() {
        let all = PendingIntroductions::new(2, Duration::from_secs(60));
        let (first, second) = (all.reserve(), all.reserve());
        assert_eq!(first.wait_for(ready(Some(1))).await, Some(1));
        let third = all.reserve();
        assert_eq!(first.wait_for(pending::<Option<u8>>()).await, None);
        assert_eq!(second.wait_for(ready(Some(2))).await, Some(2));
        assert_eq!(lock_sockets(&all.waiting).sockets.len(), 2);
        drop((first, second, third));
        assert!(lock_sockets(&all.waiting).sockets.is_empty());
    }

    #[tokio::test(start_paused = true)]
    async fn a_silent_socket_times_out() {
        let all = PendingIntroductions::new(2, Duration::from_secs(5));
        assert_eq!(all.reserve().wait_for(pending::<Option<u8>>()).await, None);
    }
}
