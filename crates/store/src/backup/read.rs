//! Reads the rows of a table in text form.

use std::io;

use futures_util::{Stream, TryStreamExt as _};
use sqlx::{AssertSqlSafe, PgConnection, SqliteConnection};

use super::MAX_ROW_BYTES;
use crate::copy::{
    row::{CopiedRow, RowWriter, TableDigest, ZeroCharacters},
    tables::{CopiedColumn, column_list, copied_rows, source_list},
};

/// Bytes that are passed on at once.
const CHUNK_BYTES: usize = 256 * 1024;

/// Why a table could not be read or passed on.
#[derive(Debug)]
pub(super) enum ReadError {
    Database(sqlx::Error),
    Output(io::Error),
    TooLarge,
}

impl From<sqlx::Error> for ReadError {
    fn from(error: sqlx::Error) -> Self {
        Self::Database(error)
    }
}

/// Passes the rows of a table on.
pub(super) async fn read_sqlite_table(
    connection: &mut SqliteConnection,
    table: &str,
    columns: &[CopiedColumn],
    out: impl FnMut(&[u8]) -> io::Result<()>,
) -> Result<TableDigest, ReadError> {
    let list = source_list(table, columns);
    let sql = AssertSqlSafe(format!("SELECT {list} FROM {table} {}", copied_rows(table)));
    write_rows(sqlx::query(sql).fetch(connection), columns, out).await
}

/// The same for PostgreSQL.
pub(super) async fn read_postgres_table(
    connection: &mut PgConnection,
    table: &str,
    columns: &[CopiedColumn],
    out: impl FnMut(&[u8]) -> io::Result<()>,
) -> Result<TableDigest, ReadError> {
    let list = column_list(columns);
    let sql = AssertSqlSafe(format!("SELECT {list} FROM {table} {}", copied_rows(table)));
    write_rows(sqlx::query(sql).fetch(connection), columns, out).await
}

async fn write_rows<R: CopiedRow>(
    mut rows: impl Stream<Item = Result<R, sqlx::Error>> + Unpin,
    columns: &[CopiedColumn],
    mut out: impl FnMut(&[u8]) -> io::Result<()>,
) -> Result<TableDigest, ReadError> {
    let mut writer = RowWriter::new(ZeroCharacters::Escape);
    while let Some(row) = rows.try_next().await? {
        let before = writer.waiting();
        row.write_to(&mut writer, columns)?;
        if writer.waiting() - before > MAX_ROW_BYTES {
            return Err(ReadError::TooLarge);
        }
        if writer.waiting() >= CHUNK_BYTES {
            out(&writer.take()).map_err(ReadError::Output)?;
        }
    }
    out(&writer.take()).map_err(ReadError::Output)?;
    Ok(writer.end().0)
}
