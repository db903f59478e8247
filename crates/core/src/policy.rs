//! May this call run? Decided on the real arguments, after they are known to be well formed.

use std::{collections::HashSet, num::NonZeroU32, time::Duration};

use governor::{
    DefaultDirectRateLimiter, DefaultKeyedRateLimiter, Quota, RateLimiter,
    clock::{Clock as _, DefaultClock},
};
use toolyard_protocol::{PackageName, ToolName, UserId};

use crate::ports::CallRateLimiter;

/// What policy says to a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PolicyDecision {
    /// Run it.
    Allow,
    /// Do not run it.
    Deny,
}

/// What the operator does not allow at all, whoever asks.
#[derive(Debug, Clone, Default)]
pub struct ToolPolicy {
    tools: HashSet<ToolName>,
    packages: HashSet<PackageName>,
}

impl ToolPolicy {
    /// A policy that denies these tools: `package:tool`, or `package:*` for all of an app.
    pub fn from_deny_list<'a>(patterns: impl IntoIterator<Item = &'a str>) -> Result<Self, String> {
        let mut policy = Self::default();
        for pattern in patterns {
            match pattern.strip_suffix(":*") {
                Some(package) => drop(policy.packages.insert(package.parse().map_err(name_error_text)?)),
                None => drop(policy.tools.insert(pattern.parse().map_err(name_error_text)?)),
            }
        }
        Ok(policy)
    }

    /// Decides on one call.
    pub fn decide(&self, tool: &ToolName) -> PolicyDecision {
        let denied = self.packages.contains(tool.package()) || self.tools.contains(tool);
        if denied { PolicyDecision::Deny } else { PolicyDecision::Allow }
    }
}

fn name_error_text(error: toolyard_protocol::InvalidName) -> String {
    error.to_string()
}

/// Calls a second, and how many at once.
#[derive(Debug, Clone, Copy)]
pub struct RateLimit {
    /// Calls a second in the long run.
    pub per_second: NonZeroU32,
    /// Calls at once after a pause.
    pub burst: NonZeroU32,
}

impl RateLimit {
    fn to_quota(self) -> Quota {
        Quota::per_second(self.per_second).allow_burst(self.burst)
    }
}

/// The three rates.
#[derive(Debug, Clone, Copy)]
pub struct RateLimits {
    /// Of one user.
    pub user: RateLimit,
    /// Of one tool, over all users.
    pub tool: RateLimit,
    /// Of everything on this node.
    pub all: RateLimit,
}

/// Rate limits of this process.
pub struct LocalLimiter {
    user: DefaultKeyedRateLimiter<UserId>,
    tool: DefaultKeyedRateLimiter<ToolName>,
    all: DefaultDirectRateLimiter,
    clock: DefaultClock,
}

impl LocalLimiter {
    /// Limits with these rates.
    pub fn new(rates: RateLimits) -> Self {
        Self {
            user: RateLimiter::keyed(rates.user.to_quota()),
            tool: RateLimiter::keyed(rates.tool.to_quota()),
            all: RateLimiter::direct(rates.all.to_quota()),
            clock: DefaultClock::default(),
        }
    }

    /// Forgets users and tools that are as good as new. Called now and then, so that memory stays bounded.
    pub fn evict_idle(&self) {
        self.user.retain_recent();
        self.user.shrink_to_fit();
        self.tool.retain_recent();
    }
}

impl CallRateLimiter for LocalLimiter {
    fn check_call(&self, user: &UserId, tool: &ToolName) -> Result<(), Duration> {
        let wait = |not_until: governor::NotUntil<_>| not_until.wait_time_from(self.clock.now());
        self.user.check_key(user).map_err(wait)?;
        self.tool.check_key(tool).map_err(wait)?;
        self.all.check().map_err(wait)
    }
}

/// A rate limit of this process for each caller, by name.
pub struct CallerLimiter {
    callers: DefaultKeyedRateLimiter<String>,
    clock: DefaultClock,
}

impl CallerLimiter {
    /// A limit with this rate.
    pub fn new(rate: RateLimit) -> Self {
        Self { callers: RateLimiter::keyed(rate.to_quota()), clock: DefaultClock::default() }
    }

    /// Counts a request of this caller, or says how long to wait.
    pub fn check(&self, caller: &str) -> Result<(), Duration> {
        let wait = |not_until: governor::NotUntil<_>| not_until.wait_time_from(self.clock.now());
        self.callers.check_key(&caller.to_owned()).map_err(wait)
    }

    /// Forgets callers that are as good as new, so that memory stays bounded.
    pub fn evict_idle(&self) {
        self.callers.retain_recent();
        self.callers.shrink_to_fit();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn denies_tools_and_whole_apps() {
        let policy = ToolPolicy::from_deny_list(["com.a:x", "com.b:*"]).unwrap();
        let decide = |name: &str| policy.decide(&name.parse().unwrap());
        assert_eq!(decide("com.a:x"), PolicyDecision::Deny);
        assert_eq!(decide("com.a:y"), PolicyDecision::Allow);
        assert_eq!(decide("com.b:anything"), PolicyDecision::Deny);
        assert!(ToolPolicy::from_deny_list(["com.b"]).is_err());
    }

    #[test]
    fn callers_are_limited_one_by_one() {
        let limiter = CallerLimiter::new(RateLimit { per_second: NonZeroU32::MIN, burst: NonZeroU32::MIN });
        assert!(limiter.check("ada").is_ok() && limiter.check("bob").is_ok());
        assert!(limiter.check("ada").unwrap_err() <= Duration::from_secs(1));
    }

    #[test]
    fn each_rate_holds_and_says_how_long_to_wait() {
        let rate = |burst| RateLimit { per_second: NonZeroU32::MIN, burst: NonZeroU32::new(burst).unwrap() };
        let limiter = |user, tool, all| {
            LocalLimiter::new(RateLimits { user: rate(user), tool: rate(tool), all: rate(all) })
        };
        let (ada, bob) = ("ada".parse().unwrap(), "bob".parse().unwrap());
        let (x, y) = ("com.a:x".parse().unwrap(), "com.a:y".parse().unwrap());

        let by_user = limiter(1, 100, 100);
        assert!(by_user.check_call(&ada, &x).is_ok() && by_user.check_call(&bob, &x).is_ok());
        assert!(by_user.check_call(&ada, &y).unwrap_err() <= Duration::from_secs(1));
        let by_tool = limiter(100, 1, 100);
        assert!(by_tool.check_call(&ada, &x).is_ok() && by_tool.check_call(&bob, &y).is_ok());
        assert!(by_tool.check_call(&bob, &x).is_err());
        let by_all = limiter(100, 100, 1);
        assert!(by_all.check_call(&ada, &x).is_ok());
        assert!(by_all.check_call(&bob, &y).is_err());
    }
}
