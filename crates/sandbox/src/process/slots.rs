//! Decides who may run. A slot is taken before a worker, and returned when the work has really ended: when the worker
//! is idle again, or dead and reaped.
//!
//! No user can take everything: a user needs more free slots than they already hold, so at least half of the slots
//! stay for others. Each piece of code has its own limit, over all users. Waiting runs are served by how few slots
//! their user holds, then in order of arrival.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use parking_lot::{Mutex, MutexGuard};
use tokio::sync::oneshot;
use tokio::time::{Instant, timeout_at};
use tokio_util::sync::CancellationToken;

use crate::error::SandboxError;

/// The user and plugin whose limits a run counts against.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunOwner {
    /// The user.
    pub user: Arc<str>,
    /// The code: a hash of its content.
    pub content: Arc<str>,
}

/// Limits on the number of runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SlotLimits {
    /// Concurrent runs; also the number of worker processes.
    pub runs: usize,
    /// Runs per user, waiting ones included. More are refused.
    pub per_user: usize,
    /// Concurrent runs per piece of code, over all users. More wait.
    pub per_content: usize,
    /// Runs that wait for a slot. More are refused.
    pub waiting: usize,
}

/// All slots of a pool.
#[derive(Debug)]
pub(super) struct RunSlots {
    limits: SlotLimits,
    table: Mutex<SlotTable>,
}

#[derive(Debug, Default)]
struct SlotTable {
    taken: usize,
    /// Only users who hold a slot have an entry.
    users: HashMap<Arc<str>, usize>,
    contents: HashMap<Arc<str>, usize>,
    queue: VecDeque<SlotWaiter>,
}

#[derive(Debug)]
struct SlotWaiter {
    owner: RunOwner,
    grant: oneshot::Sender<RunSlot>,
}

/// The right to run once. Dropping it returns the slot.
#[derive(Debug)]
pub(super) struct RunSlot {
    slots: Arc<RunSlots>,
    owner: RunOwner,
}

impl RunSlots {
    pub(super) fn new(limits: SlotLimits) -> Arc<Self> {
        let limits = SlotLimits {
            runs: limits.runs.max(1),
            per_user: limits.per_user.max(1),
            per_content: limits.per_content.max(1),
            waiting: limits.waiting,
        };
        Arc::new(Self { limits, table: Mutex::default() })
    }

    fn lock_table(&self) -> MutexGuard<'_, SlotTable> {
        self.table.lock()
    }

    /// Waits for a slot.
    pub(super) async fn take_slot(
        self: &Arc<Self>,
        owner: &RunOwner,
        deadline: Instant,
        cancel: &CancellationToken,
    ) -> Result<RunSlot, SandboxError> {
        let granted = {
            let mut table = self.lock_table();
            table.queue.retain(|waiter| !waiter.grant.is_closed());
            if table.held_or_wanted(&owner.user) >= self.limits.per_user {
                return Err(SandboxError::TooManyRuns { limit: self.limits.per_user });
            }
            if table.may_run(owner, &self.limits) {
                table.occupy(owner);
                return Ok(RunSlot { slots: Arc::clone(self), owner: owner.clone() });
            }
            if table.queue.len() >= self.limits.waiting {
                return Err(SandboxError::Busy);
            }
            let (grant, granted) = oneshot::channel();
            table.queue.push_back(SlotWaiter { owner: owner.clone(), grant });
            granted
        };
        tokio::select! {
            biased;
            () = cancel.cancelled() => Err(SandboxError::Cancelled),
            slot = timeout_at(deadline, granted) => slot.ok().and_then(Result::ok).ok_or(SandboxError::Busy),
        }
    }
}

impl SlotTable {
    fn slots_held(&self, user: &str) -> usize {
        self.users.get(user).copied().unwrap_or(0)
    }

    fn held_or_wanted(&self, user: &str) -> usize {
        self.slots_held(user) + self.queue.iter().filter(|waiter| *waiter.owner.user == *user).count()
    }

    fn may_run(&self, owner: &RunOwner, limits: &SlotLimits) -> bool {
        let free = limits.runs.saturating_sub(self.taken);
        self.slots_held(&owner.user) < free
            && self.contents.get(&owner.content).copied().unwrap_or(0) < limits.per_content
    }

    fn occupy(&mut self, owner: &RunOwner) {
        self.taken += 1;
        *self.users.entry(Arc::clone(&owner.user)).or_default() += 1;
        *self.contents.entry(Arc::clone(&owner.content)).or_default() += 1;
    }

    fn vacate(&mut self, owner: &RunOwner) {
        self.taken = self.taken.saturating_sub(1);
        for (table, key) in [(&mut self.users, &owner.user), (&mut self.contents, &owner.content)] {
            if let Some(count) = table.get_mut(key) {
                *count = count.saturating_sub(1);
                if *count == 0 {
                    table.remove(key);
                }
            }
        }
    }

    /// Takes the next waiter that may run.
    fn next(&mut self, limits: &SlotLimits) -> Option<SlotWaiter> {
        self.queue.retain(|waiter| !waiter.grant.is_closed());
        let eligible =
            self.queue.iter().enumerate().filter(|(_, waiter)| self.may_run(&waiter.owner, limits));
        let (index, _) =
            eligible.min_by_key(|(index, waiter)| (self.slots_held(&waiter.owner.user), *index))?;
        let waiter = self.queue.remove(index)?;
        self.occupy(&waiter.owner);
        Some(waiter)
    }
}

