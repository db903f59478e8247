//! Counts failed sign-ins per name, whether or not there is such an account.

use std::time::Duration;

use jiff::Timestamp;
use parking_lot::Mutex;
use toolyard_core::bounded_cache::BoundedCache;

use crate::PlatformError;

/// Attempts with one name before it has to wait.
const MAX_ATTEMPTS: u32 = 5;
/// How long attempts count, in seconds.
const WINDOW_S: i64 = 15 * 60;
/// Names that are remembered. Filling the table takes one password check for each name.
const MAX_NAMES: usize = 100_000;

#[derive(Debug, Clone, Copy)]
struct Attempts {
    count: u32,
    since: i64,
}

/// The attempts of this node.
pub(super) struct FailedAttempts {
    by_name: BoundedCache<String, Attempts>,
    /// Two attempts at once are two attempts.
    counting: Mutex<()>,
}

impl FailedAttempts {
    pub(super) fn new() -> Self {
        Self { by_name: BoundedCache::new(MAX_NAMES), counting: Mutex::new(()) }
    }

    /// Counts an attempt before it is made, so that many at once gain nothing.
    pub(super) fn begin(&self, name: &str, now: Timestamp) -> Result<(), PlatformError> {
        let (name, now) = (name.to_lowercase(), now.as_second());
        let _counting = self.counting.lock();
        let earlier = self.by_name.get(&name).filter(|attempts| now - attempts.since < WINDOW_S);
        let attempts = match earlier {
            Some(Attempts { count, since }) if count >= MAX_ATTEMPTS => {
                let wait = u64::try_from(since + WINDOW_S - now).unwrap_or_default();
                return Err(PlatformError::RateLimited(Duration::from_secs(wait)));
            }
            Some(Attempts { count, since }) => Attempts { count: count + 1, since },
            None => Attempts { count: 1, since: now },
        };
        self.by_name.insert(name, attempts);
        Ok(())
    }

    /// The attempt succeeded: earlier ones are forgotten.
    pub(super) fn succeed(&self, name: &str) {
        self.by_name.remove(&name.to_lowercase());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_waits_after_five_attempts_until_the_first_is_old() {
        let attempts = FailedAttempts::new();
        let at = |second| Timestamp::from_second(second).unwrap();
        for second in 0..5 {
            attempts.begin("Ada", at(second)).unwrap();
        }
        let refused = attempts.begin("ada", at(5)).unwrap_err();
        assert!(matches!(refused, PlatformError::RateLimited(wait) if wait.as_secs() == 895), "{refused:?}");
        attempts.begin("bob", at(5)).unwrap();
        assert!(attempts.begin("ada", at(899)).is_err());
        attempts.begin("ada", at(900)).unwrap();
        attempts.succeed("ADA");
        for second in 901..906 {
            attempts.begin("ada", at(second)).unwrap();
        }
        assert!(attempts.begin("ada", at(906)).is_err());
    }
}
