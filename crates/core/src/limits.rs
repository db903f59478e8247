//! The limits of a call, with their defaults. The server's configuration sets them.

use std::time::Duration;

use crate::schema::pool::WORK_TIMEOUT;

/// Longest recorded error message, in bytes: a few paragraphs, so that a stack trace does not fill the ledger.
pub const MAX_ERROR_MESSAGE_BYTES: usize = 2_000;

/// Limits of calls. All of them are server settings, under `[calls]`.
#[derive(Debug, Clone)]
pub struct CallLimits {
    /// Default timeout of a call, including the wake.
    pub call_timeout: Duration,
    /// Longest call timeout that an app may request.
    pub max_call_timeout: Duration,
    /// Default timeout of a wake.
    pub wake_timeout: Duration,
    /// Longest wake timeout that an app may request.
    pub max_wake_timeout: Duration,
    /// Calls in flight at once on this node.
    pub in_flight_node: usize,
    /// Calls in flight at once to one app.
    pub in_flight_app: usize,
    /// Calls in flight at once for one user.
    pub in_flight_user: usize,
    /// How long an outcome under an idempotency key is stored.
    pub key_lifetime: Duration,
    /// Largest outcome that is stored under a key, in bytes.
    pub key_outcome_bytes: usize,
    /// Idempotency keys of one user at once.
    pub user_keys: usize,
    /// Total size of the outcomes stored under the keys of one user, in bytes.
    pub user_key_bytes: usize,
    /// Largest result of a tool, in bytes, from any source.
    pub result_bytes: usize,
    /// Longest validation of arguments or a result. A tool whose validation takes longer is no longer offered.
    pub check_timeout: Duration,
    /// How many bytes of the error message of a failed call are recorded; 0 records none.
    pub error_message_bytes: usize,
}

impl Default for CallLimits {
    fn default() -> Self {
        Self {
            call_timeout: Duration::from_secs(30),
            max_call_timeout: Duration::from_secs(300),
            wake_timeout: Duration::from_secs(10),
            max_wake_timeout: Duration::from_secs(60),
            in_flight_node: 10_000,
            in_flight_app: 1_000,
            in_flight_user: 200,
            key_lifetime: Duration::from_secs(24 * 60 * 60),
            key_outcome_bytes: 64 * 1024,
            user_keys: 20_000,
            user_key_bytes: 64 * 1024 * 1024,
            result_bytes: 1024 * 1024,
            check_timeout: WORK_TIMEOUT,
            error_message_bytes: MAX_ERROR_MESSAGE_BYTES,
        }
    }
}

impl CallLimits {
    /// The call timeout of an app that requests `wish` milliseconds.
    pub fn call_timeout_for(&self, wish: Option<u64>) -> Duration {
        wish.map_or(self.call_timeout, |ms| Duration::from_millis(ms.max(1)).min(self.max_call_timeout))
    }

    /// The wake timeout of an app that requests `wish` milliseconds.
    pub fn wake_timeout_for(&self, wish: Option<u64>) -> Duration {
        wish.map_or(self.wake_timeout, |ms| Duration::from_millis(ms.max(1)).min(self.max_wake_timeout))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_app_may_shorten_its_timeouts_and_lengthen_them_up_to_the_maximum() {
        let limits = CallLimits::default();
        for (wish, call, wake) in [
            (None, limits.call_timeout, limits.wake_timeout),
            (Some(0), Duration::from_millis(1), Duration::from_millis(1)),
            (Some(5_000), Duration::from_secs(5), Duration::from_secs(5)),
            (Some(u64::MAX), limits.max_call_timeout, limits.max_wake_timeout),
        ] {
            assert_eq!(
                (limits.call_timeout_for(wish), limits.wake_timeout_for(wish)),
                (call, wake),
                "{wish:?}"
            );
        }
    }
}
