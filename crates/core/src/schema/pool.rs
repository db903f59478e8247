//! Threads for work that untrusted data can make long: validation of values and definitions.
//!
//! Work here cannot be stopped from outside, so a place stays taken until its thread has ended, while its caller
//! continues after a timeout. The number of places and of waiting callers is small. Each owner has a share of both, so
//! that slow work of one app leaves room for others. The server's async workers never run such work.

use std::{
    collections::HashMap,
    num::NonZero,
    panic::AssertUnwindSafe,
    sync::{
        Arc, LazyLock,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
    time::Duration,
};

use parking_lot::Mutex;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, oneshot};
use toolyard_protocol::{PackageName, UserId};

/// Longest time that a caller waits for one piece of work.
pub const WORK_TIMEOUT: Duration = Duration::from_secs(2);
/// The same for a whole set of definitions.
pub const SET_TIMEOUT: Duration = Duration::from_secs(20);
/// Longest time that a caller waits for a place.
pub const PLACE_TIMEOUT: Duration = Duration::from_secs(5);
/// Most callers that wait for a place.
pub const MAX_WAITING: usize = 64;
/// Each owner has at most this fraction of the places and of the queue: half, and at least one.
const OWNER_PART: usize = 2;
/// How many owners are kept before idle ones are removed.
const MAX_IDLE_OWNERS: usize = 256;
/// Fewest and most threads; the default is half of the processors.
const THREADS: (usize, usize) = (2, 8);
/// Stack size of each thread. Validation nests as deep as schema and value together.
const STACK_BYTES: usize = 16 * 1024 * 1024;

/// Why there is no result.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum PoolError {
    /// It takes too long, and may still be running.
    #[error("timed out")]
    Overran,
    /// No place is free.
    #[error("too many validations are in progress; try again shortly")]
    Busy,
    /// It panicked.
    #[error("it failed")]
    Failed,
}

/// Who the work is accounted to.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct WorkOwner(Arc<str>);

impl WorkOwner {
    /// Work caused by the definitions of a package.
    pub fn for_package(package: &PackageName) -> Self {
        Self(format!("package:{package}").into())
    }

    /// Work caused by a user's request.
    pub fn for_user(user: &UserId) -> Self {
        Self(format!("user:{user}").into())
    }

    /// Work without an owner; all of it shares one share.
    pub fn anonymous() -> Self {
        Self("".into())
    }
}

/// A bounded pool of threads.
#[derive(Debug)]
pub struct WorkPool {
    places: Arc<Semaphore>,
    waiting: AtomicUsize,
    owners: Mutex<HashMap<WorkOwner, Arc<OwnerShare>>>,
    owner_places: usize,
    place_timeout: Duration,
}

/// The share of one owner.
#[derive(Debug)]
struct OwnerShare {
    places: Arc<Semaphore>,
    waiting: AtomicUsize,
}

/// A place in the pool, from an owner's share. Released on drop.
struct WorkPlace {
    _shared: OwnedSemaphorePermit,
    _owned: OwnedSemaphorePermit,
}

/// The pool of this process.
static POOL: LazyLock<WorkPool> = LazyLock::new(|| {
    let processors = thread::available_parallelism().map_or(THREADS.0, NonZero::get);
    WorkPool::new((processors / 2).clamp(THREADS.0, THREADS.1))
});

impl WorkPool {
    /// The pool of this process.
    pub fn global() -> &'static Self {
        &POOL
    }

    /// Creates a pool with this many threads.
    pub fn new(threads: usize) -> Self {
        Self {
            places: Arc::new(Semaphore::new(threads)),
            waiting: AtomicUsize::new(0),
            owners: Mutex::default(),
            owner_places: (threads / OWNER_PART).max(1),
            place_timeout: PLACE_TIMEOUT,
        }
    }

    /// The number of idle threads.
    pub fn free_threads(&self) -> usize {
        self.places.available_permits()
    }

    /// Runs work on its own thread.
    pub async fn run<T: Send + 'static>(
        &self,
        owner: &WorkOwner,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, PoolError> {
        self.run_within(owner, WORK_TIMEOUT, work).await
    }

    /// Runs work with another timeout.
    pub async fn run_within<T: Send + 'static>(
        &self,
        owner: &WorkOwner,
        limit: Duration,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, PoolError> {
        let place = self.acquire_place(owner).await?;
        let (done, result) = oneshot::channel();
        let run = move || {
            let ran = std::panic::catch_unwind(AssertUnwindSafe(work));
            // Release the place before the caller gets the result, so that it can submit again at once.
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

    /// Acquires a place, from the owner's share first: an owner over its share waits without taking places from others.
    async fn acquire_place(&self, owner: &WorkOwner) -> Result<WorkPlace, PoolError> {
        let share = self.owner_share(owner);
        if let Ok(owned) = share.places.clone().try_acquire_owned()
            && let Ok(shared) = self.places.clone().try_acquire_owned()
        {
            return Ok(WorkPlace { _shared: shared, _owned: owned });
        }
        let _own_turn =
            WaitingPermit::try_acquire(&share.waiting, MAX_WAITING / OWNER_PART).ok_or(PoolError::Busy)?;
        let _turn = WaitingPermit::try_acquire(&self.waiting, MAX_WAITING).ok_or(PoolError::Busy)?;
        let both = async {
            let owned = share.places.clone().acquire_owned().await.map_err(|_closed| PoolError::Busy)?;
            let shared = self.places.clone().acquire_owned().await.map_err(|_closed| PoolError::Busy)?;
            Ok(WorkPlace { _shared: shared, _owned: owned })
        };
        tokio::time::timeout(self.place_timeout, both).await.unwrap_or(Err(PoolError::Busy))
    }

    fn owner_share(&self, owner: &WorkOwner) -> Arc<OwnerShare> {
        let mut owners = self.owners.lock();
        if let Some(share) = owners.get(owner) {
            return share.clone();
        }
        if owners.len() >= MAX_IDLE_OWNERS {
            // Waiting work holds the share, running work holds its places.
            owners.retain(|_, share| Arc::strong_count(share) > 1 || Arc::strong_count(&share.places) > 1);
        }
        let share = Arc::new(OwnerShare {
            places: Arc::new(Semaphore::new(self.owner_places)),
            waiting: AtomicUsize::new(0),
        });
        owners.insert(owner.clone(), share.clone());
        share
    }
}

/// A waiting caller; released on drop.
struct WaitingPermit<'a>(&'a AtomicUsize);

