//! The users whose home is this node.

use dashmap::DashMap;
use tokio::{task::AbortHandle, time::Instant};
use toolyard_protocol::UserId;

/// The users whose home is this node.
#[derive(Default)]
pub(crate) struct Residents(DashMap<UserId, Resident>);

struct Resident {
    epoch: i64,
    since: Instant,
    used: Instant,
    /// Answers the question where the user's home is. None while NATS is down.
    answers: Option<AbortHandle>,
}

impl Drop for Resident {
    fn drop(&mut self) {
        if let Some(answers) = &self.answers {
            answers.abort();
        }
    }
}

impl Residents {
    pub(crate) fn add(&self, user: UserId, epoch: i64) {
        let now = Instant::now();
        self.0.insert(user, Resident { epoch, since: now, used: now, answers: None });
    }

    /// The epoch of a user whose home is here, who is in use from now on.
    pub(crate) fn touch(&self, user: &UserId) -> Option<i64> {
        self.0.get_mut(user).map(|mut resident| {
            resident.used = Instant::now();
            resident.epoch
        })
    }

    pub(crate) fn epoch(&self, user: &UserId) -> Option<i64> {
        self.0.get(user).map(|resident| resident.epoch)
    }

    /// Removes a user, unless the epoch is another one. Returns whether there was one to remove.
    pub(crate) fn remove(&self, user: &UserId, epoch: i64) -> bool {
        self.0.remove_if(user, |_, resident| resident.epoch == epoch).is_some()
    }

    /// All users with their epochs that have been here since then.
    pub(crate) fn list_since(&self, since: Instant) -> Vec<(UserId, i64)> {
        let old = self.0.iter().filter(|resident| resident.since < since);
        old.map(|resident| (resident.key().clone(), resident.epoch)).collect()
    }

    /// Users that nothing was done for since then.
    pub(crate) fn list_idle(&self, since: Instant) -> Vec<(UserId, i64)> {
        let idle = self.0.iter().filter(|resident| resident.used < since);
        idle.map(|resident| (resident.key().clone(), resident.epoch)).collect()
    }

    /// Users for whom nobody answers yet.
    pub(crate) fn list_unanswered(&self) -> Vec<(UserId, i64)> {
        let unanswered = self.0.iter().filter(|resident| resident.answers.is_none());
        unanswered.map(|resident| (resident.key().clone(), resident.epoch)).collect()
    }

    pub(crate) fn set_answers(&self, user: &UserId, epoch: i64, answers: AbortHandle) {
        match self.0.get_mut(user) {
            Some(mut resident) if resident.epoch == epoch && resident.answers.is_none() => {
                resident.answers = Some(answers);
            }
            _ => answers.abort(),
        }
    }

    pub(crate) fn clear(&self) {
        self.0.clear();
    }

    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }
}
