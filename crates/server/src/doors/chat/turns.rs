//! Limits on a user's turns, at once and per minute. Each turn costs the operator tokens.

use std::{collections::HashMap, sync::Arc, time::Duration};

use parking_lot::{Mutex, MutexGuard};
use tokio::time::Instant;
use toolyard_protocol::{UserId, api::ApiErrorCode};

use crate::config::ChatConfig;

/// Number of users at which idle ones are removed.
const PRUNE_AT: usize = 1_024;
/// When to retry if all slots are taken. How long a turn takes is unknown.
const BUSY_RETRY: Duration = Duration::from_secs(1);
const MINUTE: f64 = 60.0;

/// Counts the turns of each user on this node.
#[derive(Debug)]
pub(super) struct TurnGate(Arc<TurnGateState>);

#[derive(Debug)]
struct TurnGateState {
    users: Mutex<UserTurnTable>,
    at_once: usize,
    per_minute: f64,
}

#[derive(Debug, Default)]
struct UserTurnTable {
    turns: HashMap<UserId, UserTurns>,
    prune_at: usize,
}

#[derive(Debug)]
struct UserTurns {
    active: usize,
    /// Turns that may start now. Refills with time, up to those of a minute.
    allowance: f64,
    updated: Instant,
}

/// A turn that counts until this is dropped.
#[derive(Debug)]
pub(super) struct TurnPermit {
    gate: Arc<TurnGateState>,
    user: UserId,
}

/// Why a turn may not start now.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum TurnRefusal {
    /// Too many are running.
    AtOnce {
        /// The limit.
        limit: usize,
        /// When to retry.
        retry_after: Duration,
    },
    /// Too many started recently.
    TooFast {
        /// When to retry.
        retry_after: Duration,
    },
}

impl TurnRefusal {
    /// The code, a text for the caller, and when to retry.
    pub(super) fn to_error(&self) -> (ApiErrorCode, String, Duration) {
        match self {
            Self::AtOnce { limit, retry_after } => {
                let text = format!(
                    "Too many active chats for this user: at most {limit} at once. Cancel one, or retry when one has ended."
                );
                (ApiErrorCode::Unavailable, text, *retry_after)
            }
            Self::TooFast { retry_after } => {
                let text =
                    "Too many chat requests for this user. Retry after the time in the Retry-After header.";
                (ApiErrorCode::RateLimited, text.to_owned(), *retry_after)
            }
        }
    }
}

impl TurnGate {
    pub(super) fn new(config: &ChatConfig) -> Self {
        Self(Arc::new(TurnGateState {
            users: Mutex::default(),
            at_once: config.turns_per_user,
            per_minute: f64::from(config.turns_per_minute),
        }))
    }

    /// Whether the user may start a turn by the limit per minute. Nothing is counted.
    pub(super) fn check_rate(&self, user: &UserId) -> Result<(), TurnRefusal> {
        let gate = &self.0;
        let mut users = gate.lock_users();
        let Some(turns) = users.turns.get_mut(user) else { return Ok(()) };
        turns.refill(Instant::now(), gate.per_minute);
        turns.check_allowance(gate.per_minute)
    }

    /// Lets a turn of this user start. A refused turn does not count.
    pub(super) fn enter(&self, user: &UserId) -> Result<TurnPermit, TurnRefusal> {
        let gate = &self.0;
        let now = Instant::now();
        let mut users = gate.lock_users();
        users.prune_idle_users(now, gate.per_minute);
        let fresh = || UserTurns { active: 0, allowance: gate.per_minute, updated: now };
        let turns = users.turns.entry(user.clone()).or_insert_with(fresh);
        turns.refill(now, gate.per_minute);
        if turns.active >= gate.at_once {
            return Err(TurnRefusal::AtOnce { limit: gate.at_once, retry_after: BUSY_RETRY });
        }
        turns.check_allowance(gate.per_minute)?;
        turns.allowance -= 1.0;
        turns.active += 1;
        Ok(TurnPermit { gate: gate.clone(), user: user.clone() })
    }
}

impl TurnGateState {
    fn lock_users(&self) -> MutexGuard<'_, UserTurnTable> {
        self.users.lock()
    }
}

impl UserTurns {
    fn refill(&mut self, now: Instant, per_minute: f64) {
        let passed = now.duration_since(self.updated).as_secs_f64();
        self.allowance = (self.allowance + passed * per_minute / MINUTE).min(per_minute);
        self.updated = now;
    }

    fn check_allowance(&self, per_minute: f64) -> Result<(), TurnRefusal> {
        if self.allowance >= 1.0 {
            return Ok(());
        }
        let seconds = (1.0 - self.allowance) * MINUTE / per_minute;
        Err(TurnRefusal::TooFast { retry_after: Duration::from_secs_f64(seconds) })
    }
}

impl UserTurnTable {
    /// Removes users without turns and with a full allowance. Runs rarely, so that it costs little per turn.
    fn prune_idle_users(&mut self, now: Instant, per_minute: f64) {
        if self.turns.len() < self.prune_at.max(PRUNE_AT) {
            return;
        }
        self.turns.retain(|_, turns| {
            turns.refill(now, per_minute);
            turns.active > 0 || turns.allowance < per_minute
        });
        self.prune_at = self.turns.len() * 2;
    }
}

impl Drop for TurnPermit {
    fn drop(&mut self) {
        if let Some(turns) = self.gate.lock_users().turns.get_mut(&self.user) {
            turns.active = turns.active.saturating_sub(1);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn gate(turns_per_user: usize, turns_per_minute: u32) -> TurnGate {
        TurnGate::new(&ChatConfig { turns_per_user, turns_per_minute, ..ChatConfig::default() })
    }

    fn user(name: &str) -> UserId {
        name.parse().unwrap()
    }

    #[tokio::test(start_paused = true)]
    async fn turns_at_once_are_limited_for_each_user() {
        let gate = gate(2, 100);
        let ada = user("ada");
        let first = gate.enter(&ada).unwrap();
        let _second = gate.enter(&ada).unwrap();
        let refused = gate.enter(&ada).unwrap_err();
        assert_eq!(refused, TurnRefusal::AtOnce { limit: 2, retry_after: BUSY_RETRY });
        gate.enter(&user("bob")).unwrap();
        drop(first);
        gate.enter(&ada).unwrap();
    }

    #[tokio::test(start_paused = true)]
    async fn turns_per_minute_are_limited_and_refill() {
        let gate = gate(1, 3);
        let ada = user("ada");
        for _ in 0..3 {
            gate.enter(&ada).unwrap();
        }
        let wait = Duration::from_secs(20);
        assert_eq!(gate.check_rate(&ada).unwrap_err(), TurnRefusal::TooFast { retry_after: wait });
        assert_eq!(gate.enter(&ada).unwrap_err(), TurnRefusal::TooFast { retry_after: wait });
        tokio::time::advance(wait).await;
        gate.check_rate(&ada).unwrap();
        gate.enter(&ada).unwrap();
        assert!(matches!(gate.enter(&ada), Err(TurnRefusal::TooFast { .. })));
    }

    #[tokio::test(start_paused = true)]
    async fn idle_users_are_removed() {
        let gate = gate(1, 60);
        let busy = gate.enter(&user("busy")).unwrap();
        for n in 1..PRUNE_AT {
            gate.enter(&user(&format!("user-{n}"))).unwrap();
        }
        tokio::time::advance(Duration::from_secs(60)).await;
        gate.enter(&user("ada")).unwrap();
        assert_eq!(gate.0.lock_users().turns.len(), 2, "the busy user and the new one");
        drop(busy);
    }
}
