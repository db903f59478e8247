//! Conversions between columns and values.

use jiff::Timestamp;
use serde::{Serialize, de::DeserializeOwned};
use toolyard_core::ports::StoreError;

use super::damaged_value;

pub(super) fn to_timestamp(millis: i64) -> Timestamp {
    Timestamp::from_millisecond(millis).unwrap_or(Timestamp::UNIX_EPOCH)
}

pub(super) fn from_json<T: DeserializeOwned>(what: &str, text: &str) -> Result<T, StoreError> {
    serde_json::from_str(text).map_err(|error| damaged_value(what, error))
}

pub(super) fn to_json<T: Serialize>(what: &str, value: &T) -> Result<String, StoreError> {
    serde_json::to_string(value).map_err(|error| damaged_value(what, error))
}

pub(super) fn parse_column<T: std::str::FromStr<Err: std::fmt::Display>>(
    what: &str,
    text: &str,
) -> Result<T, StoreError> {
    text.parse().map_err(|error| damaged_value(what, error))
}

/// SQLite integers are i64; our numbers never come near the limit.
pub(super) fn to_i64(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

pub(super) fn to_u64(number: i64) -> u64 {
    u64::try_from(number).unwrap_or(0)
}

/// The words as a LIKE pattern, with special characters escaped.
pub(super) fn like_pattern(words: &str) -> String {
    let mut pattern = "%".to_owned();
    for c in words.chars() {
        if matches!(c, '%' | '_' | '\\') {
            pattern.push('\\');
        }
        pattern.push(c);
    }
    pattern + "%"
}
