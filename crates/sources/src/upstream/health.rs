//! Whether an upstream answers. One that does not is left alone for a while, so that nobody waits for it in vain.

use std::time::Duration;

use jiff::Timestamp;
use tokio::time::Instant;
use toolyard_core::ToolError;
use toolyard_protocol::{
    ErrorCode, PackageName,
    session::iso_millis,
    upstream::{UpstreamAuth, UpstreamState, UpstreamStatus},
};

/// Failures in a row after which calls are not even tried for a while.
const FAILURES: u32 = 3;
/// The first pause, and the longest.
const PAUSE: (Duration, Duration) = (Duration::from_secs(1), Duration::from_secs(60));

/// How an upstream is doing.
#[derive(Debug, Clone)]
pub(super) struct Health {
    failures: u32,
    not_before: Option<Instant>,
    pub(super) state: UpstreamState,
    pub(super) problem: Option<String>,
    pub(super) revision: Option<&'static str>,
    /// When the lists for everybody were read last, by this process.
    pub(super) listed_at: Option<Timestamp>,
}

impl Default for Health {
    fn default() -> Self {
        Self {
            failures: 0,
            not_before: None,
            state: UpstreamState::Unknown,
            problem: None,
            revision: None,
            listed_at: None,
        }
    }
}

impl Health {
    /// It answered.
    pub(super) fn well(&mut self) {
        (self.failures, self.not_before, self.problem) = (0, None, None);
        self.state = UpstreamState::Up;
    }

    /// It did not. The pause doubles with every failure in a row.
    pub(super) fn failed(&mut self, why: String) {
        self.failures = self.failures.saturating_add(1);
        self.state = UpstreamState::Down;
        self.problem = Some(why);
        if self.failures >= FAILURES {
            self.not_before = Some(Instant::now() + pause(self.failures - FAILURES));
        }
    }

    /// Somebody has to authorize first. That is no failure: it answers. Where each user authorizes for themselves, it
    /// says nothing of those who did.
    pub(super) fn wants_authorization(&mut self, auth: UpstreamAuth) {
        (self.failures, self.not_before) = (0, None);
        if auth == UpstreamAuth::OAuth && self.state == UpstreamState::Up {
            return;
        }
        self.state = UpstreamState::NeedsAuthorization;
        self.problem = Some("it wants an authorization first".to_owned());
    }

    /// How long to wait before it is worth asking again.
    pub(super) fn retry_in(&self) -> Duration {
        pause(self.failures.saturating_sub(1))
    }

    /// Refuses a call where it would most likely only wait.
    pub(super) fn check(&self, package: &PackageName) -> Result<(), ToolError> {
        match self.not_before {
            Some(until) if until > Instant::now() => {
                let wait = until - Instant::now();
                let text = format!(
                    "{package} did not answer lately, so the call was not tried; it is asked again in {} s.",
                    wait.as_secs() + 1
                );
                let error =
                    ToolError::new(ErrorCode::AppNotAvailable, text).retryable_if(true).retry_after(wait);
                Err(match &self.problem {
                    Some(problem) => error.because(problem),
                    None => error,
                })
            }
            _ => Ok(()),
        }
    }

    /// As the API shows it.
    pub(super) fn status(&self) -> UpstreamStatus {
        UpstreamStatus {
            state: self.state,
            problem: self.problem.clone(),
            listed_at: self.listed_at.map(iso_millis),
            revision: self.revision.map(str::to_owned),
            tools: 0,
            prompts: 0,
            resources: 0,
            templates: 0,
            set_aside: Vec::new(),
        }
    }
}

/// A wait that grows with every failure.
pub(super) fn pause(doublings: u32) -> Duration {
    PAUSE.0.saturating_mul(2_u32.saturating_pow(doublings.min(16))).min(PAUSE.1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn users_who_have_not_authorized_are_not_those_who_did() {
        let mut health = Health::default();
        health.wants_authorization(UpstreamAuth::OAuth);
        assert_eq!(health.state, UpstreamState::NeedsAuthorization);
        health.well();
        health.wants_authorization(UpstreamAuth::OAuth);
        assert_eq!((health.state, &health.problem), (UpstreamState::Up, &None));
        health.wants_authorization(UpstreamAuth::Headers);
        assert_eq!(health.state, UpstreamState::NeedsAuthorization, "one header is for all");
    }

    #[tokio::test(start_paused = true)]
    async fn calls_are_not_tried_after_some_failures_until_the_pause_is_over() {
        let package = "mcp.x".parse().unwrap();
        let mut health = Health::default();
        for _ in 0..FAILURES - 1 {
            health.failed("no".to_owned());
            assert!(health.check(&package).is_ok());
        }
        health.failed("no".to_owned());
        let refused = health.check(&package).unwrap_err();
        assert!(refused.retryable && refused.retry_after.is_some());
        tokio::time::advance(PAUSE.0).await;
        assert!(health.check(&package).is_ok());
        health.failed("no".to_owned());
        tokio::time::advance(PAUSE.0).await;
        assert!(health.check(&package).is_err(), "the pause doubles");
        for _ in 0..40 {
            health.failed("no".to_owned());
        }
        tokio::time::advance(PAUSE.1).await;
        assert!(health.check(&package).is_ok(), "and ends somewhere");
        health.well();
        assert_eq!((health.failures, health.state), (0, UpstreamState::Up));
    }
}