impl<'a> WaitingPermit<'a> {
    fn try_acquire(count: &'a AtomicUsize, most: usize) -> Option<Self> {
        let place = |now: usize| (now < most).then_some(now + 1);
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

    fn owner(name: &str) -> WorkOwner {
        WorkOwner::for_package(&format!("com.{name}").parse().unwrap())
    }

    /// Work that occupies a place of an owner until the sender is dropped.
    async fn occupy(pool: &WorkPool, name: &str) -> mpsc::Sender<()> {
        let (end, ended) = mpsc::channel::<()>();
        let overran = pool.run_within(&owner(name), Duration::ZERO, move || ended.recv()).await;
        assert_eq!(overran.unwrap_err(), PoolError::Overran);
        end
    }

    #[tokio::test]
    async fn one_owner_leaves_room_for_others() {
        let pool = WorkPool { place_timeout: Duration::ZERO, ..WorkPool::new(4) };
        let slow = [occupy(&pool, "slow").await, occupy(&pool, "slow").await];
        assert_eq!(pool.free_threads(), 2);
        assert_eq!(pool.run(&owner("slow"), || 1).await.unwrap_err(), PoolError::Busy, "half of the places");
        assert_eq!(pool.run(&owner("other"), || 1).await.unwrap(), 1);
        drop(slow);
        let _all = pool.places.acquire_many(4).await.unwrap();
    }

    #[tokio::test]
    async fn an_owner_over_its_share_takes_no_place_of_others() {
        let pool = Arc::new(WorkPool::new(2));
        let slow = occupy(&pool, "slow").await;
        let mut tasks = tokio::task::JoinSet::new();
        let waiting = pool.clone();
        tasks.spawn(async move { waiting.run(&owner("slow"), || 1).await });
        while pool.waiting.load(Ordering::Acquire) == 0 {
            tokio::task::yield_now().await;
        }
        assert_eq!(pool.run(&owner("other"), || 2).await.unwrap(), 2);
        drop(slow);
        assert_eq!(tasks.join_next().await.unwrap().unwrap().unwrap(), 1);
    }

    #[tokio::test]
    async fn one_owner_fills_half_of_the_queue() {
        let pool = WorkPool { place_timeout: Duration::ZERO, ..WorkPool::new(2) };
        let _slow = occupy(&pool, "slow").await;
        let share = pool.owner_share(&owner("slow"));
        share.waiting.store(MAX_WAITING / OWNER_PART, Ordering::Release);
        assert_eq!(pool.run(&owner("slow"), || 1).await.unwrap_err(), PoolError::Busy);
        assert_eq!(pool.waiting.load(Ordering::Acquire), 0);
    }

    #[tokio::test]
    async fn idle_owners_are_removed() {
        let pool = WorkPool::new(4);
        let _slow = occupy(&pool, "slow").await;
        for at in 0..MAX_IDLE_OWNERS * 2 {
            pool.run(&owner(&format!("n{at}")), || 1).await.unwrap();
        }
        let owners = pool.owners.lock();
        assert!(owners.len() <= MAX_IDLE_OWNERS && owners.contains_key(&owner("slow")), "{}", owners.len());
    }

    #[tokio::test]
    async fn a_place_stays_taken_until_the_thread_ended() {
        let pool = WorkPool { place_timeout: Duration::ZERO, ..WorkPool::new(1) };
        let end = occupy(&pool, "a").await;
        assert_eq!(pool.free_threads(), 0);
        assert_eq!(pool.run(&owner("b"), || 1).await.unwrap_err(), PoolError::Busy);
        drop(end);
        let _ended = pool.places.acquire().await.unwrap();
    }

    #[tokio::test]
    async fn the_queue_is_bounded() {
        let pool = WorkPool::new(0);
        pool.waiting.store(MAX_WAITING, Ordering::Release);
        assert_eq!(pool.run(&owner("a"), || 1).await.unwrap_err(), PoolError::Busy);
    }

    #[tokio::test]
    async fn work_that_panics_frees_its_place() {
        let pool = WorkPool::new(1);
        let failed: Result<(), _> = pool.run(&owner("a"), || panic!("on purpose")).await;
        assert_eq!(failed, Err(PoolError::Failed));
        assert_eq!(pool.run(&owner("a"), || 7).await.unwrap(), 7);
    }
}
