//! Records that wait to be written. A call leaves its record here and is answered; the writer is woken once a batch.

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

/// Full batches that may be unwritten. Beyond them new calls are refused, so no more can be unwritten than these and the calls
/// that were under way already (`calls.in_flight`).
const MAX_UNWRITTEN_BATCHES: usize = 8;
/// How long a call that has ended waits for room, which slows callers down to what the disk takes. After that the store is
/// broken, and the caller has to be answered; the record is kept all the same.
const ROOM_TIMEOUT: Duration = Duration::from_secs(5);

/// What is not written yet.
pub(super) struct Backlog {
    records: Mutex<BacklogState>,
    batch_size: usize,
    lost: AtomicU64,
    /// The first one came.
    pub(super) begun: Notify,
    /// A batch is full.
    pub(super) full: Notify,
    /// There is room again.
    room: Notify,
}

#[derive(Default)]
struct BacklogState {
    queued: VecDeque<Arc<CallRecord>>,
    /// Taken by the writer, and not written yet.
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

    /// Queues a record, once there is room, or when there has been none for too long.
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

    /// At most one batch of what is queued, for a writer that holds `held` already.
    pub(super) fn take_batch(&self, held: usize) -> Vec<Arc<CallRecord>> {
        let mut records = self.lock();
        let count = records.queued.len().min(self.batch_size);
        let batch: Vec<_> = records.queued.drain(..count).collect();
        records.taken = held + batch.len();
        batch
    }

    /// The writer holds so many that are not written.
    pub(super) fn set_taken(&self, taken: usize) {
        self.lock().taken = taken;
        self.room.notify_waiters();
    }

    pub(super) fn has_queued(&self) -> bool {
        !self.lock().queued.is_empty()
    }

    /// How many are not written.
    pub(super) fn unwritten_count(&self) -> usize {
        let records = self.lock();
        records.queued.len() + records.taken
    }

    /// Whether there is no room for another call.
    pub(super) fn is_full(&self) -> bool {
        self.unwritten_count() >= self.capacity()
    }

    /// Whether a call waited for room in vain.
    pub(super) fn is_overfull(&self) -> bool {
        self.unwritten_count() > self.capacity()
    }

    /// Counts records that are gone.
    pub(super) fn count_lost(&self, count: usize, why: &str) {
        if count > 0 {
            self.lost.fetch_add(count as u64, Ordering::Relaxed);
            tracing::error!(count, why, "records of calls are lost");
        }
    }

    pub(super) fn lost_count(&self) -> u64 {
        self.lost.load(Ordering::Relaxed)
    }
}
