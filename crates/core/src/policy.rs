//! Whether a call may run: the operator's deny list, and rate limits.

use std::{collections::HashSet, num::NonZeroU32, time::Duration};

use async_trait::async_trait;
use governor::{
    DefaultDirectRateLimiter, DefaultKeyedRateLimiter, Quota, RateLimiter,
    clock::{Clock as _, DefaultClock},
};
use toolyard_protocol::{PackageName, ToolName, UserId};

use crate::{live_value::LiveValue, ports::CallRateLimiter};

/// The decision of the policy on a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PolicyDecision {
    /// Run it.
    Allow,
    /// Do not run it.
    Deny,
}

/// Tools that the operator denies for every caller.
#[derive(Debug, Clone, Default)]
pub struct ToolPolicy {
    tools: HashSet<ToolName>,
    packages: HashSet<PackageName>,
}

impl ToolPolicy {
    /// A policy that denies these tools: `package:tool`, or `package:*` for all tools of an app.
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

    /// Decides about one tool.
    pub fn decide(&self, tool: &ToolName) -> PolicyDecision {
        let denied = self.packages.contains(tool.package()) || self.tools.contains(tool);
        if denied { PolicyDecision::Deny } else { PolicyDecision::Allow }
    }
}

fn name_error_text(error: toolyard_protocol::InvalidName) -> String {
    error.to_string()
}

/// A rate with a burst.
#[derive(Debug, Clone, Copy)]
pub struct RateLimit {
    /// Sustained calls per second.
    pub per_second: NonZeroU32,
    /// Calls at once after a pause.
    pub burst: NonZeroU32,
}

impl RateLimit {
    fn to_quota(self) -> Quota {
        Quota::per_second(self.per_second).allow_burst(self.burst)
    }
}

/// The rate limits of calls.
#[derive(Debug, Clone, Copy)]
pub struct RateLimits {
    /// For each user.
    pub user: RateLimit,
    /// For each tool, over all users.
    pub tool: RateLimit,
    /// For this node in total.
    pub all: RateLimit,
}

/// What has been counted under the rates in force.
struct CallCounts {
    user: DefaultKeyedRateLimiter<UserId>,
    tool: DefaultKeyedRateLimiter<ToolName>,
    all: DefaultDirectRateLimiter,
}

impl CallCounts {
    fn new(rates: RateLimits) -> Self {
        Self {
            user: RateLimiter::keyed(rates.user.to_quota()),
            tool: RateLimiter::keyed(rates.tool.to_quota()),
            all: RateLimiter::direct(rates.all.to_quota()),
        }
    }
}

/// Rate limits inside this process.
pub struct LocalLimiter {
    counts: LiveValue<CallCounts>,
    clock: DefaultClock,
}

impl LocalLimiter {
    /// Creates limits with these rates.
    pub fn new(rates: RateLimits) -> Self {
        Self { counts: LiveValue::new(CallCounts::new(rates)), clock: DefaultClock::default() }
    }

    /// Applies other rates. Counting starts again, so everyone has the full burst.
    pub fn replace_rates(&self, rates: RateLimits) {
        self.counts.replace(CallCounts::new(rates));
    }

    /// Evicts users and tools whose limits are fully refilled. Called periodically, so that memory stays bounded.
    pub fn evict_idle(&self) {
        let counts = self.counts.load();
        counts.user.retain_recent();
        counts.user.shrink_to_fit();
        counts.tool.retain_recent();
    }
}

#[async_trait]
impl CallRateLimiter for LocalLimiter {
    async fn check_call(&self, user: &UserId, tool: &ToolName) -> Result<(), Duration> {
        let wait = |not_until: governor::NotUntil<_>| not_until.wait_time_from(self.clock.now());
        let counts = self.counts.load();
        counts.user.check_key(user).map_err(wait)?;
        counts.tool.check_key(tool).map_err(wait)?;
        counts.all.check().map_err(wait)
    }
}

/// A rate limit inside this process for each caller, by name.
pub struct CallerLimiter {
    callers: LiveValue<DefaultKeyedRateLimiter<String>>,
    clock: DefaultClock,
}

impl CallerLimiter {
    /// Creates a limit with this rate.
    pub fn new(rate: RateLimit) -> Self {
        Self { callers: LiveValue::new(RateLimiter::keyed(rate.to_quota())), clock: DefaultClock::default() }
    }

    /// Applies another rate. Counting starts again, so every caller has the full burst.
    pub fn replace_rate(&self, rate: RateLimit) {
        self.callers.replace(RateLimiter::keyed(rate.to_quota()));
    }

    /// Counts a request of this caller, or returns how long to wait.
    pub fn check(&self, caller: &str) -> Result<(), Duration> {
        let wait = |not_until: governor::NotUntil<_>| not_until.wait_time_from(self.clock.now());
        self.callers.load().check_key(&caller.to_owned()).map_err(wait)
    }

    /// Evicts callers whose limits are fully refilled, so that memory stays bounded.
    pub fn evict_idle(&self) {
        let callers = self.callers.load();
        callers.retain_recent();
        callers.shrink_to_fit();
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
        let two = NonZeroU32::new(2).unwrap();
        limiter.replace_rate(RateLimit { per_second: NonZeroU32::MIN, burst: two });
        assert!(limiter.check("ada").is_ok() && limiter.check("ada").is_ok());
        assert!(limiter.check("ada").is_err(), "the new rate is a limit, too");
    }

    #[tokio::test]
    async fn each_rate_holds_and_says_how_long_to_wait() {
        let rate = |burst| RateLimit { per_second: NonZeroU32::MIN, burst: NonZeroU32::new(burst).unwrap() };
        let limiter = |user, tool, all| {
            LocalLimiter::new(RateLimits { user: rate(user), tool: rate(tool), all: rate(all) })
        };
        let (ada, bob) = ("ada".parse().unwrap(), "bob".parse().unwrap());
        let (x, y) = ("com.a:x".parse().unwrap(), "com.a:y".parse().unwrap());

        let by_user = limiter(1, 100, 100);
        assert!(by_user.check_call(&ada, &x).await.is_ok() && by_user.check_call(&bob, &x).await.is_ok());
        assert!(by_user.check_call(&ada, &y).await.unwrap_err() <= Duration::from_secs(1));
        let by_tool = limiter(100, 1, 100);
        assert!(by_tool.check_call(&ada, &x).await.is_ok() && by_tool.check_call(&bob, &y).await.is_ok());
        assert!(by_tool.check_call(&bob, &x).await.is_err());
        let by_all = limiter(100, 100, 1);
        assert!(by_all.check_call(&ada, &x).await.is_ok());
        assert!(by_all.check_call(&bob, &y).await.is_err());
        by_all.replace_rates(RateLimits { user: rate(1), tool: rate(100), all: rate(100) });
        assert!(by_all.check_call(&ada, &x).await.is_ok() && by_all.check_call(&bob, &y).await.is_ok());
        assert!(by_all.check_call(&ada, &x).await.is_err());
    }
}
