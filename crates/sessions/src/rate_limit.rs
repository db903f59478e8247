//! How fast an app may send messages. An app that floods is stopped; the device and other apps are not affected.

use std::time::Duration;

use tokio::time::Instant;

/// A sustained message rate, and a burst.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MessageRate {
    /// Messages per second.
    pub per_s: u32,
    /// Messages at once after a pause.
    pub burst: u32,
}

/// The rate that one app has used. It outlives the app's socket, so that reconnecting does not reset it.
#[derive(Debug)]
pub(crate) struct MessageMeter {
    /// When all messages so far would have been due at the sustained rate.
    due: Instant,
}

impl MessageMeter {
    pub(crate) fn new(now: Instant) -> Self {
        Self { due: now }
    }

    /// Counts one message; false if there were too many.
    pub(crate) fn try_take(&mut self, now: Instant, rate: MessageRate) -> bool {
        let each = Duration::from_secs(1) / rate.per_s.max(1);
        let due = self.due.max(now);
        if due.duration_since(now) > each * rate.burst.saturating_sub(1) {
            return false;
        }
        self.due = due + each;
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_burst_passes_and_then_the_steady_rate() {
        let (rate, start) = (MessageRate { per_s: 10, burst: 5 }, Instant::now());
        let mut limit = MessageMeter::new(start);
        let taken =
            |limit: &mut MessageMeter, at: Instant| (0..100).filter(|_| limit.try_take(at, rate)).count();
        assert_eq!(taken(&mut limit, start), 5);
        assert_eq!(taken(&mut limit, start + Duration::from_millis(99)), 0);
        assert_eq!(taken(&mut limit, start + Duration::from_millis(100)), 1);
        assert_eq!(
            taken(&mut limit, start + Duration::from_secs(60)),
            5,
            "a pause gives the burst back, no more"
        );
    }
}
