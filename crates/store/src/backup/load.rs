//! Loads a backup into an empty store. Everything is one transaction: the store has all of it, verified, or nothing.

use sqlx::{Connection as _, PgConnection, SqliteConnection};

use super::{BackupTable, RowError, load_postgres, load_sqlite};
use crate::{
    OpenError, StoreSettings,
    copy::{
        row::TableDigest,
        tables::{self, COPIED_TABLES, CopiedColumn},
    },
    folder::DataFolder,
    postgres, sqlite,
};

/// Why a backup was not loaded. The store is unchanged, except that it may have empty tables.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    /// The store could not be opened; a server that runs is one reason.
    #[error(transparent)]
    Open(#[from] OpenError),
    /// The store has data.
    #[error("{database} is not empty: table {table} has rows")]
    NotEmpty {
        /// Its file, or its URL without the password.
        database: String,
        /// The first such table.
        table: &'static str,
    },
    /// The backup has other tables than this program.
    #[error("the backup does not fit this version: table {table} is missing or has other columns")]
    OtherTables {
        /// The first such table.
        table: String,
    },
    /// A row of the backup is wrong.
    #[error(transparent)]
    Row(#[from] RowError),
    /// The database failed.
    #[error("table {table}: {error}")]
    Database {
        /// The table, or what was done.
        table: String,
        /// The database's error.
        error: sqlx::Error,
    },
    /// What was written is not what was read.
    #[error(
        "table {table} was not restored faithfully: {expected} rows expected, {found} rows found, contents differ"
    )]
    Unfaithful {
        /// The table.
        table: String,
        /// Rows of the backup.
        expected: u64,
        /// Rows of the store.
        found: u64,
    },
}

impl LoadError {
    pub(super) fn database(table: &str, error: sqlx::Error) -> Self {
        Self::Database { table: table.to_owned(), error }
    }
}

/// One loaded and verified table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LoadedTable {
    /// Its name.
    pub name: &'static str,
    /// How many rows it has.
    pub rows: u64,
    /// Characters U+0000 that became U+FFFD, because a text in PostgreSQL cannot contain them.
    pub replaced: u64,
}

/// What a database should have now, and what it has.
pub(super) struct LoadedRows {
    pub(super) expected: TableDigest,
    pub(super) found: TableDigest,
    pub(super) replaced: u64,
}

enum Destination {
    Sqlite {
        connection: SqliteConnection,
        /// SQLite cannot disable triggers, so they are dropped; these statements create them again.
        triggers: Vec<String>,
        /// Locked, so that no server can start meanwhile.
        folder: DataFolder,
    },
    Postgres(PgConnection),
}

/// A restore under way. Dropped without a commit, it changes nothing.
pub struct StoreLoad {
    destination: Destination,
}

impl StoreLoad {
    /// Opens an empty store, which no server may use meanwhile, and creates its tables.
    pub async fn begin(settings: &StoreSettings, tables: &[BackupTable]) -> Result<Self, LoadError> {
        check_names(tables)?;
        let begun = |error| LoadError::database("begin", error);
        let destination = match settings {
            StoreSettings::Sqlite(file) => {
                let (folder, mut connection) = sqlite::prepare_file(file).await?;
                sqlx::query("BEGIN IMMEDIATE").execute(&mut connection).await.map_err(begun)?;
                for table in COPIED_TABLES {
                    let has_rows = load_sqlite::has_rows(&mut connection, table).await;
                    check_empty(settings, table, has_rows)?;
                }
                let triggers = load_sqlite::drop_triggers(&mut connection).await.map_err(begun)?;
                Destination::Sqlite { connection, triggers, folder }
            }
            StoreSettings::Postgres(server) => {
                postgres::prepare_database(server).await?;
                // Without time limits: a table may have millions of rows.
                let mut connection = server.connect_once().await.map_err(begun)?;
                sqlx::query("BEGIN").execute(&mut connection).await.map_err(begun)?;
                for table in COPIED_TABLES {
                    let has_rows = load_postgres::has_rows(&mut connection, table).await;
                    check_empty(settings, table, has_rows)?;
                }
                Destination::Postgres(connection)
            }
        };
        Ok(Self { destination })
    }

