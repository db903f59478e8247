//! Results that are too long for a model wait here, so that it can read on. In memory, for a short time, each for its user.

use std::{
    collections::{HashMap, VecDeque},
    sync::Arc,
};

use jiff::Timestamp;
use parking_lot::Mutex;
use toolyard_protocol::{ToolName, UserId};

use crate::{executor::CallOwner, ports::IdGenerator};

/// How long a result waits, in seconds.
pub const RESULT_LIFETIME_S: i64 = 600;
/// All results of one user, in bytes; the oldest go first.
pub const USER_BYTES: usize = 16 * 1024 * 1024;
/// All results of all users, in bytes.
pub const ALL_BYTES: usize = 256 * 1024 * 1024;

/// The results that wait.
#[derive(Debug, Default)]
pub struct LongResults(Mutex<LongResultTable>);

#[derive(Debug, Default)]
struct LongResultTable {
    by_handle: HashMap<Arc<str>, LongResultEntry>,
    /// In the order in which they came, so in the order in which they go.
    order: VecDeque<Arc<str>>,
    bytes_by_user: HashMap<UserId, usize>,
    bytes: usize,
}

#[derive(Debug)]
struct LongResultEntry {
    owner: CallOwner,
    tool: ToolName,
    text: Arc<str>,
    until: Timestamp,
}

/// A result as its owner finds it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LongResult {
    /// Which tool made it. A caller that can no longer see that tool must not read its result.
    pub tool: ToolName,
    /// All of it.
    pub text: Arc<str>,
}

impl LongResults {
    /// Keeps a text that a tool made, and gives the handle under which its owner finds it. None where it is too long even for this place.
    pub fn insert(
        &self,
        owner: &CallOwner,
        tool: &ToolName,
        text: &str,
        now: Timestamp,
        ids: &dyn IdGenerator,
    ) -> Option<Arc<str>> {
        let user = &owner.user;
        if text.len() > USER_BYTES {
            return None;
        }
        let mut kept = self.0.lock();
        kept.remove_expired(now);
        while kept.bytes_by_user.get(user).copied().unwrap_or(0) + text.len() > USER_BYTES {
            let oldest =
                kept.order.iter().find(|handle| kept.by_handle[*handle].owner.user == *user).cloned()?;
            kept.remove(&oldest);
        }
        while kept.bytes + text.len() > ALL_BYTES {
            let oldest = kept.order.front().cloned()?;
            kept.remove(&oldest);
        }
        let mut name = [0; 12];
        ids.fill_random(&mut name);
        let handle: Arc<str> = hex::encode(name).into();
        let until = Timestamp::from_second(now.as_second().saturating_add(RESULT_LIFETIME_S))
            .unwrap_or(Timestamp::MAX);
        let waiting = LongResultEntry { owner: owner.clone(), tool: tool.clone(), text: text.into(), until };
        kept.by_handle.insert(handle.clone(), waiting);
        kept.order.push_back(handle.clone());
        *kept.bytes_by_user.entry(user.clone()).or_default() += text.len();
        kept.bytes += text.len();
        Some(handle)
    }

    /// The result under a handle of this owner. Another's is not there.
    pub fn get(&self, owner: &CallOwner, handle: &str, now: Timestamp) -> Option<LongResult> {
        let kept = self.0.lock();
        let waiting = kept.by_handle.get(handle)?;
        let found = || LongResult { tool: waiting.tool.clone(), text: waiting.text.clone() };
        (waiting.owner == *owner && waiting.until > now).then(found)
    }

    /// Drops what waited long enough. Called now and then.
    pub fn remove_expired(&self, now: Timestamp) {
        self.0.lock().remove_expired(now);
    }
}

impl LongResultTable {
    fn remove_expired(&mut self, now: Timestamp) {
        while let Some(oldest) =
            self.order.front().filter(|handle| self.by_handle[*handle].until <= now).cloned()
        {
            self.remove(&oldest);
        }
    }

    fn remove(&mut self, handle: &Arc<str>) {
        self.order.retain(|one| one != handle);
        let Some(gone) = self.by_handle.remove(handle) else { return };
        self.bytes -= gone.text.len();
        if let Some(bytes) = self.bytes_by_user.get_mut(&gone.owner.user) {
            *bytes -= gone.text.len();
            if *bytes == 0 {
                self.bytes_by_user.remove(&gone.owner.user);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{executor::Caller, ports::SystemIds};

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }

    fn user(name: &str) -> CallOwner {
        CallOwner { user: name.parse().unwrap(), caller: Caller::User }
    }

    fn tool() -> ToolName {
        "com.a:list".parse().unwrap()
    }

    #[test]
    fn a_result_waits_for_its_user_for_a_while() {
        let kept = LongResults::default();
        let handle = kept.insert(&user("ada"), &tool(), "long", at(0), &SystemIds).unwrap();
        let found = LongResult { tool: tool(), text: "long".into() };
        assert_eq!(kept.get(&user("ada"), &handle, at(RESULT_LIFETIME_S - 1)), Some(found));
        assert_eq!(kept.get(&user("bob"), &handle, at(0)), None);
        let app = CallOwner { caller: Caller::App("com.other".parse().unwrap()), ..user("ada") };
        assert_eq!(kept.get(&app, &handle, at(0)), None, "an app of the same user");
        assert_eq!(kept.get(&user("ada"), "other", at(0)), None);
        assert_eq!(kept.get(&user("ada"), &handle, at(RESULT_LIFETIME_S)), None);
        kept.remove_expired(at(RESULT_LIFETIME_S));
        let left = kept.0.lock();
        assert!(
            left.by_handle.is_empty()
                && left.order.is_empty()
                && left.bytes_by_user.is_empty()
                && left.bytes == 0
        );
    }

    #[test]
    fn the_oldest_go_where_there_is_no_room() {
        let kept = LongResults::default();
        let half = "x".repeat(USER_BYTES / 2);
        let [first, second, third] = [0, 1, 2]
            .map(|second| kept.insert(&user("ada"), &tool(), &half, at(second), &SystemIds).unwrap());
        let there = [first, second, third].map(|handle| kept.get(&user("ada"), &handle, at(3)).is_some());
        assert_eq!(there, [false, true, true]);
        assert!(kept.insert(&user("ada"), &tool(), &"x".repeat(USER_BYTES + 1), at(3), &SystemIds).is_none());
        let others: Vec<_> = (0..32)
            .map(|n| kept.insert(&user(&format!("u{n}")), &tool(), &half, at(3), &SystemIds).unwrap())
            .collect();
        assert!(kept.0.lock().bytes <= ALL_BYTES);
        assert!(kept.get(&user("u31"), &others[31], at(3)).is_some());
    }
}
