//! Threads for work that outside data can make long: checks of values and of definitions.
//!
//! Nothing that runs here can be stopped from outside, so a place stays taken until its thread has really ended; whoever
//! waits goes on after a limit. There are few places, and few may wait for one; each owner has a share of both, so that
//! slow checks of one app leave room for those of others. The workers of the server never run such work themselves.

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

/// Longest time that anybody waits for one piece of work.
pub const WORK_TIMEOUT: Duration = Duration::from_secs(2);
/// The same for a whole set of definitions.
pub const SET_TIMEOUT: Duration = Duration::from_secs(20);
/// Longest time that anybody waits for a place.
pub const PLACE_TIMEOUT: Duration = Duration::from_secs(5);
/// Most pieces of work that wait for a place.
pub const MAX_WAITING: usize = 64;
/// One owner has at most this part of the places, and of those that wait: half, and at least one.
const OWNER_PART: usize = 2;
/// Owners whose share is kept before those that use none are swept out.
const MAX_IDLE_OWNERS: usize = 256;
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

/// On whose account work is done.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct WorkOwner(Arc<str>);

impl WorkOwner {
    /// Whatever the definitions of a package cause.
    pub fn for_package(package: &PackageName) -> Self {
        Self(format!("package:{package}").into())
    }

    /// Whatever the request of a user brings.
    pub fn for_user(user: &UserId) -> Self {
        Self(format!("user:{user}").into())
    }

    /// Everything without an owner of its own; together it has one share.
    pub fn anonymous() -> Self {
        Self("".into())
    }
}

/// A bounded number of threads.
#[derive(Debug)]
pub struct WorkPool {
    places: Arc<Semaphore>,
    waiting: AtomicUsize,
    owners: Mutex<HashMap<WorkOwner, Arc<OwnerShare>>>,
    owner_places: usize,
    place_timeout: Duration,
}

/// What one owner may use.
#[derive(Debug)]
struct OwnerShare {
    places: Arc<Semaphore>,
    waiting: AtomicUsize,
}

/// A place of the pool, out of an owner's share. Free when dropped.
struct WorkPlace {
    _shared: OwnedSemaphorePermit,
    _owned: OwnedSemaphorePermit,
}

/// The threads of this process.
static POOL: LazyLock<WorkPool> = LazyLock::new(|| {
    let processors = thread::available_parallelism().map_or(THREADS.0, NonZero::get);
    WorkPool::new((processors / 2).clamp(THREADS.0, THREADS.1))
});

impl WorkPool {
    /// The one pool of this process.
    pub fn global() -> &'static Self {
        &POOL
    }

    /// A pool of that many threads.
    pub fn new(threads: usize) -> Self {
        Self {
            places: Arc::new(Semaphore::new(threads)),
            waiting: AtomicUsize::new(0),
            owners: Mutex::default(),
            owner_places: (threads / OWNER_PART).max(1),
            place_timeout: PLACE_TIMEOUT,
        }
    }

    /// Threads that could begin work now.
    pub fn free_threads(&self) -> usize {
        self.places.available_permits()
    }

    /// Runs work on a thread of its own.
    pub async fn run<T: Send + 'static>(
        &self,
        owner: &WorkOwner,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, PoolError> {
        self.run_within(owner, WORK_TIMEOUT, work).await
    }

    /// Runs work that may take longer than a check.
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

    /// A place, out of the owner's share first: an owner who has used that up waits without taking places from others.
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
            // Work that waits holds the share, work that runs holds its places.
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

/// One that waits for a place; gone when dropped.
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

    /// Work that takes a place of an owner until the sender is dropped.
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
    async fn whoever_waits_for_its_own_share_takes_no_place_of_others() {
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
    async fn owners_that_do_nothing_are_forgotten() {
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
    async fn few_may_wait() {
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