    /// Loads a table. `next_row` replaces its argument by the next row, with its line break; it is called once for each row.
    pub async fn load_table<E: From<LoadError>>(
        &mut self,
        table: &BackupTable,
        next_row: impl FnMut(&mut Vec<u8>) -> Result<(), E>,
    ) -> Result<LoadedTable, E> {
        let name = known_name(&table.name)?;
        let loaded = match &mut self.destination {
            Destination::Sqlite { connection, .. } => {
                load_sqlite::load_table(connection, name, table, next_row).await?
            }
            Destination::Postgres(connection) => {
                load_postgres::load_table(connection, name, table, next_row).await?
            }
        };
        let LoadedRows { expected, found, replaced } = loaded;
        if expected != found {
            let (expected, found) = (expected.rows(), found.rows());
            return Err(LoadError::Unfaithful { table: name.to_owned(), expected, found }.into());
        }
        Ok(LoadedTable { name, rows: found.rows(), replaced })
    }

    /// Makes everything that was loaded visible.
    pub async fn commit(self) -> Result<(), LoadError> {
        let failed = |error| LoadError::database("commit", error);
        match self.destination {
            Destination::Sqlite { mut connection, triggers, folder } => {
                load_sqlite::finish(&mut connection, triggers).await.map_err(failed)?;
                sqlx::query("COMMIT").execute(&mut connection).await.map_err(failed)?;
                // Committed: a connection that does not close properly changes nothing.
                let _ = connection.close().await;
                folder.release();
            }
            Destination::Postgres(mut connection) => {
                tables::continue_numbers(&mut connection).await.map_err(failed)?;
                sqlx::query("COMMIT").execute(&mut connection).await.map_err(failed)?;
                let _ = connection.close().await;
            }
        }
        Ok(())
    }
}

/// Checks that a store is empty, without creating it or changing anything.
pub async fn check_empty_store(settings: &StoreSettings) -> Result<(), LoadError> {
    match settings {
        StoreSettings::Sqlite(file) => {
            let Some(mut connection) = load_sqlite::connect_existing(file).await? else { return Ok(()) };
            for table in load_sqlite::existing_tables(&mut connection).await? {
                let has_rows = load_sqlite::has_rows(&mut connection, table).await;
                check_empty(settings, table, has_rows)?;
            }
        }
        StoreSettings::Postgres(server) => {
            let mut connection = load_postgres::connect_existing(server).await?;
            for table in load_postgres::existing_tables(&mut connection).await? {
                let has_rows = load_postgres::has_rows(&mut connection, table).await;
                check_empty(settings, table, has_rows)?;
            }
        }
    }
    Ok(())
}

fn check_empty(
    settings: &StoreSettings,
    table: &'static str,
    has_rows: Result<bool, sqlx::Error>,
) -> Result<(), LoadError> {
    match has_rows.map_err(|error| LoadError::database(table, error))? {
        true => Err(LoadError::NotEmpty { database: settings.shown_database(), table }),
        false => Ok(()),
    }
}

/// Checks that a backup has every table once.
fn check_names(tables: &[BackupTable]) -> Result<(), LoadError> {
    let count = |name: &str| tables.iter().filter(|table| table.name == name).count();
    let unexpected = COPIED_TABLES.iter().find(|name| count(name) != 1);
    if let Some(name) = unexpected {
        return Err(LoadError::OtherTables { table: (*name).to_owned() });
    }
    tables.iter().try_for_each(|table| known_name(&table.name).map(drop))
}

/// The name of a table of this program. A name from a file is never part of a statement.
fn known_name(name: &str) -> Result<&'static str, LoadError> {
    let known = COPIED_TABLES.iter().find(|known| **known == name).copied();
    known.ok_or_else(|| LoadError::OtherTables { table: name.to_owned() })
}

/// The tables of this program among those that a database has.
pub(super) fn known_tables(found: &[String]) -> Vec<&'static str> {
    COPIED_TABLES.iter().filter(|table| found.iter().any(|name| name == **table)).copied().collect()
}

/// Checks that the rows of a backup fit the columns of the destination.
pub(super) fn check_columns(table: &BackupTable, columns: &[CopiedColumn]) -> Result<(), LoadError> {
    let fits = super::describe_columns(columns) == table.columns;
    if fits { Ok(()) } else { Err(LoadError::OtherTables { table: table.name.clone() }) }
}
