//! Rows as both databases have them, and the conversion between columns and values.

pub(crate) mod accounts;
pub(crate) mod approval_rules;
pub(crate) mod approvals;
pub(crate) mod apps;
pub(crate) mod audit;
pub(crate) mod browser_sessions;
pub(crate) mod calls;
pub(crate) mod changes;
pub(crate) mod oauth;
pub(crate) mod personal_data;
pub(crate) mod pins;
pub(crate) mod plugins;
pub(crate) mod published_plugins;
pub(crate) mod push;
pub(crate) mod quarantine;
pub(crate) mod runs;
pub(crate) mod sign_in;
pub(crate) mod tokens;
pub(crate) mod upstreams;

use jiff::Timestamp;
use serde::{Serialize, de::DeserializeOwned};
use toolyard_core::ports::StoreError;
use toolyard_protocol::UserId;

/// The grant to call the tools of other apps, in the column `what`.
pub(crate) const ASSISTANT_GRANT: &str = "assistant";

/// The error of a failed statement.
pub(crate) fn store_error(error: sqlx::Error) -> StoreError {
    /// PostgreSQL: deadlock, too many connections, out of resources, lock or statement timeout, shutting down, starting up.
    const PASSING: [&str; 8] = ["40P01", "53300", "53000", "55P03", "57014", "57P01", "57P02", "57P03"];
    let is_passing = match &error {
        sqlx::Error::Io(_) | sqlx::Error::PoolTimedOut | sqlx::Error::PoolClosed => true,
        sqlx::Error::Database(error) => error.code().is_some_and(|code| PASSING.contains(&&*code)),
        _ => false,
    };
    match is_passing {
        true => StoreError::Unavailable(error.to_string()),
        false => StoreError::Failed(error.to_string()),
    }
}

/// The error for a stored value that cannot be parsed: damaged, or written by a newer version.
pub(crate) fn damaged_value(what: &str, error: impl std::fmt::Display) -> StoreError {
    StoreError::Failed(format!("stored {what} cannot be read: {error}"))
}

pub(crate) fn to_timestamp(millis: i64) -> Timestamp {
    Timestamp::from_millisecond(millis).unwrap_or(Timestamp::UNIX_EPOCH)
}

pub(crate) fn from_json<T: DeserializeOwned>(what: &str, text: &str) -> Result<T, StoreError> {
    serde_json::from_str(text).map_err(|error| damaged_value(what, error))
}

pub(crate) fn to_json<T: Serialize>(what: &str, value: &T) -> Result<String, StoreError> {
    serde_json::to_string(value).map_err(|error| damaged_value(what, error))
}

pub(crate) fn parse_column<T: std::str::FromStr<Err: std::fmt::Display>>(
    what: &str,
    text: &str,
) -> Result<T, StoreError> {
    text.parse().map_err(|error| damaged_value(what, error))
}

/// Integers in a database are i64; our numbers never come near the limit.
pub(crate) fn to_i64(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

pub(crate) fn to_u64(number: i64) -> u64 {
    u64::try_from(number).unwrap_or(0)
}

/// The words as a LIKE pattern, with special characters escaped.
pub(crate) fn like_pattern(words: &str) -> String {
    let mut pattern = "%".to_owned();
    // PostgreSQL refuses U+0000, and nothing that is found contains it.
    for c in words.chars().filter(|c| *c != '\0') {
        if matches!(c, '%' | '_' | '\\') {
            pattern.push('\\');
        }
        pattern.push(c);
    }
    pattern + "%"
}

pub(crate) fn to_digest(bytes: &[u8]) -> Result<[u8; 32], StoreError> {
    bytes.try_into().map_err(|_| damaged_value("digest", bytes.len()))
}

/// The column of a user; empty for everyone.
pub(crate) fn user_column(user: Option<&UserId>) -> &str {
    user.map_or("", UserId::as_str)
}

/// The user of a column.
pub(crate) fn column_user(user: &str) -> Option<UserId> {
    (!user.is_empty()).then(|| UserId::from_stored(user))
}