impl Drop for RunSlot {
    fn drop(&mut self) {
        let mut granted = Vec::new();
        {
            let mut table = self.slots.lock_table();
            table.vacate(&self.owner);
            while let Some(waiter) = table.next(&self.slots.limits) {
                granted.push(waiter);
            }
        }
        // Not under the lock: if a waiter left, its slot is dropped, which takes the lock.
        for SlotWaiter { owner, grant } in granted {
            let _ = grant.send(Self { slots: Arc::clone(&self.slots), owner });
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn limits(runs: usize, per_user: usize, per_content: usize) -> SlotLimits {
        SlotLimits { runs, per_user, per_content, waiting: 64 }
    }

    fn owner(user: &str, content: &str) -> RunOwner {
        RunOwner { user: user.into(), content: content.into() }
    }

    async fn take(slots: &Arc<RunSlots>, user: &str, content: &str) -> Result<RunSlot, SandboxError> {
        let deadline = Instant::now() + Duration::from_millis(5);
        slots.take_slot(&owner(user, content), deadline, &CancellationToken::new()).await
    }

    #[tokio::test(start_paused = true)]
    async fn one_user_leaves_half_of_the_slots_to_others() {
        let slots = RunSlots::new(limits(8, 100, 100));
        let mut held = Vec::new();
        while let Ok(slot) = take(&slots, "mallory", "bad").await {
            held.push(slot);
        }
        assert_eq!(held.len(), 4);
        // A second user takes half of the rest.
        let mut others = Vec::new();
        while let Ok(slot) = take(&slots, "trudy", "worse").await {
            others.push(slot);
        }
        assert_eq!(others.len(), 2);
        let _ada = take(&slots, "ada", "good").await.unwrap();
        let _bob = take(&slots, "bob", "good").await.unwrap();
        assert_eq!(take(&slots, "eve", "good").await.unwrap_err(), SandboxError::Busy);
    }

    #[tokio::test(start_paused = true)]
    async fn one_content_has_a_bound_over_all_users() {
        let slots = RunSlots::new(limits(8, 4, 2));
        let _one = take(&slots, "a", "popular").await.unwrap();
        let two = take(&slots, "b", "popular").await.unwrap();
        assert_eq!(take(&slots, "c", "popular").await.unwrap_err(), SandboxError::Busy);
        take(&slots, "c", "other").await.unwrap();
        drop(two);
        take(&slots, "c", "popular").await.unwrap();
    }

    #[tokio::test(start_paused = true)]
    async fn one_user_is_refused_beyond_their_bound_waiting_included() {
        let slots = RunSlots::new(limits(2, 2, 9));
        let _running = take(&slots, "a", "x").await.unwrap();
        let (cancel, asked) = (CancellationToken::new(), owner("a", "x"));
        let far = Instant::now() + Duration::from_secs(60);
        let mut waiting = Box::pin(slots.take_slot(&asked, far, &cancel));
        assert!(futures_util::poll!(&mut waiting).is_pending());
        assert_eq!(take(&slots, "a", "x").await.unwrap_err(), SandboxError::TooManyRuns { limit: 2 });
        // A waiter that left does not count.
        drop(waiting);
        assert_eq!(take(&slots, "a", "x").await.unwrap_err(), SandboxError::Busy);
    }

    #[tokio::test(start_paused = true)]
    async fn who_holds_least_is_next_and_the_queue_is_bounded() {
        let slots = RunSlots::new(SlotLimits { waiting: 2, ..limits(3, 9, 9) });
        let far = Instant::now() + Duration::from_secs(60);
        let (first, second) = (take(&slots, "a", "1").await.unwrap(), take(&slots, "b", "2").await.unwrap());
        let third = take(&slots, "c", "3").await.unwrap();
        let (cancel, a, d) = (CancellationToken::new(), owner("a", "1"), owner("d", "4"));
        let mut again = Box::pin(slots.take_slot(&a, far, &cancel));
        assert!(futures_util::poll!(&mut again).is_pending());
        let mut newcomer = Box::pin(slots.take_slot(&d, far, &cancel));
        assert!(futures_util::poll!(&mut newcomer).is_pending());
        assert_eq!(take(&slots, "e", "5").await.unwrap_err(), SandboxError::Busy);
        drop(second);
        let _fourth = newcomer.await.unwrap();
        assert!(futures_util::poll!(&mut again).is_pending(), "holds one, and none is free");
        drop((first, third));
        again.await.unwrap();
    }

    #[tokio::test(start_paused = true)]
    async fn a_slot_granted_to_a_waiter_that_left_is_returned() {
        let slots = RunSlots::new(limits(1, 9, 9));
        let held = take(&slots, "a", "1").await.unwrap();
        let (cancel, b) = (CancellationToken::new(), owner("b", "2"));
        let far = Instant::now() + Duration::from_secs(60);
        let mut waiting = Box::pin(slots.take_slot(&b, far, &cancel));
        assert!(futures_util::poll!(&mut waiting).is_pending());
        // Granted, but never received.
        drop(held);
        drop(waiting);
        take(&slots, "c", "3").await.unwrap();
        assert!(slots.lock_table().users.is_empty() && slots.lock_table().contents.is_empty());
    }
}
