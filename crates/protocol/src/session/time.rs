//! Times on the wire: written as ISO 8601 with milliseconds and `Z`, parsed leniently.

use jiff::Timestamp;
use serde::{Deserialize, Deserializer};
use serde_json::Value;

/// A time as in messages: `2026-01-02T03:04:05.678Z`.
pub fn iso_millis(time: Timestamp) -> String {
    format!("{time:.3}")
}

/// Parses a `timestamp`: a string unchanged, a number as Unix milliseconds, anything else as `None`. An invalid time is
/// never a reason to reject a message.
pub(crate) fn read_timestamp<'de, D: Deserializer<'de>>(from: D) -> Result<Option<String>, D::Error> {
    Ok(timestamp_of(&Value::deserialize(from)?))
}

/// The time in a JSON value, if there is one.
pub(crate) fn timestamp_of(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => {
            #[expect(clippy::cast_possible_truncation, reason = "a float casts to the nearest that fits")]
            let millis = number.as_i64().or_else(|| number.as_f64().map(|float| float as i64))?;
            Timestamp::from_millisecond(millis).ok().map(iso_millis)
        }
        Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => None,
    }
}

/// Parses a duration in milliseconds. Numbers come from JavaScript: fractions are truncated, negative numbers are `None`.
pub(crate) fn read_millis<'de, D: Deserializer<'de>>(from: D) -> Result<Option<u64>, D::Error> {
    let Some(millis) = Option::<f64>::deserialize(from)? else { return Ok(None) };
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a float casts to the nearest that fits"
    )]
    Ok((millis >= 0.0).then_some(millis as u64))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[derive(Deserialize)]
    struct Timed {
        #[serde(default, deserialize_with = "read_timestamp")]
        timestamp: Option<String>,
        #[serde(default, deserialize_with = "read_millis")]
        millis: Option<u64>,
    }

    fn timestamp(value: Value) -> Option<String> {
        serde_json::from_value::<Timed>(json!({ "timestamp": value })).unwrap().timestamp
    }

    fn millis(value: Value) -> Option<u64> {
        serde_json::from_value::<Timed>(json!({ "millis": value })).unwrap().millis
    }

    #[test]
    fn writes_three_digits_always() {
        assert_eq!(
            iso_millis(Timestamp::from_millisecond(1_767_323_045_678).unwrap()),
            "2026-01-02T03:04:05.678Z"
        );
        assert_eq!(iso_millis(Timestamp::from_second(0).unwrap()), "1970-01-01T00:00:00.000Z");
        assert_eq!(iso_millis(Timestamp::from_microsecond(1_999_999).unwrap()), "1970-01-01T00:00:01.999Z");
    }

    #[test]
    fn reads_text_numbers_and_nothing() {
        assert_eq!(timestamp(json!("yesterday")).as_deref(), Some("yesterday"));
        assert_eq!(timestamp(json!(1_767_323_045_678_i64)).as_deref(), Some("2026-01-02T03:04:05.678Z"));
        assert_eq!(timestamp(json!(1_767_323_045_678.9)).as_deref(), Some("2026-01-02T03:04:05.678Z"));
        for odd in [json!(null), json!({}), json!(1e300), json!(u64::MAX)] {
            assert_eq!(timestamp(odd), None);
        }
        assert_eq!(serde_json::from_str::<Timed>("{}").unwrap().timestamp, None);
    }

    #[test]
    fn reads_lengths_of_time() {
        assert_eq!(millis(json!(3000)), Some(3000));
        assert_eq!(millis(json!(2999.7)), Some(2999));
        assert_eq!(millis(json!(1e300)), Some(u64::MAX));
        assert_eq!((millis(json!(-1)), millis(json!(null))), (None, None));
    }
}
