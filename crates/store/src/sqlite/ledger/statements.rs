//! The statement that inserts call records.

use std::sync::Arc;

use sqlx::{SqliteConnection, sqlite::SqliteArguments};
use toolyard_core::ports::CallRecord;

use super::super::call_log::bind_record;

/// Rows in one statement. Statements of these sizes are prepared once. Each statement is a round trip to SQLite's
/// thread, which is slow on a busy machine, so a full batch uses few of them.
const MANY_ROWS: usize = 512;
const SOME_ROWS: usize = 32;

const COLUMNS: &str =
    "INSERT INTO calls (id, user_id, tool, package, source, door, caller, error, replayed, started_at,
    duration_us, steps, bytes_in, bytes_out, trace, error_message, approval, waiting) VALUES ";
const ROW: &str = "(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)";

pub(super) async fn insert_records(
    tx: &mut SqliteConnection,
    records: &[Arc<CallRecord>],
) -> Result<(), sqlx::Error> {
    let (many, rest) = records.as_chunks::<MANY_ROWS>();
    for rows in many {
        insert_rows(tx, rows).await?;
    }
    let (some, rest) = rest.as_chunks::<SOME_ROWS>();
    for rows in some {
        insert_rows(tx, rows).await?;
    }
    for row in rest {
        insert_rows(tx, std::slice::from_ref(row)).await?;
    }
    Ok(())
}

async fn insert_rows(tx: &mut SqliteConnection, rows: &[Arc<CallRecord>]) -> Result<(), sqlx::Error> {
    let mut sql = String::with_capacity(COLUMNS.len() + rows.len() * (ROW.len() + 1));
    sql.push_str(COLUMNS);
    for index in 0..rows.len() {
        sql.push_str(if index > 0 { "," } else { "" });
        sql.push_str(ROW);
    }
    // Call ids are random; a second row with the same id is a retry of the same record.
    sql.push_str(" ON CONFLICT DO NOTHING");
    let mut arguments = SqliteArguments::default();
    for record in rows {
        bind_record(&mut arguments, record).map_err(|error| sqlx::Error::Encode(error.into()))?;
    }
    let query = sqlx::query_with(sqlx::AssertSqlSafe(sql), arguments);
    query.execute(tx).await.map(drop)
}
