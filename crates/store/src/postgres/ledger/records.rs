//! The statement that inserts call records.

use std::sync::Arc;

use sqlx::PgConnection;
use toolyard_core::ports::CallRecord;
use toolyard_protocol::{ApprovalId, ErrorCode};

use crate::rows::{
    calls::{steps_column, trace_column, wait_column},
    to_i64,
};

/// A text that PostgreSQL accepts: it refuses U+0000, and one such name must not hold up the records of others.
fn clean_text(text: &str) -> String {
    match text.contains('\0') {
        true => text.replace('\0', "\u{fffd}"),
        false => text.to_owned(),
    }
}

/// Inserts all records in one statement: one array for each column.
pub(super) async fn insert_records(
    tx: &mut PgConnection,
    records: &[Arc<CallRecord>],
) -> Result<(), sqlx::Error> {
    if records.is_empty() {
        return Ok(());
    }
    fn column<T>(records: &[Arc<CallRecord>], value: impl Fn(&CallRecord) -> T) -> Vec<T> {
        records.iter().map(|record| value(record)).collect()
    }
    // Call ids are random; a second row with the same id is a retry of the same record.
    let query = sqlx::query!(
        "INSERT INTO calls (id, user_id, tool, package, source, door, caller, error, replayed, started_at, duration_us,
             steps, bytes_in, bytes_out, trace, error_message, approval, waiting)
         SELECT * FROM UNNEST($1::TEXT[], $2::TEXT[], $3::TEXT[], $4::TEXT[], $5::TEXT[], $6::TEXT[], $7::TEXT[],
             $8::TEXT[], $9::BOOLEAN[], $10::BIGINT[], $11::BIGINT[], $12::TEXT[], $13::BIGINT[], $14::BIGINT[],
             $15::TEXT[], $16::TEXT[], $17::TEXT[], $18::BIGINT[])
         ON CONFLICT DO NOTHING",
        &column(records, |record| record.id.as_str().to_owned()),
        &column(records, |record| record.user.as_str().to_owned()),
        &column(records, |record| clean_text(&record.tool)),
        &column(records, |record| record.package.as_ref().map(|package| package.as_str().to_owned())) as _,
        &column(records, |record| record.source.as_str().to_owned()),
        &column(records, |record| record.door.as_str().to_owned()),
        &column(records, |record| clean_text(&record.caller.to_string())),
        &column(records, |record| record.error.map(ErrorCode::as_str).map(str::to_owned)) as _,
        &column(records, |record| record.replayed),
        &column(records, |record| record.started_at.as_millisecond()),
        &column(records, |record| to_i64(record.duration_us)),
        &column(records, |record| steps_column(&record.steps)),
        &column(records, |record| to_i64(record.bytes_in)),
        &column(records, |record| to_i64(record.bytes_out)),
        &column(records, |record| trace_column(&record.trace)),
        &column(records, |record| record.error_message.as_deref().map(clean_text)) as _,
        &column(records, |record| record.approval.as_ref().map(ApprovalId::as_str).map(str::to_owned)) as _,
        &column(records, |record| wait_column(record.waiting))
    );
    query.execute(tx).await.map(drop)
}
