//! When an assertion is valid.

use jiff::Timestamp;
use serde::Deserialize;

use super::AssertionError;

/// How far the clocks of issuer and server may differ, in seconds.
pub const CLOCK_LEEWAY_S: i64 = 60;
/// Longest lifetime of an assertion, in seconds. Its id is remembered for so long.
pub const MAX_ASSERTION_LIFETIME_S: i64 = 60 * 60;

/// Seconds since 1970. Some issuers write fractions, which are cut.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(try_from = "serde_json::Number")]
pub struct NumericDate(pub i64);

impl TryFrom<serde_json::Number> for NumericDate {
    type Error = &'static str;

    fn try_from(number: serde_json::Number) -> Result<Self, Self::Error> {
        if let Some(seconds) = number.as_i64() {
            return Ok(Self(seconds));
        }
        let seconds = number.as_f64().filter(|seconds| seconds.is_finite() && seconds.abs() < 1e12);
        // In this range the cast is exact.
        seconds.map(|seconds| Self(seconds.floor() as i64)).ok_or("a date must be seconds since 1970")
    }
}

/// The times of an assertion.
#[derive(Debug, Clone, Copy)]
pub(crate) struct AssertionTimes {
    pub(crate) expires: Option<NumericDate>,
    pub(crate) not_before: Option<NumericDate>,
    pub(crate) issued: Option<NumericDate>,
}

impl AssertionTimes {
    /// Checks the times. Returns until when the id of the assertion must be remembered.
    pub(crate) fn check(self, now: Timestamp) -> Result<Timestamp, AssertionError> {
        let now = now.as_second();
        let NumericDate(expires) = self.expires.ok_or(AssertionError::Claim("exp"))?;
        let remembered = expires.saturating_add(CLOCK_LEEWAY_S);
        if remembered <= now {
            return Err(AssertionError::Expired);
        }
        let latest = now + CLOCK_LEEWAY_S;
        let starts = self.not_before.into_iter().chain(self.issued);
        if starts.into_iter().any(|NumericDate(start)| start > latest) {
            return Err(AssertionError::NotYetValid);
        }
        // Without an issue time, the rest of the lifetime counts. An issue time is at most the leeway ahead of now.
        let (start, most) = match self.issued {
            Some(NumericDate(issued)) => (issued, MAX_ASSERTION_LIFETIME_S),
            None => (now, MAX_ASSERTION_LIFETIME_S + CLOCK_LEEWAY_S),
        };
        if expires.saturating_sub(start) > most {
            return Err(AssertionError::LifetimeTooLong);
        }
        Timestamp::from_second(remembered).map_err(|_| AssertionError::LifetimeTooLong)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: i64 = 1_800_000_000;

    fn check(expires: i64, not_before: Option<i64>, issued: Option<i64>) -> Result<i64, AssertionError> {
        let times = AssertionTimes {
            expires: Some(NumericDate(expires)),
            not_before: not_before.map(NumericDate),
            issued: issued.map(NumericDate),
        };
        times.check(Timestamp::from_second(NOW).unwrap()).map(|until| until.as_second())
    }

    #[test]
    fn an_assertion_is_valid_between_its_times_with_a_small_leeway() {
        assert_eq!(check(NOW + 60, Some(NOW), Some(NOW)), Ok(NOW + 60 + CLOCK_LEEWAY_S));
        assert_eq!(check(NOW - 59, None, None), Ok(NOW + 1));
        assert_eq!(check(NOW - CLOCK_LEEWAY_S, None, None), Err(AssertionError::Expired));
        assert_eq!(check(i64::MIN, None, None), Err(AssertionError::Expired));
        for start in [NOW + CLOCK_LEEWAY_S + 1, i64::MAX] {
            assert_eq!(check(NOW + 300, Some(start), None), Err(AssertionError::NotYetValid));
            assert_eq!(check(NOW + 300, None, Some(start)), Err(AssertionError::NotYetValid));
        }
        assert!(check(NOW + 300, Some(NOW + CLOCK_LEEWAY_S), Some(NOW + CLOCK_LEEWAY_S)).is_ok());
    }

    #[test]
    fn lifetimes_are_bounded() {
        let most = MAX_ASSERTION_LIFETIME_S;
        assert!(check(NOW + most, None, Some(NOW)).is_ok());
        assert_eq!(check(NOW + most + 1, None, Some(NOW)), Err(AssertionError::LifetimeTooLong));
        assert_eq!(check(NOW + 10, None, Some(NOW - most)), Err(AssertionError::LifetimeTooLong));
        assert!(check(NOW + most + CLOCK_LEEWAY_S, None, None).is_ok());
        assert_eq!(check(NOW + most + CLOCK_LEEWAY_S + 1, None, None), Err(AssertionError::LifetimeTooLong));
        assert_eq!(check(i64::MAX, None, None), Err(AssertionError::LifetimeTooLong));
        assert!(check(NOW + most + 30, None, Some(NOW + 30)).is_ok(), "a clock that is ahead");
        assert_eq!(check(i64::MAX, None, Some(i64::MIN)), Err(AssertionError::LifetimeTooLong));
    }

    #[test]
    fn an_expiry_is_required() {
        let times = AssertionTimes { expires: None, not_before: None, issued: None };
        assert_eq!(times.check(Timestamp::UNIX_EPOCH), Err(AssertionError::Claim("exp")));
    }

    #[test]
    fn dates_are_numbers() {
        let read = |text: &str| serde_json::from_str::<NumericDate>(text).ok();
        assert_eq!(read("1800000000"), Some(NumericDate(NOW)));
        assert_eq!(read("1800000000.9"), Some(NumericDate(NOW)));
        for bad in ["\"1800000000\"", "1e300", "18446744073709551615", "null", "true"] {
            assert_eq!(read(bad), None, "{bad}");
        }
    }
}
