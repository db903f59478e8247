//! Detects worker threads that make no progress because they are stuck in code that never yields.
//!
//! It is a plain thread, because it must run when no worker does. Time is counted in checks instead of by a clock: after a
//! machine slept, or a process was stopped and continued, no worker has been stuck.

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

/// Checks within the time after which a worker counts as stuck.
const CHECKS_UNTIL_STUCK: u32 = 4;

/// The latest result of the watchdog. Cheap to clone.
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

/// The watchdog thread. It ends when this is dropped.
pub(crate) struct Watchdog {
    _alive: mpsc::SyncSender<()>,
}

impl Watchdog {
    /// Watches the workers of a runtime. A worker without progress for `stuck_after` is stuck.
    pub(crate) fn start(handle: &Handle, stuck_after: Duration, health: &WorkerHealth) -> io::Result<Self> {
        let (alive, ended) = mpsc::sync_channel(0);
        let (metrics, health, pause) = (handle.metrics(), health.clone(), stuck_after / CHECKS_UNTIL_STUCK);
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
            WorkerStatus::Recovered(checks) => {
                let duration_ms = duration_millis(pause * checks);
                tracing::warn!(worker = number, duration_ms, "worker thread makes progress again");
            }
            WorkerStatus::Stuck(checks) => {
                stuck += 1;
                if checks == CHECKS_UNTIL_STUCK {
                    health.0.stalls.fetch_add(1, Ordering::Relaxed);
                }
                // Logged less and less often.
                if checks.is_power_of_two() {
                    let (duration_ms, queued) =
                        (duration_millis(pause * checks), metrics.global_queue_depth());
                    let workers = metrics.num_workers();
                    tracing::error!(
                        worker = number,
                        workers,
                        duration_ms,
                        queued,
                        "worker thread makes no progress"
                    );
                }
            }
        }
    }
    health.0.stuck.store(stuck, Ordering::Relaxed);
}

fn duration_millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

/// Counters of a worker that change while it makes progress.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct WorkerProgress {
    /// How often it was parked and unparked. Odd while it is parked.
    parks: u64,
    /// How long it has been busy. Updated every few tasks.
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
    /// Consecutive checks that found it busy and without progress.
    stalled_checks: u32,
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
            self.stalled_checks = self.stalled_checks.saturating_add(1);
            return if self.stalled_checks >= CHECKS_UNTIL_STUCK {
                WorkerStatus::Stuck(self.stalled_checks)
            } else {
                WorkerStatus::Fine
            };
        }
        self.last = now;
        match std::mem::take(&mut self.stalled_checks) {
            checks if checks >= CHECKS_UNTIL_STUCK => WorkerStatus::Recovered(checks),
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
    fn only_a_busy_worker_without_progress_is_stuck() {
        let mut idle = WatchedWorker::default();
        assert!((0..20).all(|_| idle.check_progress(at(1, 0)) == WorkerStatus::Fine), "it is parked");
        let mut busy = WatchedWorker::default();
        assert!(
            (0..20).all(|second| busy.check_progress(at(2, second)) == WorkerStatus::Fine),
            "it makes progress"
        );
        let mut stuck = WatchedWorker::default();
        let seen: Vec<_> = (0..=CHECKS_UNTIL_STUCK).map(|_| stuck.check_progress(at(2, 1))).collect();
        assert!(
            seen[..CHECKS_UNTIL_STUCK as usize].iter().all(|look| *look == WorkerStatus::Fine),
            "{seen:?}"
        );
        assert_eq!(seen[CHECKS_UNTIL_STUCK as usize], WorkerStatus::Stuck(CHECKS_UNTIL_STUCK));
        assert_eq!(stuck.check_progress(at(2, 2)), WorkerStatus::Recovered(CHECKS_UNTIL_STUCK));
        assert_eq!(stuck.check_progress(at(2, 2)), WorkerStatus::Fine);
    }
}
