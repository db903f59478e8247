//! Errors of a call, with texts that a model can act on.

use std::time::Duration;

use rusqlite::ErrorCode;

/// Why a query failed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(super) enum QueryError {
    #[error("there is no statement in `sql`; give one SELECT statement")]
    Empty,
    #[error("`sql` has {size} bytes, at most {limit} are taken; write a shorter statement")]
    TooLong { size: usize, limit: usize },
    #[error("`sql` has more than one statement; give one SELECT statement at a time")]
    Several,
    #[error("{0} is not possible here: the database can only be read; give one SELECT statement")]
    Refused(String),
    #[error("the function `{0}` cannot be used here; use the common functions of SQLite")]
    Function(String),
    #[error(
        "the statement has {wanted} parameters and `parameters` has {given} values; give one value for each `?`"
    )]
    Parameters { wanted: usize, given: usize },
    #[error("parameters[{0}] is a list or an object; give texts, numbers, true, false or null")]
    Parameter(usize),
    #[error("there are {size} parameters, at most {limit} are taken; write the values into the statement")]
    TooManyParameters { size: usize, limit: usize },
    #[error(
        "the query took longer than {0:?} and was stopped; narrow it with WHERE or LIMIT, or leave joins out"
    )]
    TooSlow(Duration),
    #[error(
        "a value is larger than {0} bytes, which is not read; leave that column out, or use length() or substr() on it"
    )]
    TooBig(usize),
    #[error("the database is locked by another program; try again")]
    Locked,
    #[error("too many queries run at the moment; try again")]
    Busy,
    #[error("SQLite says: {0}")]
    Sql(String),
    #[error("the database cannot be read: {0}")]
    Unreadable(String),
    #[error("the query failed for an unknown reason")]
    Failed,
}

/// The limits that SQLite's own errors refer to.
#[derive(Debug, Clone, Copy)]
pub(super) struct QueryBounds {
    pub(super) time: Duration,
    pub(super) value: usize,
}

/// Converts an error of SQLite. For refusals use the authorizer's own error, which is more precise.
pub(super) fn from_sqlite(error: rusqlite::Error, bounds: QueryBounds) -> QueryError {
    let (code, message) = match error {
        rusqlite::Error::SqlInputError { error, msg, .. } => (Some(error.code), msg),
        rusqlite::Error::SqliteFailure(error, message) => {
            (Some(error.code), message.unwrap_or_else(|| error.to_string()))
        }
        other => (None, other.to_string()),
    };
    match code {
        Some(ErrorCode::OperationInterrupted) => QueryError::TooSlow(bounds.time),
        Some(ErrorCode::TooBig) => QueryError::TooBig(bounds.value),
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => QueryError::Locked,
        Some(ErrorCode::ReadOnly) => QueryError::Refused("writing".to_owned()),
        Some(ErrorCode::NotADatabase | ErrorCode::DatabaseCorrupt | ErrorCode::CannotOpen) => {
            QueryError::Unreadable(message)
        }
        _ => QueryError::Sql(message),
    }
}
