//! Times and JSON in rows.

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

/// SQLite counts in i64; ours never get near its end.
pub(super) fn to_i64(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

pub(super) fn to_u64(number: i64) -> u64 {
    u64::try_from(number).unwrap_or(0)
}

/// Words as a pattern of LIKE, in which nothing of theirs is special.
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
