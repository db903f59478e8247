//! Records that are not written yet. A call leaves its record here and returns; the writer is woken once for each
//! batch.

use std::{
    collections::VecDeque,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

use parking_lot::{Mutex, MutexGuard};
use tokio::{
    sync::Notify,
    time::{Duration, sleep},
};
use toolyard_core::ports::CallRecord;

/// Full batches that may be unwritten. Beyond them new calls are refused, so the backlog is bounded by these and the
/// calls that were already in flight (`calls.in_flight`).
const MAX_UNWRITTEN_BATCHES: usize = 8;
/// How long an ended call waits for room, which slows callers down to the speed of the disk. After that the store is
/// broken and the caller gets its response anyway; the record is kept.
const ROOM_TIMEOUT: Duration = Duration::from_secs(5);

/// Records that are not written yet.
pub(super) struct Backlog {
    records: Mutex<BacklogState>,
    batch_size: usize,
    lost: AtomicU64,
    /// Notified when the first record is queued.
    pub(super) begun: Notify,
    /// Notified when a batch is full.
    pub(super) full: Notify,
    /// Notified when there is room again.
    room: Notify,
}

#[derive(Default)]
struct BacklogState {
    queued: VecDeque<Arc<CallRecord>>,
    /// Taken by the writer, but not written yet.
    taken: usize,
}

impl Backlog {
    pub(super) fn new(batch_size: usize) -> Self {
        Self {
            records: Mutex::default(),
            batch_size: batch_size.max(1),
            lost: AtomicU64::new(0),
            begun: Notify::new(),
            full: Notify::new(),
            room: Notify::new(),
        }
    }

    fn lock(&self) -> MutexGuard<'_, BacklogState> {
        self.records.lock()
    }

    fn capacity(&self) -> usize {
        self.batch_size.saturating_mul(MAX_UNWRITTEN_BATCHES)
    }

    /// Queues a record as soon as there is room, or after a timeout.
    pub(super) async fn push(&self, record: Arc<CallRecord>) {
        let patience = sleep(ROOM_TIMEOUT);
        tokio::pin!(patience);
        let mut may_wait = true;
        loop {
            let room = self.room.notified();
            {
                let mut records = self.lock();
                if records.queued.len() + records.taken < self.capacity() || !may_wait {
                    records.queued.push_back(record);
                    match records.queued.len() {
                        1 => self.begun.notify_one(),
                        len if len == self.batch_size => self.full.notify_one(),
                        _ => {}
                    }
                    return;
                }
            }
            tokio::select! {
                () = room => {}
                () = &mut patience => may_wait = false,
            }
        }
    }

    /// Takes at most one batch, for a writer that already holds `held` records.
    pub(super) fn take_batch(&self, held: usize) -> Vec<Arc<CallRecord>> {
        let mut records = self.lock();
        let count = records.queued.len().min(self.batch_size);
        let batch: Vec<_> = records.queued.drain(..count).collect();
        records.taken = held + batch.len();
        batch
    }

    /// Sets how many unwritten records the writer holds.
    pub(super) fn set_taken(&self, taken: usize) {
        self.lock().taken = taken;
        self.room.notify_waiters();
    }

    pub(super) fn has_queued(&self) -> bool {
        !self.lock().queued.is_empty()
    }

    /// The number of unwritten records.
    pub(super) fn unwritten_count(&self) -> usize {
        let records = self.lock();
        records.queued.len() + records.taken
    }

    /// Whether there is no room for another call.
    pub(super) fn is_full(&self) -> bool {
        self.unwritten_count() >= self.capacity()
    }

    /// Whether a call gave up waiting for room.
    pub(super) fn is_overfull(&self) -> bool {
        self.unwritten_count() > self.capacity()
    }

    /// Counts lost records.
    pub(super) fn count_lost(&self, count: usize, why: &str) {
        if count > 0 {
            self.lost.fetch_add(count as u64, Ordering::Relaxed);
            tracing::error!(count, why, "call records lost");
        }
    }

    pub(super) fn lost_count(&self) -> u64 {
        self.lost.load(Ordering::Relaxed)
    }
}
