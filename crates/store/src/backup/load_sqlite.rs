//! Loads tables into a SQLite file.

use std::sync::Arc;

use sqlx::{AssertSqlSafe, ConnectOptions as _, Sqlite, SqliteConnection, sqlite::SqliteConnectOptions};

use super::{
    BackupTable, TableCheck,
    load::{LoadError, LoadedRows, check_columns, known_tables},
    read::{ReadError, read_sqlite_table},
    sort_columns,
};
use crate::{
    OpenError, SqliteSettings,
    copy::{
        field::FieldValue,
        row::{RowWriter, ZeroCharacters},
        tables::{CopiedColumn, column_list, copied_rows, is_text_in_sqlite, sqlite_columns_of},
    },
};

pub(super) async fn has_rows(connection: &mut SqliteConnection, table: &str) -> Result<bool, sqlx::Error> {
    let sql = AssertSqlSafe(format!("SELECT EXISTS (SELECT 1 FROM {table} {})", copied_rows(table)));
    sqlx::query_scalar(sql).fetch_one(connection).await
}

/// A connection that only reads. `None` if there is no file, or an empty one.
pub(super) async fn connect_existing(
    settings: &SqliteSettings,
) -> Result<Option<SqliteConnection>, LoadError> {
    if std::fs::metadata(&settings.path).map_or(true, |file| file.len() == 0) {
        return Ok(None);
    }
    let options = SqliteConnectOptions::new().filename(&settings.path).read_only(true);
    let failed = |error| OpenError::Database { database: settings.path.display().to_string(), error };
    Ok(Some(options.busy_timeout(settings.busy_timeout).connect().await.map_err(failed)?))
}

pub(super) async fn existing_tables(
    connection: &mut SqliteConnection,
) -> Result<Vec<&'static str>, LoadError> {
    let names = sqlx::query_scalar("SELECT name FROM sqlite_master WHERE type = 'table'");
    let names: Vec<String> =
        names.fetch_all(connection).await.map_err(|error| LoadError::database("sqlite_master", error))?;
    Ok(known_tables(&names))
}

/// Drops every trigger, and returns the statements that create them again: a restore is no change that a node has to hear of, and
/// the totals of keys are restored, not counted.
pub(super) async fn drop_triggers(connection: &mut SqliteConnection) -> Result<Vec<String>, sqlx::Error> {
    let sql = "SELECT name, sql FROM sqlite_master WHERE type = 'trigger'";
    let triggers: Vec<(String, String)> = sqlx::query_as(sql).fetch_all(&mut *connection).await?;
    for (name, _) in &triggers {
        let sql = AssertSqlSafe(format!(r#"DROP TRIGGER "{name}""#));
        sqlx::query(sql).execute(&mut *connection).await?;
    }
    Ok(triggers.into_iter().map(|(_, sql)| sql).collect())
}

/// Creates the triggers again, and lets the numbers of nodes continue: no new node gets the number of one that claimed a restored
/// key, because that node no longer runs.
pub(super) async fn finish(
    connection: &mut SqliteConnection,
    triggers: Vec<String>,
) -> Result<(), sqlx::Error> {
    for sql in triggers {
        sqlx::query(AssertSqlSafe(sql)).execute(&mut *connection).await?;
    }
    let sql = "INSERT OR IGNORE INTO ledger_nodes (id) SELECT DISTINCT node FROM call_keys
        WHERE node = (SELECT MAX(node) FROM call_keys)";
    sqlx::query(sql).execute(connection).await.map(drop)
}

/// Loads a table and reads it back.
pub(super) async fn load_table<E: From<LoadError>>(
    connection: &mut SqliteConnection,
    name: &'static str,
    table: &BackupTable,
    mut next_row: impl FnMut(&mut Vec<u8>) -> Result<(), E>,
) -> Result<LoadedRows, E> {
    let failed = |error| LoadError::database(name, error);
    let columns = sort_columns(sqlite_columns_of(connection, name).await.map_err(failed)?);
    check_columns(table, &columns)?;
    let sql: Arc<str> = insert_statement(name, &columns).into();
    let mut check = TableCheck::new(table);
    let mut expected = RowWriter::new(ZeroCharacters::Escape);
    let mut line = Vec::new();
    for _ in 0..table.rows {
        next_row(&mut line)?;
        let values = check.parse(&line).map_err(LoadError::Row)?;
        expected.add_values(&values);
        expected.take();
        insert_row(connection, &sql, values).await.map_err(failed)?;
    }
    check.finish().map_err(LoadError::Row)?;
    let found = read_sqlite_table(connection, name, &columns, |_| Ok(())).await;
    let found = found.map_err(|error| match error {
        ReadError::Database(error) => failed(error),
        ReadError::Output(error) => failed(sqlx::Error::Io(error)),
        ReadError::TooLarge => failed(sqlx::Error::Protocol("a row is too large".to_owned())),
    })?;
    Ok(LoadedRows { expected: expected.end().0, found, replaced: 0 })
}

fn insert_statement(table: &str, columns: &[CopiedColumn]) -> String {
    let value = |column: &CopiedColumn| match is_text_in_sqlite(table, &column.name) {
        true => "CAST(? AS TEXT)",
        false => "?",
    };
    let values: Vec<_> = columns.iter().map(value).collect();
    format!("INSERT INTO {table} ({}) VALUES ({})", column_list(columns), values.join(", "))
}

async fn insert_row(
    connection: &mut SqliteConnection,
    sql: &Arc<str>,
    values: Vec<FieldValue>,
) -> Result<(), sqlx::Error> {
    let mut query = sqlx::query::<Sqlite>(AssertSqlSafe(sql.clone()));
    for value in values {
        query = match value {
            FieldValue::Null => query.bind(None::<i64>),
            FieldValue::Integer(number) => query.bind(number),
            FieldValue::Text(text) => query.bind(text),
            FieldValue::Bytes(bytes) => query.bind(bytes),
        };
    }
    query.execute(connection).await.map(drop)
}
