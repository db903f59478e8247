//! Copies a SQLite store to PostgreSQL, and verifies the copy.
//!
//! Everything is one transaction: the destination has all of it, verified, or nothing.

pub(crate) mod field;
pub(crate) mod row;
pub(crate) mod tables;

use std::path::{Path, PathBuf};

use futures_util::TryStreamExt as _;
use sqlx::{AssertSqlSafe, PgConnection, Postgres, Transaction};
use tokio_util::task::TaskTracker;
use toolyard_core::ports::StoreMaintenance as _;

use self::{
    row::{CopiedRow as _, RowWriter, TableDigest, ZeroCharacters},
    tables::{COPIED_TABLES, CopiedColumn, columns_of},
};
use crate::{OpenError, PostgresSettings, SqliteSettings, SqliteStore, postgres};

/// Bytes that are sent to PostgreSQL at once.
const CHUNK_BYTES: usize = 256 * 1024;

/// Why a store was not copied. The destination is unchanged, except that it may have empty tables.
#[derive(Debug, thiserror::Error)]
pub enum CopyError {
    /// There is no such file.
    #[error("{} does not exist", .0.display())]
    NoSource(PathBuf),
    /// A store could not be opened; a server that still runs is one reason.
    #[error(transparent)]
    Open(#[from] OpenError),
    /// The destination has data.
    #[error("the destination is not empty: table {table} has rows; use an empty database")]
    NotEmpty {
        /// The first such table.
        table: &'static str,
    },
    /// A database failed.
    #[error("table {table}: {error}")]
    Database {
        /// The table.
        table: &'static str,
        /// The database's error.
        error: sqlx::Error,
    },
    /// What was written is not what was read.
    #[error(
        "table {table} was not copied faithfully: {read} rows read, {written} rows found, contents differ"
    )]
    Differs {
        /// The table.
        table: &'static str,
        /// Rows of the source.
        read: u64,
        /// Rows of the destination.
        written: u64,
    },
}

/// One copied and verified table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CopiedTable {
    /// Its name.
    pub name: &'static str,
    /// How many rows it has.
    pub rows: u64,
    /// A digest of its rows, independent of their order; the same was found in the destination.
    pub digest: String,
    /// Characters U+0000 that became U+FFFD, because a text in PostgreSQL cannot contain them.
    pub replaced: u64,
}

/// Copies the store in `from`, which no server may use meanwhile, to an empty database. `copied` is called for each table.
pub async fn copy_store(
    from: &Path,
    to: &PostgresSettings,
    mut copied: impl FnMut(&CopiedTable),
) -> Result<Vec<CopiedTable>, CopyError> {
    if !from.exists() {
        return Err(CopyError::NoSource(from.to_owned()));
    }
    // Locks the folder, and brings the tables up to date, so that both sides have the same ones.
    let source = SqliteStore::open(SqliteSettings::for_file(from), &TaskTracker::new()).await?;
    let done = copy_tables(&source, to, &mut copied).await;
    source.close().await;
    done
}

async fn copy_tables(
    source: &SqliteStore,
    to: &PostgresSettings,
    copied: &mut impl FnMut(&CopiedTable),
) -> Result<Vec<CopiedTable>, CopyError> {
    postgres::prepare_database(to).await?;
    let failed = |error| OpenError::Database { database: to.shown_url(), error };
    // Without time limits: a table may have millions of rows.
    let mut connection = to.connect_once().await.map_err(failed)?;
    let mut tx = sqlx::Connection::begin(&mut connection).await.map_err(failed)?;
    for table in COPIED_TABLES {
        check_empty(&mut tx, table).await?;
    }
    let mut tables = Vec::new();
    for table in COPIED_TABLES {
        let done = copy_table(source, &mut tx, table).await?;
        copied(&done);
        tables.push(done);
    }
    let at_end = |error| CopyError::Database { table: "sequences", error };
    tables::continue_numbers(&mut tx).await.map_err(at_end)?;
    tx.commit().await.map_err(at_end)?;
    Ok(tables)
}

async fn check_empty(tx: &mut PgConnection, table: &'static str) -> Result<(), CopyError> {
    let sql = AssertSqlSafe(format!("SELECT EXISTS (SELECT 1 FROM {table} {})", tables::copied_rows(table)));
    let has_rows = sqlx::query_scalar::<_, bool>(sql).fetch_one(tx).await;
    match has_rows.map_err(|error| CopyError::Database { table, error })? {
        true => Err(CopyError::NotEmpty { table }),
        false => Ok(()),
    }
}

