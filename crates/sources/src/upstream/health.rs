//! The health of an upstream. Calls to one that does not respond are refused for a while, so that callers do not wait
//! in vain.

use std::time::Duration;

use jiff::Timestamp;
use tokio::time::Instant;
use toolyard_core::ToolError;
use toolyard_protocol::{
    CallId, ErrorCode, PackageName,
    session::iso_millis,
    upstream::{UpstreamAuth, UpstreamState, UpstreamStatus},
};

/// Failures in a row after which calls are refused for a while.
const FAILURES: u32 = 3;
/// The first and the longest pause.
const PAUSE: (Duration, Duration) = (Duration::from_secs(1), Duration::from_secs(60));

/// The health of an upstream.
#[derive(Debug, Clone)]
pub(super) struct UpstreamHealth {
    /// Whether it can be reached. Reading its lists proves that.
    reach: CircuitBreaker,
    /// Whether it answers calls. Only calls prove that: an upstream may list its tools and hang in every call.
    calls: CircuitBreaker,
    pub(super) state: UpstreamState,
    pub(super) problem: Option<String>,
    pub(super) revision: Option<&'static str>,
    /// When this process last read the shared lists.
    pub(super) listed_at: Option<Timestamp>,
}

impl Default for UpstreamHealth {
    fn default() -> Self {
        Self {
            reach: CircuitBreaker::default(),
            calls: CircuitBreaker::default(),
            state: UpstreamState::Unknown,
            problem: None,
            revision: None,
            listed_at: None,
        }
    }
}

impl UpstreamHealth {
    /// Its lists were read.
    pub(super) fn record_listed(&mut self) {
        self.reach.close();
        (self.state, self.problem) = (UpstreamState::Up, None);
    }

    /// It answered a call, or the operator wants it retried at once.
    pub(super) fn record_success(&mut self) {
        self.calls.close();
        self.record_listed();
    }

    /// It cannot be reached. The pause doubles with every failure in a row.
    pub(super) fn record_unreachable(&mut self, why: String) {
        self.state = UpstreamState::Down;
        self.reach.record_failure(&why);
        self.problem = Some(why);
    }

    /// It accepted a call but failed or did not answer.
    pub(super) fn record_call_failure(&mut self, why: &str) {
        self.calls.record_failure(why);
    }

    /// A call ended without proving anything, so another one may try.
    pub(super) fn record_call_left(&mut self, call: &CallId) {
        self.reach.release_probe(call);
        self.calls.release_probe(call);
    }

    /// The user must authorize first. That is not a failure: it responds. If each user authorizes separately, it says
    /// nothing about those who did.
    pub(super) fn record_authorization_needed(&mut self, auth: UpstreamAuth) {
        self.reach.close();
        if auth == UpstreamAuth::OAuth && self.state == UpstreamState::Up {
            return;
        }
        self.state = UpstreamState::NeedsAuthorization;
        self.problem = Some("it requires authorization first".to_owned());
    }

    /// Delay before the next attempt.
    pub(super) fn retry_in(&self) -> Duration {
        retry_pause(self.reach.failures.saturating_sub(1))
    }

    /// Refuses a call that would most likely only wait. After the pause one call at a time is let through, until one is
    /// answered.
    pub(super) fn check_call(
        &mut self,
        package: &PackageName,
        call: &CallId,
        deadline: Instant,
    ) -> Result<(), ToolError> {
        let wait = self.reach.wait_time(call).max(self.calls.wait_time(call));
        let Some(wait) = wait else {
            self.reach.let_through(call, deadline);
            self.calls.let_through(call, deadline);
            return Ok(());
        };
        let text = format!(
            "{package} did not respond recently, so the call was not sent; the next attempt is possible in {} s.",
            wait.as_secs() + 1
        );
        let error = ToolError::new(ErrorCode::AppNotAvailable, text).retryable_if(true).retry_after(wait);
        Err(match self.calls.problem.as_ref().or(self.reach.problem.as_ref()) {
            Some(problem) => error.with_cause(problem),
            None => error,
        })
    }

    /// The status as the API shows it.
    pub(super) fn status(&self) -> UpstreamStatus {
        let (state, problem) = match (&self.calls.problem, self.state) {
            (Some(problem), UpstreamState::Up) if self.calls.failures >= FAILURES => {
                let text = format!("the last {} calls failed: {problem}", self.calls.failures);
                (UpstreamState::Down, Some(text))
            }
            (_, state) => (state, self.problem.clone()),
        };
        UpstreamStatus {
            state,
            problem,
            listed_at: self.listed_at.map(iso_millis),
            revision: self.revision.map(str::to_owned),
            tools: 0,
            prompts: 0,
            resources: 0,
            templates: 0,
            set_aside: Vec::new(),
            warnings: Vec::new(),
        }
    }
}

/// A circuit breaker: closed while calls succeed, open for a pause after some failures in a row, then half open for one
/// call at a time.
#[derive(Debug, Clone, Default)]
struct CircuitBreaker {
    failures: u32,
    problem: Option<String>,
    not_before: Option<Instant>,
    /// The call that was let through after the pause, and its deadline.
    probe: Option<(CallId, Instant)>,
}

impl CircuitBreaker {
    fn close(&mut self) {
        *self = Self::default();
    }

