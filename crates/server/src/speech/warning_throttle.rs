//! Limits warnings that would be repeated with every request to one per minute.

use std::time::Duration;

use parking_lot::Mutex;
use tokio::time::Instant;

/// How long further warnings are suppressed.
const QUIET: Duration = Duration::from_secs(60);

/// The time of the last warning, and how many were suppressed since.
#[derive(Debug, Default)]
pub(super) struct WarningThrottle(Mutex<(Option<Instant>, u64)>);

impl WarningThrottle {
    /// Whether to log a warning now. If so, returns how many were suppressed since the last one.
    pub(super) fn try_warn(&self) -> Option<u64> {
        let mut state = self.0.lock();
        let (last, suppressed) = &mut *state;
        if last.is_some_and(|last| last.elapsed() < QUIET) {
            *suppressed += 1;
            return None;
        }
        *last = Some(Instant::now());
        Some(std::mem::take(suppressed))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn one_warning_per_minute_and_the_others_are_counted() {
        let throttle = WarningThrottle::default();
        assert_eq!(throttle.try_warn(), Some(0));
        assert_eq!((throttle.try_warn(), throttle.try_warn()), (None, None));
        tokio::time::advance(QUIET).await;
        assert_eq!(throttle.try_warn(), Some(2));
        assert_eq!(throttle.try_warn(), None);
    }
}
