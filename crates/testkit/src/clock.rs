//! A clock that tests control.

use std::sync::atomic::{AtomicI64, Ordering};

use jiff::Timestamp;
use toolyard_core::ports::Clock;

/// Stands still until a test advances it.
#[derive(Debug)]
pub struct FixedClock(AtomicI64);

impl FixedClock {
    /// A clock at this time in UTC.
    pub fn at(time: &str) -> Self {
        Self(AtomicI64::new(time.parse::<Timestamp>().unwrap().as_millisecond()))
    }

    /// Advances the clock.
    pub fn advance(&self, seconds: i64) {
        self.0.fetch_add(seconds * 1_000, Ordering::SeqCst);
    }
}

impl Default for FixedClock {
    fn default() -> Self {
        Self::at("2026-01-02T03:04:05.678Z")
    }
}

impl Clock for FixedClock {
    fn now(&self) -> Timestamp {
        Timestamp::from_millisecond(self.0.load(Ordering::SeqCst)).unwrap()
    }
}
