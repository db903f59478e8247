//! A consistent view of a store that a server may be using. Does not hinder its writes.

use std::io;

use sqlx::{
    ConnectOptions as _, Connection as _, PgConnection, SqliteConnection, sqlite::SqliteConnectOptions,
};
use toolyard_core::ports::KnownKey;

use super::{
    BackupTable, MAX_ROW_BYTES, describe_columns,
    read::{ReadError, read_postgres_table, read_sqlite_table},
    sort_columns,
};
use crate::{
    StoreSettings, StoreState,
    copy::{
        row::TableDigest,
        tables::{COPIED_TABLES, CopiedColumn, columns_of, sqlite_columns_of},
    },
    inspect_store, postgres, sqlite,
};

/// Why a store was not read.
#[derive(Debug, thiserror::Error)]
pub enum SnapshotError {
    /// No server has used it yet.
    #[error("there is nothing to back up: {0} has no tables")]
    Empty(String),
    /// A program of an older version wrote its tables.
    #[error(
        "the tables of {0} are older than this version: make the backup with the version that wrote them, or start this version, \
         which migrates them"
    )]
    Older(String),
    /// It cannot be used.
    #[error("cannot read {database}: {reason}")]
    Unusable {
        /// Its file, or its URL without the password.
        database: String,
        /// Why.
        reason: String,
    },
    /// The database failed.
    #[error("table {table}: {error}")]
    Database {
        /// The table, or what was done.
        table: String,
        /// The database's error.
        error: sqlx::Error,
    },
    /// A row is too large to be read back.
    #[error("table {table} has a row of more than {MAX_ROW_BYTES} bytes, which a backup cannot contain")]
    RowTooLarge {
        /// The table.
        table: String,
    },
    /// Two readings of a table differ, which a snapshot must prevent.
    #[error("table {table} changed while it was read: check that the database is not damaged")]
    Changed {
        /// The table.
        table: String,
    },
    /// The rows could not be passed on.
    #[error(transparent)]
    Output(#[from] io::Error),
}

impl SnapshotError {
    fn from_read(table: &str, error: ReadError) -> Self {
        let table = table.to_owned();
        match error {
            ReadError::Database(error) => Self::Database { table, error },
            ReadError::Output(error) => Self::Output(error),
            ReadError::TooLarge => Self::RowTooLarge { table },
        }
    }
}

enum SnapshotConnection {
    Sqlite(SqliteConnection),
    Postgres(PgConnection),
}

/// A store as it was at one moment. It is read only.
pub struct StoreSnapshot {
    connection: SnapshotConnection,
}

impl StoreSnapshot {
    /// Opens a store, which a server may be using.
    pub async fn open(settings: &StoreSettings) -> Result<Self, SnapshotError> {
        check_state(settings).await?;
        let failed = |error| SnapshotError::Unusable {
            database: settings.shown_database(),
            reason: sqlx::Error::to_string(&error),
        };
        let connection = match settings {
            StoreSettings::Sqlite(settings) => {
                // In WAL mode a reader does not block the writer, and the writer does not change what the reader sees.
                let options = SqliteConnectOptions::new().filename(&settings.path).read_only(true);
                let options = options.busy_timeout(settings.busy_timeout);
                let mut connection = options.connect().await.map_err(failed)?;
                sqlx::query("BEGIN").execute(&mut connection).await.map_err(failed)?;
                SnapshotConnection::Sqlite(connection)
            }
            StoreSettings::Postgres(settings) => {
                // Without time limits: a table may have millions of rows.
                let mut connection = settings.connect_once().await.map_err(failed)?;
                let begin = sqlx::query("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY");
                begin.execute(&mut connection).await.map_err(failed)?;
                SnapshotConnection::Postgres(connection)
            }
        };
        Ok(Self { connection })
    }

    /// What the store knows about its root key.
    pub async fn known_key(&mut self) -> Result<KnownKey, SnapshotError> {
        let known = match &mut self.connection {
            SnapshotConnection::Sqlite(connection) => sqlite::known_key(connection).await,
            SnapshotConnection::Postgres(connection) => postgres::known_key(connection).await,
        };
        known.map_err(|error| SnapshotError::Database { table: "store_state".to_owned(), error })
    }

    /// Reads every table once, to describe it.
    pub async fn describe_tables(&mut self) -> Result<Vec<BackupTable>, SnapshotError> {
        let mut tables = Vec::new();
        for table in COPIED_TABLES {
            let columns = self.columns_of(table).await?;
            let digest = self.read_table(table, &columns, |_| Ok(())).await?;
            tables.push(BackupTable {
                name: (*table).to_owned(),
                columns: describe_columns(&columns),
                rows: digest.rows(),
                digest: digest.to_string(),
            });
        }
        Ok(tables)
    }

    /// Writes the rows of a table, a line each.
    pub async fn write_rows(
        &mut self,
        table: &BackupTable,
        out: &mut impl io::Write,
    ) -> Result<(), SnapshotError> {
        let columns = self.columns_of(&table.name).await?;
        let digest = self.read_table(&table.name, &columns, |rows| out.write_all(rows)).await?;
        match digest.to_string() == table.digest && describe_columns(&columns) == table.columns {
            true => Ok(()),
            false => Err(SnapshotError::Changed { table: table.name.clone() }),
        }
    }

    async fn columns_of(&mut self, table: &str) -> Result<Vec<CopiedColumn>, SnapshotError> {
        let columns = match &mut self.connection {
            SnapshotConnection::Sqlite(connection) => sqlite_columns_of(connection, table).await,
            SnapshotConnection::Postgres(connection) => columns_of(connection, table).await,
        };
        let columns = columns.map_err(|error| SnapshotError::Database { table: table.to_owned(), error })?;
        Ok(sort_columns(columns))
    }

    async fn read_table(
        &mut self,
        table: &str,
        columns: &[CopiedColumn],
        out: impl FnMut(&[u8]) -> io::Result<()>,
    ) -> Result<TableDigest, SnapshotError> {
        let read = match &mut self.connection {
            SnapshotConnection::Sqlite(connection) => {
                read_sqlite_table(connection, table, columns, out).await
            }
            SnapshotConnection::Postgres(connection) => {
                read_postgres_table(connection, table, columns, out).await
            }
        };
        read.map_err(|error| SnapshotError::from_read(table, error))
    }

    /// Ends the snapshot. Nothing was written, so errors do not matter.
    pub async fn close(self) {
        let _ = match self.connection {
            SnapshotConnection::Sqlite(connection) => connection.close().await,
            SnapshotConnection::Postgres(connection) => connection.close().await,
        };
    }
}

/// Whether the store has the tables of this version.
async fn check_state(settings: &StoreSettings) -> Result<(), SnapshotError> {
    let database = settings.shown_database();
    match inspect_store(settings).await {
        StoreState::Ready => Ok(()),
        StoreState::Empty => Err(SnapshotError::Empty(database)),
        StoreState::Older => Err(SnapshotError::Older(database)),
        StoreState::Newer { step } => {
            let reason = format!(
                "its tables are newer than this version (step {step}); use the version that wrote them"
            );
            Err(SnapshotError::Unusable { database, reason })
        }
        StoreState::Unsuitable(reason) | StoreState::Unreachable(reason) => {
            Err(SnapshotError::Unusable { database, reason })
        }
    }
}
