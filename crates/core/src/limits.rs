//! Every bound of a call, with its default. The server's configuration fills this in.

use std::time::Duration;

use crate::schema::pool::WORK_TIMEOUT;

/// Longest error message that is recorded of a call, in bytes: a few paragraphs, so that a stack trace does not fill the
/// ledger.
pub const MAX_ERROR_MESSAGE_BYTES: usize = 2_000;

/// Bounds of calls. All of them are settings of the server, under `[calls]`.
#[derive(Debug, Clone)]
pub struct CallLimits {
    /// Longest call, wake included, where the app asks for nothing else.
    pub call_timeout: Duration,
    /// Longest call that an app may ask for.
    pub max_call_timeout: Duration,
    /// Longest wake, where the app asks for nothing else.
    pub wake_timeout: Duration,
    /// Longest wake that an app may ask for.
    pub max_wake_timeout: Duration,
    /// Calls under way at once on this node.
    pub in_flight_node: usize,
    /// Calls under way at once to one app.
    pub in_flight_app: usize,
    /// Calls under way at once for one user.
    pub in_flight_user: usize,
    /// How long an outcome under a caller's key is kept.
    pub key_lifetime: Duration,
    /// Largest outcome that is kept under a key, in bytes.
    pub key_outcome_bytes: usize,
    /// Keys of one user at once.
    pub user_keys: usize,
    /// All outcomes that are kept under keys of one user, in bytes.
    pub user_key_bytes: usize,
    /// Largest result of a tool, in bytes, wherever it comes from.
    pub result_bytes: usize,
    /// Longest check of arguments or of a result against a schema. A tool whose check takes longer is not offered any more.
    pub check_timeout: Duration,
    /// How much of the error message of a failed call is recorded, in bytes; 0 records none.
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
    /// The longest call of an app that asks for `wish` milliseconds.
    pub fn call_timeout_for(&self, wish: Option<u64>) -> Duration {
        wish.map_or(self.call_timeout, |ms| Duration::from_millis(ms.max(1)).min(self.max_call_timeout))
    }

    /// The longest wake of an app that asks for `wish` milliseconds.
    pub fn wake_timeout_for(&self, wish: Option<u64>) -> Duration {
        wish.map_or(self.wake_timeout, |ms| Duration::from_millis(ms.max(1)).min(self.max_wake_timeout))
    }
}
