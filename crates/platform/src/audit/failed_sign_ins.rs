//! Bounds how many failed sign-ins are recorded: anyone can cause them.

use jiff::Timestamp;
use parking_lot::Mutex;

/// Failed sign-ins that are recorded in an hour, on this node.
const MAX_AN_HOUR: u32 = 100;
const HOUR_S: i64 = 60 * 60;

#[derive(Debug, Default)]
struct HourOfFailures {
    since: i64,
    recorded: u32,
    left_out: u64,
}

/// The failed sign-ins of this hour.
#[derive(Debug, Default)]
pub(super) struct FailedSignIns(Mutex<HourOfFailures>);

impl FailedSignIns {
    /// Whether this one is recorded; if so, how many were left out before it.
    pub(super) fn admit(&self, now: Timestamp) -> Option<u64> {
        let mut hour = self.0.lock();
        if now.as_second() - hour.since >= HOUR_S {
            *hour = HourOfFailures { since: now.as_second(), recorded: 0, left_out: hour.left_out };
        }
        if hour.recorded >= MAX_AN_HOUR {
            hour.left_out += 1;
            return None;
        }
        hour.recorded += 1;
        Some(std::mem::take(&mut hour.left_out))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_hour_has_a_bound_and_the_next_hour_says_what_was_left_out() {
        let failures = FailedSignIns::default();
        let at = |second| Timestamp::from_second(1_700_000_000 + second).unwrap();
        for second in 0..i64::from(MAX_AN_HOUR) {
            assert_eq!(failures.admit(at(second)), Some(0));
        }
        assert_eq!(failures.admit(at(3_598)), None);
        assert_eq!(failures.admit(at(3_599)), None);
        assert_eq!(failures.admit(at(3_600)), Some(2));
        assert_eq!(failures.admit(at(3_601)), Some(0));
    }
}