    fn record_failure(&mut self, why: &str) {
        self.failures = self.failures.saturating_add(1);
        self.problem = Some(why.to_owned());
        self.probe = None;
        if self.failures >= FAILURES {
            self.not_before = Some(Instant::now() + retry_pause(self.failures - FAILURES));
        }
    }

    /// How long this call must wait; `None` if it may be made.
    fn wait_time(&self, call: &CallId) -> Option<Duration> {
        let now = Instant::now();
        let pause = self.not_before?.checked_duration_since(now).filter(|left| !left.is_zero());
        let others = self.probe.as_ref().filter(|(id, _)| id != call);
        pause.or_else(|| {
            others.and_then(|(_, until)| until.checked_duration_since(now)).map(|left| left.min(PAUSE.0))
        })
    }

    fn let_through(&mut self, call: &CallId, deadline: Instant) {
        if self.not_before.is_some() {
            self.probe = Some((call.clone(), deadline));
        }
    }

    fn release_probe(&mut self, call: &CallId) {
        if self.probe.as_ref().is_some_and(|(id, _)| id == call) {
            self.probe = None;
        }
    }
}

/// A pause that grows with every failure.
pub(super) fn retry_pause(doublings: u32) -> Duration {
    PAUSE.0.saturating_mul(2_u32.saturating_pow(doublings.min(16))).min(PAUSE.1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(name: &str) -> CallId {
        name.parse().unwrap()
    }

    fn check(health: &mut UpstreamHealth, name: &str) -> Result<(), ToolError> {
        health.check_call(&"mcp.x".parse().unwrap(), &call(name), Instant::now() + Duration::from_secs(30))
    }

    #[test]
    fn users_who_have_not_authorized_are_not_those_who_did() {
        let mut health = UpstreamHealth::default();
        health.record_authorization_needed(UpstreamAuth::OAuth);
        assert_eq!(health.state, UpstreamState::NeedsAuthorization);
        health.record_success();
        health.record_authorization_needed(UpstreamAuth::OAuth);
        assert_eq!((health.state, &health.problem), (UpstreamState::Up, &None));
        health.record_authorization_needed(UpstreamAuth::Headers);
        assert_eq!(health.state, UpstreamState::NeedsAuthorization, "one header is for all");
    }

    #[tokio::test(start_paused = true)]
    async fn calls_are_not_tried_after_some_failures_until_the_pause_is_over() {
        let mut health = UpstreamHealth::default();
        for _ in 0..FAILURES - 1 {
            health.record_unreachable("no".to_owned());
            assert!(check(&mut health, "c1").is_ok());
        }
        health.record_unreachable("no".to_owned());
        let refused = check(&mut health, "c1").unwrap_err();
        assert!(refused.retryable && refused.retry_after.is_some());
        tokio::time::advance(PAUSE.0).await;
        assert!(check(&mut health, "c1").is_ok());
        health.record_unreachable("no".to_owned());
        tokio::time::advance(PAUSE.0).await;
        assert!(check(&mut health, "c1").is_err(), "the pause doubles");
        for _ in 0..40 {
            health.record_unreachable("no".to_owned());
        }
        tokio::time::advance(PAUSE.1).await;
        assert!(check(&mut health, "c1").is_ok(), "and ends somewhere");
        health.record_success();
        assert_eq!((health.reach.failures, health.state), (0, UpstreamState::Up));
    }

    #[tokio::test(start_paused = true)]
    async fn lists_that_can_be_read_do_not_excuse_calls_that_are_not_answered() {
        let mut health = UpstreamHealth::default();
        for _ in 0..FAILURES {
            assert!(check(&mut health, "c1").is_ok());
            health.record_call_failure("no answer within 30s");
            health.record_listed();
        }
        assert!(check(&mut health, "c2").is_err());
        let status = health.status();
        assert_eq!(status.state, UpstreamState::Down);
        assert!(status.problem.unwrap().contains("no answer within"));
        health.record_success();
        assert!(check(&mut health, "c2").is_ok());
        assert_eq!(health.status().state, UpstreamState::Up);
    }

    #[tokio::test(start_paused = true)]
    async fn after_the_pause_one_call_tries_for_all() {
        let mut health = UpstreamHealth::default();
        (0..FAILURES).for_each(|_| health.record_call_failure("no"));
        tokio::time::advance(PAUSE.0).await;
        assert!(check(&mut health, "c1").is_ok());
        assert!(check(&mut health, "c1").is_ok(), "the same call asks twice");
        assert!(check(&mut health, "c2").is_err(), "the others wait for it");
        health.record_call_left(&call("c2"));
        assert!(check(&mut health, "c2").is_err());
        // Its caller leaves: the next call tries.
        health.record_call_left(&call("c1"));
        assert!(check(&mut health, "c2").is_ok());
        health.record_call_failure("no");
        assert!(check(&mut health, "c3").is_err(), "a failed try opens it again");
        tokio::time::advance(PAUSE.0 * 2).await;
        assert!(check(&mut health, "c3").is_ok());
        // A probe that never ended is over at its deadline.
        tokio::time::advance(Duration::from_secs(31)).await;
        assert!(check(&mut health, "c4").is_ok());
        health.record_success();
        assert!(check(&mut health, "c5").is_ok() && check(&mut health, "c6").is_ok());
    }
}
