//! Runs blocking work off the caller's thread, and signals it when the caller no longer waits.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tokio::time::Instant;

/// Extra time for the work to notice that its limit is over.
const GRACE: Duration = Duration::from_millis(500);

/// Why work has no result.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum UnfinishedWork {
    /// It continued after its time limit, and was abandoned.
    TooSlow,
    /// It panicked.
    Failed,
}

/// Runs work to completion.
pub(crate) async fn run_blocking<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, UnfinishedWork> {
    tokio::task::spawn_blocking(work).await.map_err(|_| UnfinishedWork::Failed)
}

/// Runs work that regularly checks whether its time is over. It is over as soon as this future is dropped.
pub(crate) async fn run_until<T: Send + 'static>(
    limit: Duration,
    work: impl FnOnce(&(dyn Fn() -> bool + Sync)) -> T + Send + 'static,
) -> Result<T, UnfinishedWork> {
    let left = Arc::new(AtomicBool::new(false));
    let _leaving = CancelFlagGuard(Arc::clone(&left));
    let end = Instant::now() + limit;
    let running = run_blocking(move || work(&|| left.load(Ordering::Relaxed) || Instant::now() >= end));
    tokio::time::timeout(limit + GRACE, running).await.unwrap_or(Err(UnfinishedWork::TooSlow))
}

struct CancelFlagGuard(Arc<AtomicBool>);

impl Drop for CancelFlagGuard {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use super::*;

    const LONG: Duration = Duration::from_secs(60);

    #[tokio::test]
    async fn work_ends_when_its_time_is_over() {
        let done = run_until(Duration::from_millis(5), |is_over| {
            while !is_over() {
                std::thread::yield_now();
            }
            7
        });
        assert_eq!(done.await, Ok(7));
    }

    #[tokio::test]
    async fn work_ends_when_the_caller_leaves() {
        let (begun, has_begun) = mpsc::channel();
        let (ended, has_ended) = mpsc::channel();
        let work = run_until(LONG, move |is_over| {
            begun.send(()).unwrap();
            while !is_over() {
                std::thread::yield_now();
            }
            ended.send(()).unwrap();
        });
        let mut work = Box::pin(work);
        let waited = tokio::time::timeout(Duration::from_millis(1), &mut work).await;
        assert!(waited.is_err());
        has_begun.recv().unwrap();
        drop(work);
        has_ended.recv_timeout(LONG).unwrap();
    }

    #[tokio::test(start_paused = true)]
    async fn work_that_does_not_listen_is_left_alone() {
        let (release, released) = mpsc::channel::<()>();
        // With a paused clock, time advances as soon as every task waits; a blocking thread counts as running work.
        let outcome = tokio::time::timeout(LONG, async {
            tokio::select! {
                // Its timer must be set before the clock is advanced.
                biased;
                outcome = run_until(Duration::from_millis(5), move |_| { let _ = released.recv(); }) => outcome,
                () = async { tokio::time::advance(Duration::from_secs(1)).await; std::future::pending().await } => Ok(()),
            }
        });
        assert_eq!(outcome.await, Ok(Err(UnfinishedWork::TooSlow)));
        drop(release);
    }

    #[tokio::test]
    async fn a_panic_is_reported() {
        assert_eq!(run_blocking(|| -> u8 { panic!("on purpose") }).await, Err(UnfinishedWork::Failed));
    }
}
