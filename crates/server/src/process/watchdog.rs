//! Looks for worker threads that make no progress: stuck in code that never yields.
//!
//! A plain thread, because it has to run when no worker does. Time is counted in its own looks and not by a clock: a machine
//! that slept, or a process that was stopped and continued, has not been stuck.

use std::{
    io,
    sync::{
        Arc,
        atomic::{AtomicU64, AtomicUsize, Ordering},
        mpsc::{self, RecvTimeoutError},
    },
    thread,
    time::Duration,
};

use tokio::runtime::{Handle, RuntimeMetrics};

/// Looks within the time after which a worker counts as stuck.
const LOOKS: u32 = 4;

/// What the watchdog saw last. Cheap to clone.
#[derive(Debug, Clone, Default)]
pub(crate) struct WorkerHealth(Arc<WorkerCounters>);

#[derive(Debug, Default)]
struct WorkerCounters {
    stuck: AtomicUsize,
    stalls: AtomicU64,
}

impl WorkerHealth {
    /// Workers that are stuck now.
    pub(crate) fn stuck_workers(&self) -> usize {
        self.0.stuck.load(Ordering::Relaxed)
    }

    /// How often a worker got stuck.
    pub(crate) fn stall_count(&self) -> u64 {
        self.0.stalls.load(Ordering::Relaxed)
    }
}

/// The thread. It ends when this is dropped.
pub(crate) struct Watchdog {
    _alive: mpsc::SyncSender<()>,
}

impl Watchdog {
    /// Watches the workers of a runtime. One that makes no progress for `stuck_after` is stuck.
    pub(crate) fn start(handle: &Handle, stuck_after: Duration, health: &WorkerHealth) -> io::Result<Self> {
        let (alive, ended) = mpsc::sync_channel(0);
        let (metrics, health, pause) = (handle.metrics(), health.clone(), stuck_after / LOOKS);
        let mut workers = vec![WatchedWorker::default(); metrics.num_workers()];
        let watches = move || {
            while ended.recv_timeout(pause) == Err(RecvTimeoutError::Timeout) {
                check_workers(&metrics, &mut workers, pause, &health);
            }
        };
        thread::Builder::new().name("toolyard-watchdog".to_owned()).spawn(watches)?;
        Ok(Self { _alive: alive })
    }
}

fn check_workers(
    metrics: &RuntimeMetrics,
    workers: &mut [WatchedWorker],
    pause: Duration,
    health: &WorkerHealth,
) {
    let mut stuck = 0;
    for (number, worker) in workers.iter_mut().enumerate() {
        let progress = WorkerProgress {
            parks: metrics.worker_park_unpark_count(number),
            busy: metrics.worker_total_busy_duration(number),
        };
        match worker.check_progress(progress) {
            WorkerStatus::Fine => {}
            WorkerStatus::Recovered(looks) => {
                let ms = duration_millis(pause * looks);
                tracing::warn!(worker = number, ms, "a worker thread makes progress again");
            }
            WorkerStatus::Stuck(looks) => {
                stuck += 1;
                if looks == LOOKS {
                    health.0.stalls.fetch_add(1, Ordering::Relaxed);
                }
                // At first, and then more and more seldom.
                if looks.is_power_of_two() {
                    let (ms, waiting) = (duration_millis(pause * looks), metrics.global_queue_depth());
                    let of = metrics.num_workers();
                    tracing::error!(worker = number, of, ms, waiting, "a worker thread makes no progress");
                }
            }
        }
    }
    health.0.stuck.store(stuck, Ordering::Relaxed);
}

fn duration_millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

/// How far a worker has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct WorkerProgress {
    /// How often it went to sleep and woke up. Odd while it sleeps.
    parks: u64,
    /// How long it has worked. Moves every few tasks.
    busy: Duration,
}

impl WorkerProgress {
    fn is_parked(self) -> bool {
        self.parks % 2 == 1
    }
}

#[derive(Debug, Clone, Copy, Default)]
struct WatchedWorker {
    last: WorkerProgress,
    /// Looks in a row that found it working, and no further than before.
    unmoved: u32,
}

#[derive(Debug, PartialEq, Eq)]
enum WorkerStatus {
    Fine,
    Stuck(u32),
    Recovered(u32),
}

impl WatchedWorker {
    fn check_progress(&mut self, now: WorkerProgress) -> WorkerStatus {
        if now == self.last && !now.is_parked() {
            self.unmoved = self.unmoved.saturating_add(1);
            return if self.unmoved >= LOOKS {
                WorkerStatus::Stuck(self.unmoved)
            } else {
                WorkerStatus::Fine
            };
        }
        self.last = now;
        match std::mem::take(&mut self.unmoved) {
            looks if looks >= LOOKS => WorkerStatus::Recovered(looks),
            _ => WorkerStatus::Fine,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(parks: u64, busy: u64) -> WorkerProgress {
        WorkerProgress { parks, busy: Duration::from_secs(busy) }
    }

    #[test]
    fn only_a_worker_that_works_and_does_not_move_is_stuck() {
        let mut idle = WatchedWorker::default();
        assert!((0..20).all(|_| idle.check_progress(at(1, 0)) == WorkerStatus::Fine), "it sleeps");
        let mut busy = WatchedWorker::default();
        assert!((0..20).all(|second| busy.check_progress(at(2, second)) == WorkerStatus::Fine), "it moves");
        let mut stuck = WatchedWorker::default();
        let seen: Vec<_> = (0..=LOOKS).map(|_| stuck.check_progress(at(2, 1))).collect();
        assert!(seen[..LOOKS as usize].iter().all(|look| *look == WorkerStatus::Fine), "{seen:?}");
        assert_eq!(seen[LOOKS as usize], WorkerStatus::Stuck(LOOKS));
        assert_eq!(stuck.check_progress(at(2, 2)), WorkerStatus::Recovered(LOOKS));
        assert_eq!(stuck.check_progress(at(2, 2)), WorkerStatus::Fine);
    }
}
