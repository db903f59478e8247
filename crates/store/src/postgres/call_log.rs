//! Reading the ledger.

use async_trait::async_trait;
use toolyard_core::ports::{CallFilter, CallLog, CallRecord, StoreError, UsageFilter};
use toolyard_protocol::{CallId, api::UsageRow};

use super::PostgresStore;
use crate::rows::{
    calls::{CallRow, MAX_PAGE, MAX_USAGE},
    store_error, to_u64,
};

#[async_trait]
impl CallLog for PostgresStore {
    /// Every filter is optional. An owner sees calls since the app became theirs, because package names can change hands.
    async fn list_calls(&self, filter: &CallFilter) -> Result<Vec<CallRecord>, StoreError> {
        self.ledger.flush().await;
        let query = sqlx::query_as!(
            CallRow,
            "SELECT c.id, c.user_id, c.tool, c.package, c.source, c.door, c.caller, c.error, c.replayed, c.started_at,
                 c.duration_us, c.steps, c.bytes_in, c.bytes_out, c.trace, c.error_message, c.approval, c.waiting
             FROM calls c WHERE ($1::TEXT IS NULL OR c.user_id = $1) AND ($2::TEXT IS NULL OR c.tool = $2)
             AND ($3::TEXT IS NULL OR c.package = $3)
             AND ($4::TEXT IS NULL OR CASE c.waiting WHEN 1 THEN 'AWAITING_APPROVAL' WHEN 2 THEN 'AWAITING_SIGN_IN'
                 ELSE COALESCE(c.error, 'OK') END = $4)
             AND ($5::BIGINT IS NULL OR c.started_at >= $5) AND ($6::TEXT IS NULL OR c.id < $6)
             AND ($7::TEXT IS NULL OR (c.package = ANY(ARRAY(SELECT a.package FROM apps a WHERE a.owner = $7))
                 AND EXISTS (SELECT 1 FROM apps a WHERE a.package = c.package AND a.created_at <= c.started_at)))
             AND ($9::BIGINT IS NULL OR c.started_at < $9)
             ORDER BY c.id DESC LIMIT $8",
            filter.user.as_ref().map(|user| user.as_str()),
            filter.tool.as_ref().map(|tool| tool.as_str()),
            filter.package.as_ref().map(|package| package.as_str()),
            filter.outcome.as_deref(),
            filter.since.map(|at| at.as_millisecond()),
            filter.before.as_ref().map(|id| id.as_str()),
            filter.owner.as_deref(),
            i64::from(filter.limit.clamp(1, MAX_PAGE)),
            filter.until.map(|at| at.as_millisecond())
        );
        let rows = query.fetch_all(&mut *self.connect().await?).await.map_err(store_error)?;
        rows.into_iter().map(CallRow::into_record).collect()
    }

    async fn find_call(&self, id: &CallId) -> Result<Option<CallRecord>, StoreError> {
        self.ledger.flush().await;
        let query = sqlx::query_as!(
            CallRow,
            "SELECT id, user_id, tool, package, source, door, caller, error, replayed, started_at, duration_us, steps,
                 bytes_in, bytes_out, trace, error_message, approval, waiting
             FROM calls WHERE id = $1",
            id.as_str()
        );
        let row = query.fetch_optional(&mut *self.connect().await?).await.map_err(store_error)?;
        row.map(CallRow::into_record).transpose()
    }

    async fn tool_usage(&self, filter: &UsageFilter) -> Result<Vec<UsageRow>, StoreError> {
        self.ledger.flush().await;
        let query = sqlx::query!(
            r#"SELECT tool, COUNT(*) AS "calls!", COUNT(error) AS "errors!",
                 TRUNC(AVG(duration_us))::BIGINT AS "mean!" FROM calls c
             WHERE package IS NOT NULL AND ($1::TEXT IS NULL OR user_id = $1)
             AND ($2::BIGINT IS NULL OR started_at >= $2)
             AND ($3::TEXT IS NULL OR (c.package = ANY(ARRAY(SELECT a.package FROM apps a WHERE a.owner = $3))
                 AND EXISTS (SELECT 1 FROM apps a WHERE a.package = c.package AND a.created_at <= c.started_at)))
             AND ($5::BIGINT IS NULL OR started_at < $5) AND ($6::TEXT IS NULL OR package = $6)
             AND ($7::TEXT IS NULL OR tool = $7)
             GROUP BY tool ORDER BY 2 DESC, tool LIMIT $4"#,
            filter.user.as_ref().map(|user| user.as_str()),
            filter.since.map(|at| at.as_millisecond()),
            filter.owner.as_deref(),
            MAX_USAGE,
            filter.until.map(|at| at.as_millisecond()),
            filter.package.as_ref().map(|package| package.as_str()),
            filter.tool.as_ref().map(|tool| tool.as_str())
        );
        let rows = query.fetch_all(&mut *self.connect().await?).await.map_err(store_error)?;
        let usage = rows.into_iter().map(|row| UsageRow {
            tool: row.tool,
            calls: to_u64(row.calls),
            errors: to_u64(row.errors),
            mean_us: to_u64(row.mean),
        });
        Ok(usage.collect())
    }
}