async fn copy_table(
    source: &SqliteStore,
    tx: &mut Transaction<'_, Postgres>,
    table: &'static str,
) -> Result<CopiedTable, CopyError> {
    let copy = async {
        let columns = columns_of(tx, table).await?;
        // A copy is no change that a node has to hear of, and the totals of keys are copied, not counted.
        set_triggers(tx, table, "DISABLE").await?;
        let (read, replaced) = write_rows(source, tx, table, &columns).await?;
        set_triggers(tx, table, "ENABLE").await?;
        let found = read_back(tx, table, &columns).await?;
        Ok((read, found, replaced))
    };
    let (read, found, replaced) = copy.await.map_err(|error| CopyError::Database { table, error })?;
    if read != found {
        return Err(CopyError::Differs { table, read: read.rows(), written: found.rows() });
    }
    Ok(CopiedTable { name: table, rows: read.rows(), digest: read.to_string(), replaced })
}

pub(crate) async fn set_triggers(
    tx: &mut PgConnection,
    table: &str,
    switch: &str,
) -> Result<(), sqlx::Error> {
    let sql = AssertSqlSafe(format!("ALTER TABLE {table} {switch} TRIGGER USER"));
    sqlx::query(sql).execute(tx).await.map(drop)
}

/// Streams the rows of the source into the destination.
async fn write_rows(
    source: &SqliteStore,
    tx: &mut PgConnection,
    table: &str,
    columns: &[CopiedColumn],
) -> Result<(TableDigest, u64), sqlx::Error> {
    let (into, from) = (tables::column_list(columns), tables::source_list(table, columns));
    let mut copy = tx.copy_in_raw(&format!("COPY {table} ({into}) FROM STDIN")).await?;
    let sql = AssertSqlSafe(format!("SELECT {from} FROM {table} {}", tables::copied_rows(table)));
    let mut connection = source.read_connection().await?;
    let mut rows = sqlx::query(sql).fetch(&mut *connection);
    let mut writer = RowWriter::new(ZeroCharacters::Replace);
    while let Some(row) = rows.try_next().await? {
        row.write_to(&mut writer, columns)?;
        if writer.waiting() >= CHUNK_BYTES {
            copy.send(writer.take()).await?;
        }
    }
    copy.send(writer.take()).await?;
    copy.finish().await?;
    Ok(writer.end())
}

/// Reads what the destination has now, and digests it in the same way.
pub(crate) async fn read_back(
    tx: &mut PgConnection,
    table: &str,
    columns: &[CopiedColumn],
) -> Result<TableDigest, sqlx::Error> {
    let list = tables::column_list(columns);
    let sql = AssertSqlSafe(format!("SELECT {list} FROM {table} {}", tables::copied_rows(table)));
    let mut rows = sqlx::query(sql).fetch(tx);
    let mut writer = RowWriter::new(ZeroCharacters::Replace);
    while let Some(row) = rows.try_next().await? {
        row.write_to(&mut writer, columns)?;
        writer.take();
    }
    Ok(writer.end().0)
}

#[cfg(test)]
mod tests {
    use toolyard_testkit::postgres::TestDatabase;

    use super::*;

    /// A table that is added later must be copied, or be named here with a reason.
    #[tokio::test]
    async fn every_table_is_copied() {
        // What a server writes for itself, and what belongs to one database.
        const OWN: [&str; 6] =
            ["_sqlx_migrations", "changes", "ledger_nodes", "leases", "pruned_changes", "user_homes"];
        let database = TestDatabase::create();
        let settings = PostgresSettings::for_url(&database.url);
        postgres::prepare_database(&settings).await.unwrap();
        let mut connection = settings.connect_once().await.unwrap();
        let sql = "SELECT tablename::TEXT FROM pg_tables WHERE schemaname = 'public' ORDER BY 1";
        let found: Vec<String> = sqlx::query_scalar(sql).fetch_all(&mut connection).await.unwrap();
        let mut listed: Vec<&str> = COPIED_TABLES.iter().copied().chain(OWN).collect();
        listed.sort_unstable();
        assert_eq!(found, listed);
    }
}
