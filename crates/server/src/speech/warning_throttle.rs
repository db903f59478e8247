//! Complaints that would come with every sentence: one a minute is enough.

use std::time::Duration;

use parking_lot::Mutex;
use tokio::time::Instant;

/// How long one complaint stands for all that follow.
const QUIET: Duration = Duration::from_secs(60);

/// When the last complaint was, and how many were not made since.
#[derive(Debug, Default)]
pub(super) struct WarningThrottle(Mutex<(Option<Instant>, u64)>);

impl WarningThrottle {
    /// Whether a complaint may be made now; if so, how many were not made since the last one.
    pub(super) fn try_warn(&self) -> Option<u64> {
        let mut state = self.0.lock();
        let (last, unsaid) = &mut *state;
        if last.is_some_and(|last| last.elapsed() < QUIET) {
            *unsaid += 1;
            return None;
        }
        *last = Some(Instant::now());
        Some(std::mem::take(unsaid))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn one_a_minute_and_the_others_are_counted() {
        let seldom = WarningThrottle::default();
        assert_eq!(seldom.try_warn(), Some(0));
        assert_eq!((seldom.try_warn(), seldom.try_warn()), (None, None));
        tokio::time::advance(QUIET).await;
        assert_eq!(seldom.try_warn(), Some(2));
        assert_eq!(seldom.try_warn(), None);
    }
}
