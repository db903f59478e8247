//! Threads for work that outside data can make long: checks of values and of definitions.
//!
//! Nothing that runs here can be stopped from outside, so a place stays taken until its thread has really ended; whoever
//! waits goes on after a limit. There are few places, and few may wait for one. The workers of the server never run such
//! work themselves.

use std::{
    num::NonZero,
    panic::AssertUnwindSafe,
    sync::{
        Arc, LazyLock,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
    time::Duration,
};

use tokio::sync::{Semaphore, oneshot};

/// Longest time that anybody waits for one piece of work.
pub const WORK_TIMEOUT: Duration = Duration::from_secs(2);
/// The same for a whole set of definitions.
pub const SET_TIMEOUT: Duration = Duration::from_secs(20);
/// Longest time that anybody waits for a place.
pub const PLACE_TIMEOUT: Duration = Duration::from_secs(5);
/// Most pieces of work that wait for a place.
pub const MAX_WAITING: usize = 64;
/// Fewest and most threads at once; half of the processors lie between.
const THREADS: (usize, usize) = (2, 8);
/// Stack of each thread. Checks are nested as deep as schema and value together.
const STACK_BYTES: usize = 16 * 1024 * 1024;

/// Why there is no result.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum PoolError {
    /// It takes too long; it may still be running.
    #[error("it takes too long")]
    Overran,
    /// There is no place.
    #[error("too much work of this kind is under way; try again shortly")]
    Busy,
    /// It panicked.
    #[error("it failed")]
    Failed,
}

/// A bounded number of threads.
#[derive(Debug)]
pub struct WorkPool {
    places: Arc<Semaphore>,
    waiting: AtomicUsize,
    place_timeout: Duration,
}

/// The threads of this process.
static POOL: LazyLock<WorkPool> = LazyLock::new(|| {
    let processors = thread::available_parallelism().map_or(THREADS.0, NonZero::get);
    WorkPool::new((processors / 2).clamp(THREADS.0, THREADS.1))
});

impl WorkPool {
    /// The one pool of this process.
    pub fn shared() -> &'static Self {
        &POOL
    }

    /// A pool of that many threads.
    pub fn new(threads: usize) -> Self {
        Self {
            places: Arc::new(Semaphore::new(threads)),
            waiting: AtomicUsize::new(0),
            place_timeout: PLACE_TIMEOUT,
        }
    }

    /// Threads that could begin work now.
    pub fn free(&self) -> usize {
        self.places.available_permits()
    }

    /// Runs work on a thread of its own.
    pub async fn run<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, PoolError> {
        self.run_within(WORK_TIMEOUT, work).await
    }

    /// Runs work that may take longer than a check.
    pub async fn run_within<T: Send + 'static>(
        &self,
        limit: Duration,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, PoolError> {
        let place = self.place().await?;
        let (done, result) = oneshot::channel();
        let run = move || {
            let ran = std::panic::catch_unwind(AssertUnwindSafe(work));
            // Free before anybody hears of it, so that they can come back at once.
            drop(place);
            let _ = done.send(ran.map_err(|_panic| PoolError::Failed));
        };
        thread::Builder::new()
            .name("toolyard-checks".to_owned())
            .stack_size(STACK_BYTES)
            .spawn(run)
            .map_err(|_| PoolError::Busy)?;
        match tokio::time::timeout(limit, result).await {
            Ok(Ok(ran)) => ran,
            Ok(Err(_gone)) => Err(PoolError::Failed),
            Err(_elapsed) => Err(PoolError::Overran),
        }
    }

    async fn place(&self) -> Result<tokio::sync::OwnedSemaphorePermit, PoolError> {
        if let Ok(place) = self.places.clone().try_acquire_owned() {
            return Ok(place);
        }
        let _waiting = WaitingPermit::enter(&self.waiting).ok_or(PoolError::Busy)?;
        match tokio::time::timeout(self.place_timeout, self.places.clone().acquire_owned()).await {
            Ok(Ok(place)) => Ok(place),
            Ok(Err(_)) | Err(_) => Err(PoolError::Busy),
        }
    }
}

/// One that waits for a place; gone when dropped.
struct WaitingPermit<'a>(&'a AtomicUsize);

impl<'a> WaitingPermit<'a> {
    fn enter(count: &'a AtomicUsize) -> Option<Self> {
        let place = |now: usize| (now < MAX_WAITING).then_some(now + 1);
        count.fetch_update(Ordering::AcqRel, Ordering::Acquire, place).ok()?;
        Some(Self(count))
    }
}

impl Drop for WaitingPermit<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::AcqRel);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use super::*;

    #[tokio::test]
    async fn a_place_stays_taken_until_the_thread_ended() {
        let pool = WorkPool { place_timeout: Duration::ZERO, ..WorkPool::new(1) };
        let (end, ended) = mpsc::channel::<()>();
        let overran = pool.run_within(Duration::ZERO, move || ended.recv()).await;
        assert_eq!(overran.unwrap_err(), PoolError::Overran);
        assert_eq!(pool.free(), 0);
        assert_eq!(pool.run(|| 1).await.unwrap_err(), PoolError::Busy);
        drop(end);
        let _ended = pool.places.acquire().await.unwrap();
    }

    #[tokio::test]
    async fn few_may_wait() {
        let pool = WorkPool::new(0);
        pool.waiting.store(MAX_WAITING, Ordering::Release);
        assert_eq!(pool.run(|| 1).await.unwrap_err(), PoolError::Busy);
    }

    #[tokio::test]
    async fn work_that_panics_frees_its_place() {
        let pool = WorkPool::new(1);
        let failed: Result<(), _> = pool.run(|| panic!("on purpose")).await;
        assert_eq!(failed, Err(PoolError::Failed));
        assert_eq!(pool.run(|| 7).await.unwrap(), 7);
    }
}
