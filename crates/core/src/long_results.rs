//! Results that are too long for a model are kept here, so that it can read the rest. In memory, for a short time, per
//! owner.

use std::{
    collections::{HashMap, VecDeque},
    sync::Arc,
};

use jiff::Timestamp;
use parking_lot::Mutex;
use toolyard_protocol::{ToolName, UserId};

use crate::{executor::CallOwner, ports::IdGenerator};

/// How long a result is kept, in seconds.
pub const RESULT_LIFETIME_S: i64 = 600;
/// Total size of the results of one user, in bytes; the oldest are evicted first.
pub const USER_BYTES: usize = 16 * 1024 * 1024;
/// Total size of the results of all users, in bytes.
pub const ALL_BYTES: usize = 256 * 1024 * 1024;

/// The long results that are currently kept.
#[derive(Debug, Default)]
pub struct LongResults(Mutex<LongResultTable>);

#[derive(Debug, Default)]
struct LongResultTable {
    by_handle: HashMap<Arc<str>, LongResultEntry>,
    /// In insertion order, which is also expiry order.
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

/// A long result, as its owner reads it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LongResult {
    /// The tool that returned it. A caller that can no longer see the tool must not read its result.
    pub tool: ToolName,
    /// The full text.
    pub text: Arc<str>,
}

impl LongResults {
    /// Keeps a tool's text and returns the handle for its owner. None if it is longer than a user's limit.
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
        let mut results = self.0.lock();
        results.remove_expired(now);
        while results.bytes_by_user.get(user).copied().unwrap_or(0) + text.len() > USER_BYTES {
            let oldest = results
                .order
                .iter()
                .find(|handle| results.by_handle[*handle].owner.user == *user)
                .cloned()?;
            results.remove(&oldest);
        }
        while results.bytes + text.len() > ALL_BYTES {
            let oldest = results.order.front().cloned()?;
            results.remove(&oldest);
        }
        let mut name = [0; 12];
        ids.fill_random(&mut name);
        let handle: Arc<str> = hex::encode(name).into();
        let until = Timestamp::from_second(now.as_second().saturating_add(RESULT_LIFETIME_S))
            .unwrap_or(Timestamp::MAX);
        let entry = LongResultEntry { owner: owner.clone(), tool: tool.clone(), text: text.into(), until };
        results.by_handle.insert(handle.clone(), entry);
        results.order.push_back(handle.clone());
        *results.bytes_by_user.entry(user.clone()).or_default() += text.len();
        results.bytes += text.len();
        Some(handle)
    }

    /// The result under a handle of this owner. Results of other owners are not found.
    pub fn get(&self, owner: &CallOwner, handle: &str, now: Timestamp) -> Option<LongResult> {
        let results = self.0.lock();
        let entry = results.by_handle.get(handle)?;
        let found = || LongResult { tool: entry.tool.clone(), text: entry.text.clone() };
        (entry.owner == *owner && entry.until > now).then(found)
    }

    /// Removes expired results. Called periodically.
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
        let Some(removed) = self.by_handle.remove(handle) else { return };
        self.bytes -= removed.text.len();
        if let Some(bytes) = self.bytes_by_user.get_mut(&removed.owner.user) {
            *bytes -= removed.text.len();
            if *bytes == 0 {
                self.bytes_by_user.remove(&removed.owner.user);
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
    fn a_result_is_kept_for_its_owner_until_it_expires() {
        let results = LongResults::default();
        let handle = results.insert(&user("ada"), &tool(), "long", at(0), &SystemIds).unwrap();
        let found = LongResult { tool: tool(), text: "long".into() };
        assert_eq!(results.get(&user("ada"), &handle, at(RESULT_LIFETIME_S - 1)), Some(found));
        assert_eq!(results.get(&user("bob"), &handle, at(0)), None);
        let app = CallOwner { caller: Caller::App("com.other".parse().unwrap()), ..user("ada") };
        assert_eq!(results.get(&app, &handle, at(0)), None, "an app of the same user");
        assert_eq!(results.get(&user("ada"), "other", at(0)), None);
        assert_eq!(results.get(&user("ada"), &handle, at(RESULT_LIFETIME_S)), None);
        results.remove_expired(at(RESULT_LIFETIME_S));
        let left = results.0.lock();
        assert!(
            left.by_handle.is_empty()
                && left.order.is_empty()
                && left.bytes_by_user.is_empty()
                && left.bytes == 0
        );
    }

    #[test]
    fn the_oldest_results_are_evicted_first() {
        let results = LongResults::default();
        let half = "x".repeat(USER_BYTES / 2);
        let [first, second, third] = [0, 1, 2]
            .map(|second| results.insert(&user("ada"), &tool(), &half, at(second), &SystemIds).unwrap());
        let there = [first, second, third].map(|handle| results.get(&user("ada"), &handle, at(3)).is_some());
        assert_eq!(there, [false, true, true]);
        assert!(
            results.insert(&user("ada"), &tool(), &"x".repeat(USER_BYTES + 1), at(3), &SystemIds).is_none()
        );
        let others: Vec<_> = (0..32)
            .map(|n| results.insert(&user(&format!("u{n}")), &tool(), &half, at(3), &SystemIds).unwrap())
            .collect();
        assert!(results.0.lock().bytes <= ALL_BYTES);
        assert!(results.get(&user("u31"), &others[31], at(3)).is_some());
    }
}
