//! A read-only connection with limits.

use std::path::{Path, PathBuf};

use rusqlite::{Connection, OpenFlags, config::DbConfig, limits::Limit};

use super::{
    SqliteError, SqliteOptions,
    authorizer::{SqlAuthorizer, StatementPurpose},
    error::{QueryBounds, QueryError, from_sqlite},
    query::MAX_PARAMETERS,
    work::QueryDeadline,
};

/// Instructions of SQLite's virtual machine between two checks of the deadline.
const STEPS_BETWEEN_LOOKS: i32 = 1_000;
/// How long a connection waits for a lock. Short, because the deadline is not checked meanwhile.
const LOCK_WAIT: std::time::Duration = std::time::Duration::from_millis(500);
/// Limits of statements. They also apply to stored views and tables, so they leave room.
const LIMITS: [(Limit, i32); 9] = [
    (Limit::SQLITE_LIMIT_SQL_LENGTH, 256 * 1024),
    (Limit::SQLITE_LIMIT_EXPR_DEPTH, 500),
    (Limit::SQLITE_LIMIT_COMPOUND_SELECT, 100),
    (Limit::SQLITE_LIMIT_VDBE_OP, 100_000),
    (Limit::SQLITE_LIMIT_ATTACHED, 0),
    // Matching backtracks at every wildcard.
    (Limit::SQLITE_LIMIT_LIKE_PATTERN_LENGTH, 200),
    (Limit::SQLITE_LIMIT_VARIABLE_NUMBER, MAX_PARAMETERS as i32),
    (Limit::SQLITE_LIMIT_TRIGGER_DEPTH, 1),
    (Limit::SQLITE_LIMIT_WORKER_THREADS, 0),
];

/// A database on disk.
#[derive(Debug)]
pub(super) struct SqliteDatabase {
    path: PathBuf,
    pub(super) options: SqliteOptions,
}

/// An open connection with its authorizer.
pub(super) struct OpenDatabase {
    pub(super) connection: Connection,
    authorizer: SqlAuthorizer,
    bounds: QueryBounds,
}

impl SqliteDatabase {
    /// Checks that the file is a database.
    pub(super) fn open_file(path: &Path, options: SqliteOptions) -> Result<Self, SqliteError> {
        let cannot = |reason: String| SqliteError { path: path.to_owned(), reason };
        // An absolute path, because SQLite gives names such as `file:x?mode=rwc` or `:memory:` a special meaning.
        let whole = path.canonicalize().map_err(|error| cannot(error.to_string()))?;
        let database = Self { path: whole, options };
        let look = |connection: Connection| {
            connection.query_row("SELECT count(*) FROM sqlite_schema", [], |_| Ok(()))
        };
        database.connect().and_then(look).map_err(|error| cannot(error.to_string()))?;
        Ok(database)
    }

    fn connect(&self) -> rusqlite::Result<Connection> {
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let connection = Connection::open_with_flags(&self.path, flags)?;
        connection.busy_timeout(LOCK_WAIT)?;
        connection.set_db_config(DbConfig::SQLITE_DBCONFIG_DEFENSIVE, true)?;
        // Views and triggers in the file may call only harmless functions.
        connection.set_db_config(DbConfig::SQLITE_DBCONFIG_TRUSTED_SCHEMA, false)?;
        connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_FTS3_TOKENIZER, false)?;
        // Double quotes always mean a column, never a string.
        connection.set_db_config(DbConfig::SQLITE_DBCONFIG_DQS_DML, false)?;
        for (limit, most) in LIMITS {
            connection.set_limit(limit, most)?;
        }
        let value = i32::try_from(self.options.max_value_bytes).unwrap_or(i32::MAX);
        connection.set_limit(Limit::SQLITE_LIMIT_LENGTH, value)?;
        Ok(connection)
    }

    /// Opens a connection for one call.
    pub(super) fn open_for(
        &self,
        purpose: StatementPurpose,
        stop: &QueryDeadline,
    ) -> Result<OpenDatabase, QueryError> {
        let bounds = QueryBounds { time: self.options.time_limit, value: self.options.max_value_bytes };
        let watched = || {
            let connection = self.connect()?;
            let guard = SqlAuthorizer::default();
            let (judge, stop) = (guard.clone(), stop.clone());
            connection.authorizer(Some(move |context: rusqlite::hooks::AuthContext<'_>| {
                judge.authorize(purpose, &context)
            }))?;
            connection.progress_handler(STEPS_BETWEEN_LOOKS, Some(move || stop.is_over()))?;
            Ok(OpenDatabase { connection, authorizer: guard, bounds })
        };
        watched().map_err(|error| from_sqlite(error, bounds))
    }
}

impl OpenDatabase {
    /// Converts an error of this connection.
    pub(super) fn query_error(&self, error: rusqlite::Error) -> QueryError {
        self.authorizer.take_refusal().unwrap_or_else(|| from_sqlite(error, self.bounds))
    }
}
