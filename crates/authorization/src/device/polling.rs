//! Whether a device that polls gets a token.

use jiff::Timestamp;

use crate::token_request::GrantError;

/// The least time between two polls, in seconds.
pub const MIN_INTERVAL_S: u32 = 5;
/// How much longer a device must wait each time that it polls too early, in seconds.
pub const INTERVAL_STEP_S: u32 = 5;
/// Longest interval, in seconds.
pub const MAX_INTERVAL_S: u32 = 60;

/// What the person did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DeviceStatus {
    /// Nothing yet.
    Pending,
    /// Allowed it.
    Approved,
    /// Denied it.
    Denied,
}

/// The stored state of a device code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DeviceState {
    /// What the person did.
    pub status: DeviceStatus,
    /// When the codes expire.
    pub expires_at: Timestamp,
    /// When the device polled last.
    pub polled_at: Option<Timestamp>,
    /// The current interval, in seconds.
    pub interval_s: u32,
}

/// The response to a poll.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PollDecision {
    /// Wait.
    Pending,
    /// Wait longer: store this interval.
    SlowDown {
        /// The new interval, in seconds.
        interval_s: u32,
    },
    /// Too late.
    Expired,
    /// The person said no.
    Denied,
    /// Issue tokens, once: remove the device code first.
    Issue,
}

impl PollDecision {
    /// The error of the token response; `None` if tokens are issued.
    pub const fn error(self) -> Option<GrantError> {
        match self {
            Self::Pending => Some(GrantError::DevicePending),
            Self::SlowDown { .. } => Some(GrantError::DeviceSlowDown),
            Self::Expired => Some(GrantError::DeviceExpired),
            Self::Denied => Some(GrantError::DeviceDenied),
            Self::Issue => None,
        }
    }
}

/// Decides about a poll. Only waiting devices are slowed down: a decision is never delayed.
pub fn decide_poll(state: &DeviceState, now: Timestamp) -> PollDecision {
    if now >= state.expires_at {
        return PollDecision::Expired;
    }
    match state.status {
        DeviceStatus::Denied => PollDecision::Denied,
        DeviceStatus::Approved => PollDecision::Issue,
        DeviceStatus::Pending => {
            let elapsed_s = |at: Timestamp| now.as_second().saturating_sub(at.as_second());
            let is_early = state.polled_at.is_some_and(|at| elapsed_s(at) < i64::from(state.interval_s));
            if !is_early {
                return PollDecision::Pending;
            }
            let longer = state.interval_s.saturating_add(INTERVAL_STEP_S);
            PollDecision::SlowDown { interval_s: longer.clamp(MIN_INTERVAL_S, MAX_INTERVAL_S) }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::OAuthErrorCode;

    fn decide(status: DeviceStatus, polled_at: Option<i64>, interval_s: u32, now: i64) -> PollDecision {
        let at = |second: i64| Timestamp::from_second(second).unwrap();
        let state = DeviceState { status, expires_at: at(600), polled_at: polled_at.map(at), interval_s };
        decide_poll(&state, at(now))
    }

    #[test]
    fn a_poll_is_answered_by_status_and_time() {
        use DeviceStatus::{Approved, Denied, Pending};
        for (status, polled_at, interval, now, expected) in [
            (Pending, None, 5, 0, PollDecision::Pending),
            (Pending, Some(0), 5, 5, PollDecision::Pending),
            (Pending, Some(0), 5, 4, PollDecision::SlowDown { interval_s: 10 }),
            (Pending, Some(0), 10, 6, PollDecision::SlowDown { interval_s: 15 }),
            (Pending, Some(0), 60, 6, PollDecision::SlowDown { interval_s: MAX_INTERVAL_S }),
            (Pending, Some(0), u32::MAX, 6, PollDecision::SlowDown { interval_s: MAX_INTERVAL_S }),
            (Pending, Some(0), 5, 600, PollDecision::Expired),
            (Approved, Some(0), 5, 1, PollDecision::Issue),
            (Approved, Some(0), 5, 600, PollDecision::Expired),
            (Denied, Some(0), 5, 1, PollDecision::Denied),
        ] {
            assert_eq!(decide(status, polled_at, interval, now), expected, "{status:?} {polled_at:?} {now}");
        }
    }

    #[test]
    fn decisions_are_the_errors_of_rfc_8628() {
        let code = |decision: PollDecision| decision.error().map(GrantError::code);
        assert_eq!(code(PollDecision::Pending), Some(OAuthErrorCode::AuthorizationPending));
        assert_eq!(code(PollDecision::SlowDown { interval_s: 10 }), Some(OAuthErrorCode::SlowDown));
        assert_eq!(code(PollDecision::Expired), Some(OAuthErrorCode::ExpiredToken));
        assert_eq!(code(PollDecision::Denied), Some(OAuthErrorCode::AccessDenied));
        assert_eq!(code(PollDecision::Issue), None);
    }
}
