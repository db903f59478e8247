//! Times and JSON in rows.

use jiff::Timestamp;
use serde::{Serialize, de::DeserializeOwned};
use toolyard_core::ports::StoreError;

use super::damaged;

pub(super) fn time(millis: i64) -> Timestamp {
    Timestamp::from_millisecond(millis).unwrap_or(Timestamp::UNIX_EPOCH)
}

pub(super) fn json<T: DeserializeOwned>(what: &str, text: &str) -> Result<T, StoreError> {
    serde_json::from_str(text).map_err(|error| damaged(what, error))
}

pub(super) fn text<T: Serialize>(what: &str, value: &T) -> Result<String, StoreError> {
    serde_json::to_string(value).map_err(|error| damaged(what, error))
}

pub(super) fn parsed<T: std::str::FromStr<Err: std::fmt::Display>>(
    what: &str,
    text: &str,
) -> Result<T, StoreError> {
    text.parse().map_err(|error| damaged(what, error))
}

/// SQLite counts in i64; ours never get near its end.
pub(super) fn signed(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

pub(super) fn unsigned(number: i64) -> u64 {
    u64::try_from(number).unwrap_or(0)
}

/// Words as a pattern of LIKE, in which nothing of theirs is special.
pub(super) fn pattern(words: &str) -> String {
    let mut pattern = "%".to_owned();
    for c in words.chars() {
        if matches!(c, '%' | '_' | '\\') {
            pattern.push('\\');
        }
        pattern.push(c);
    }
    pattern + "%"
}
