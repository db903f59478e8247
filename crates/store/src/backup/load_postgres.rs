//! Loads tables into a PostgreSQL database.

use sqlx::{AssertSqlSafe, PgConnection};

use super::{
    BackupTable, TableCheck,
    load::{LoadError, LoadedRows, check_columns, known_tables},
    sort_columns,
};
use crate::{
    OpenError, PostgresSettings,
    copy::{
        self,
        row::{RowWriter, TableDigest, ZeroCharacters},
        tables::{CopiedColumn, column_list, columns_of, copied_rows},
    },
};

/// Bytes that are sent to PostgreSQL at once.
const CHUNK_BYTES: usize = 256 * 1024;

pub(super) async fn has_rows(connection: &mut PgConnection, table: &str) -> Result<bool, sqlx::Error> {
    let sql = AssertSqlSafe(format!("SELECT EXISTS (SELECT 1 FROM {table} {})", copied_rows(table)));
    sqlx::query_scalar(sql).fetch_one(connection).await
}

/// A connection to look at the database.
pub(super) async fn connect_existing(settings: &PostgresSettings) -> Result<PgConnection, LoadError> {
    let failed = |error| OpenError::Database { database: settings.shown_url(), error };
    Ok(settings.connect_once().await.map_err(failed)?)
}

pub(super) async fn existing_tables(connection: &mut PgConnection) -> Result<Vec<&'static str>, LoadError> {
    let names =
        sqlx::query_scalar("SELECT tablename::TEXT FROM pg_tables WHERE schemaname = current_schema()");
    let names: Vec<String> =
        names.fetch_all(connection).await.map_err(|error| LoadError::database("pg_tables", error))?;
    Ok(known_tables(&names))
}

/// Loads a table and reads it back.
pub(super) async fn load_table<E: From<LoadError>>(
    connection: &mut PgConnection,
    name: &'static str,
    table: &BackupTable,
    next_row: impl FnMut(&mut Vec<u8>) -> Result<(), E>,
) -> Result<LoadedRows, E> {
    let failed = |error| LoadError::database(name, error);
    let columns = sort_columns(columns_of(connection, name).await.map_err(failed)?);
    check_columns(table, &columns)?;
    // A restore is no change that a node has to hear of, and the totals of keys are restored, not counted.
    copy::set_triggers(connection, name, "DISABLE").await.map_err(failed)?;
    let (expected, replaced) = send_rows(connection, name, table, &columns, next_row).await?;
    copy::set_triggers(connection, name, "ENABLE").await.map_err(failed)?;
    let found = copy::read_back(connection, name, &columns).await.map_err(failed)?;
    Ok(LoadedRows { expected, found, replaced })
}

async fn send_rows<E: From<LoadError>>(
    connection: &mut PgConnection,
    name: &'static str,
    table: &BackupTable,
    columns: &[CopiedColumn],
    mut next_row: impl FnMut(&mut Vec<u8>) -> Result<(), E>,
) -> Result<(TableDigest, u64), E> {
    let failed = |error| LoadError::database(name, error);
    let sql = format!("COPY {name} ({}) FROM STDIN", column_list(columns));
    let mut copy = connection.copy_in_raw(&sql).await.map_err(failed)?;
    let mut check = TableCheck::new(table);
    let mut writer = RowWriter::new(ZeroCharacters::Replace);
    let mut line = Vec::new();
    for _ in 0..table.rows {
        next_row(&mut line)?;
        writer.add_values(&check.parse(&line).map_err(LoadError::Row)?);
        if writer.waiting() >= CHUNK_BYTES {
            copy.send(writer.take()).await.map_err(failed)?;
        }
    }
    check.finish().map_err(LoadError::Row)?;
    copy.send(writer.take()).await.map_err(failed)?;
    copy.finish().await.map_err(failed)?;
    Ok(writer.end())
}
