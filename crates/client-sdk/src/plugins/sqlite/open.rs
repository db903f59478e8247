//! A connection that can read and nothing else, within bounds.

use std::path::{Path, PathBuf};

use rusqlite::{Connection, OpenFlags, config::DbConfig, limits::Limit};

use super::{
    SqliteError, SqliteOptions,
    authorizer::{SqlAuthorizer, StatementPurpose},
    error::{QueryBounds, QueryError, from_sqlite},
    query::MAX_PARAMETERS,
    work::QueryDeadline,
};

/// Instructions of SQLite's machine between two looks at the time.
const STEPS_BETWEEN_LOOKS: i32 = 1_000;
/// How long a connection waits for a lock. Not bound by the looks at the time, so it is short.
const LOCK_WAIT: std::time::Duration = std::time::Duration::from_millis(500);
/// Bounds of statements. A stored view or table is a statement, too, so they leave room.
const LIMITS: [(Limit, i32); 9] = [
    (Limit::SQLITE_LIMIT_SQL_LENGTH, 256 * 1024),
    (Limit::SQLITE_LIMIT_EXPR_DEPTH, 500),
    (Limit::SQLITE_LIMIT_COMPOUND_SELECT, 100),
    (Limit::SQLITE_LIMIT_VDBE_OP, 100_000),
    (Limit::SQLITE_LIMIT_ATTACHED, 0),
    // The comparison goes back at every star.
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

/// An open connection, and who watches over it.
pub(super) struct OpenDatabase {
    pub(super) connection: Connection,
    authorizer: SqlAuthorizer,
    bounds: QueryBounds,
}

impl SqliteDatabase {
    /// Looks whether it is one.
    pub(super) fn open_file(path: &Path, options: SqliteOptions) -> Result<Self, SqliteError> {
        let cannot = |reason: String| SqliteError { path: path.to_owned(), reason };
        // Whole, because SQLite reads a name such as `file:x?mode=rwc` or `:memory:` as something else than a file.
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
        // What the file itself defines may call only functions that are harmless anywhere.
        connection.set_db_config(DbConfig::SQLITE_DBCONFIG_TRUSTED_SCHEMA, false)?;
        connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_FTS3_TOKENIZER, false)?;
        // A word in double quotes is a column and never, by mistake, a text.
        connection.set_db_config(DbConfig::SQLITE_DBCONFIG_DQS_DML, false)?;
        for (limit, most) in LIMITS {
            connection.set_limit(limit, most)?;
        }
        let value = i32::try_from(self.options.max_value_bytes).unwrap_or(i32::MAX);
        connection.set_limit(Limit::SQLITE_LIMIT_LENGTH, value)?;
        Ok(connection)
    }

    /// Opens it for one call.
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
    /// What an error of this connection means.
    pub(super) fn query_error(&self, error: rusqlite::Error) -> QueryError {
        self.authorizer.take_refusal().unwrap_or_else(|| from_sqlite(error, self.bounds))
    }
}
