//! Results that are too long for a model are kept here, so that it can read the rest. In memory, for a short time, per
//! owner.

use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};
use toolyard_protocol::ToolName;

use crate::{
    executor::CallOwner,
    expiring_shelf::{ExpiringShelf, ShelfLimits, ShelfOverflow},
    ports::IdGenerator,
};

/// How long a result is kept, in seconds.
pub const RESULT_LIFETIME_S: i64 = 600;
/// Total size of the results of one user, in bytes; the oldest are evicted first.
pub const USER_BYTES: usize = 16 * 1024 * 1024;
/// Total size of the results of all users, in bytes.
pub const ALL_BYTES: usize = 256 * 1024 * 1024;

/// The long results that are currently kept.
#[derive(Debug)]
pub struct LongResults(ExpiringShelf<Arc<str>, OwnedResult>);

#[derive(Clone)]
struct OwnedResult {
    owner: CallOwner,
    result: LongResult,
}

/// A long result, as its owner reads it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LongResult {
    /// The tool that returned it. A caller that can no longer see the tool must not read its result.
    pub tool: ToolName,
    /// The full text.
    pub text: Arc<str>,
}

impl Default for LongResults {
    fn default() -> Self {
        Self(ExpiringShelf::new(ShelfLimits {
            lifetime: SignedDuration::from_secs(RESULT_LIFETIME_S),
            user_size: USER_BYTES,
            total_size: ALL_BYTES,
            overflow: ShelfOverflow::EvictOldest,
        }))
    }
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
        let mut name = [0; 12];
        ids.fill_random(&mut name);
        let handle: Arc<str> = hex::encode(name).into();
        let result = LongResult { tool: tool.clone(), text: text.into() };
        let owned = OwnedResult { owner: owner.clone(), result };
        self.0.insert(&owner.user, handle.clone(), owned, text.len(), now).ok()?;
        Some(handle)
    }

    /// The result under a handle of this owner. Results of other owners are not found.
    pub fn get(&self, owner: &CallOwner, handle: &str, now: Timestamp) -> Option<LongResult> {
        self.0.get(handle, now).filter(|owned| owned.owner == *owner).map(|owned| owned.result)
    }

    /// Removes expired results. Called periodically.
    pub fn remove_expired(&self, now: Timestamp) {
        self.0.remove_expired(now);
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
        assert_eq!(results.get(&user("ada"), &handle, at(0)), None, "freed");
    }

    #[test]
    fn the_oldest_results_are_evicted_first() {
        let results = LongResults::default();
        let half = "x".repeat(USER_BYTES / 2);
        let [first, second, third] = [0, 1, 2]
            .map(|second| results.insert(&user("ada"), &tool(), &half, at(second), &SystemIds).unwrap());
        let there =
            [&first, &second, &third].map(|handle| results.get(&user("ada"), handle, at(3)).is_some());
        assert_eq!(there, [false, true, true]);
        assert!(
            results.insert(&user("ada"), &tool(), &"x".repeat(USER_BYTES + 1), at(3), &SystemIds).is_none()
        );
        let others: Vec<_> = (0..32)
            .map(|n| results.insert(&user(&format!("u{n}")), &tool(), &half, at(3), &SystemIds).unwrap())
            .collect();
        let kept = (0..32).filter(|n| results.get(&user(&format!("u{n}")), &others[*n], at(3)).is_some());
        assert_eq!(kept.count(), ALL_BYTES / half.len());
        assert_eq!(results.get(&user("ada"), &third, at(3)), None, "older than all of them");
    }
}
