//! Connections without a request yet, and sockets that have not said who they are.
//!
//! When there are too many, the one that has been silent for longest is closed, not the newest refused: clients and apps speak
//! at once, so they get through while somebody holds as many silent connections as they like.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use parking_lot::{Mutex, MutexGuard};
use tokio_util::sync::CancellationToken;

/// Those that are waited for, by age.
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

/// A socket that has not said who it is. It counts until this is dropped.
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

    /// One more socket. The oldest goes where there are too many.
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
    /// Fires when others need the place. Never once this is dropped.
    pub(crate) fn eviction_token(&self) -> CancellationToken {
        self.evicted.clone()
    }

    /// What the socket says first. None where it takes too long, or others need its place.
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
    async fn the_oldest_silent_socket_makes_room_and_all_are_forgotten() {
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
    async fn a_silent_socket_has_so_much_time() {
        let all = PendingIntroductions::new(2, Duration::from_secs(5));
        assert_eq!(all.reserve().wait_for(pending::<Option<u8>>()).await, None);
    }
}
