//! Reading the ledger.

use async_trait::async_trait;
use sqlx::{Arguments as _, sqlite::SqliteArguments};
use toolyard_core::ports::{CallFilter, CallLog, CallRecord, StoreError, UsageFilter};
use toolyard_protocol::{ApprovalId, CallId, ErrorCode, api::UsageRow};

use super::SqliteStore;
use crate::rows::{
    calls::{CallRow, MAX_PAGE, MAX_USAGE, steps_column, trace_column, wait_column},
    store_error, to_i64, to_u64,
};

/// Binds the columns in the order of the insert statement.
pub(super) fn bind_record(to: &mut SqliteArguments, record: &CallRecord) -> Result<(), StoreError> {
    let mut bind = || {
        to.add(record.id.as_str())?;
        to.add(record.user.as_str())?;
        to.add(&*record.tool)?;
        to.add(record.package.as_ref().map(|package| package.as_str()))?;
        to.add(record.source.as_str())?;
        to.add(record.door.as_str())?;
        to.add(record.caller.to_string())?;
        to.add(record.error.map(ErrorCode::as_str))?;
        to.add(record.replayed)?;
        to.add(record.started_at.as_millisecond())?;
        to.add(to_i64(record.duration_us))?;
        to.add(steps_column(&record.steps))?;
        to.add(to_i64(record.bytes_in))?;
        to.add(to_i64(record.bytes_out))?;
        to.add(trace_column(&record.trace))?;
        to.add(record.error_message.as_deref())?;
        to.add(record.approval.as_ref().map(ApprovalId::as_str))?;
        to.add(wait_column(record.waiting))
    };
    bind().map_err(|error| StoreError::Failed(error.to_string()))
}

/// Every filter is optional. An owner sees calls since the app became theirs, because package names can change hands.
/// The user condition is separate SQL, because with `OR` its index would not be used.
macro_rules! page_sql {
    ($of_user:literal) => {
        concat!(
            "SELECT c.* FROM calls c WHERE ",
            $of_user,
            " AND (?2 IS NULL OR c.tool = ?2) AND (?3 IS NULL OR c.package = ?3)
              AND (?4 IS NULL OR CASE c.waiting WHEN 1 THEN 'AWAITING_APPROVAL' WHEN 2 THEN 'AWAITING_SIGN_IN'
                ELSE COALESCE(c.error, 'OK') END = ?4)
              AND (?5 IS NULL OR c.started_at >= ?5) AND (?6 IS NULL OR c.id < ?6)
              AND (?7 IS NULL OR EXISTS (SELECT 1 FROM apps a WHERE a.owner = ?7
                AND a.package = c.package AND a.created_at <= c.started_at))
              AND (?9 IS NULL OR c.started_at < ?9)
              ORDER BY c.id DESC LIMIT ?8"
        )
    };
}

/// The time condition is separate as well: without one, scanning the table is faster than its index.
macro_rules! usage_sql {
    ($of_user:literal, $since:literal) => {
        concat!(
            "SELECT tool, COUNT(*) AS calls, COUNT(error), CAST(AVG(duration_us) AS INTEGER) FROM calls c
             WHERE package IS NOT NULL AND ",
            $of_user,
            " AND ",
            $since,
            " AND (?3 IS NULL OR EXISTS (SELECT 1 FROM apps a WHERE a.owner = ?3
                AND a.package = c.package AND a.created_at <= c.started_at))
             AND (?5 IS NULL OR started_at < ?5) AND (?6 IS NULL OR package = ?6) AND (?7 IS NULL OR tool = ?7)
             GROUP BY tool ORDER BY calls DESC, tool LIMIT ?4"
        )
    };
}

const fn usage_query(of_user: bool, since: bool) -> &'static str {
    match (of_user, since) {
        (false, false) => usage_sql!("?1 IS NULL", "?2 IS NULL"),
        (false, true) => usage_sql!("?1 IS NULL", "started_at >= ?2"),
        (true, false) => usage_sql!("user_id = ?1", "?2 IS NULL"),
        (true, true) => usage_sql!("user_id = ?1", "started_at >= ?2"),
    }
}

#[async_trait]
impl CallLog for SqliteStore {
    async fn list_calls(&self, filter: &CallFilter) -> Result<Vec<CallRecord>, StoreError> {
        self.ledger.flush().await;
        let sql = if filter.user.is_some() { page_sql!("c.user_id = ?1") } else { page_sql!("?1 IS NULL") };
        let query = sqlx::query_as::<_, CallRow>(sql)
            .bind(filter.user.as_ref().map(|user| user.as_str()))
            .bind(filter.tool.as_ref().map(|tool| tool.as_str()))
            .bind(filter.package.as_ref().map(|package| package.as_str()))
            .bind(filter.outcome.as_deref())
            .bind(filter.since.map(|at| at.as_millisecond()))
            .bind(filter.before.as_ref().map(|id| id.as_str()))
            .bind(filter.owner.as_deref())
            .bind(filter.limit.clamp(1, MAX_PAGE))
            .bind(filter.until.map(|at| at.as_millisecond()));
        query
            .fetch_all(&self.read)
            .await
            .map_err(store_error)?
            .into_iter()
            .map(CallRow::into_record)
            .collect()
    }

    async fn find_call(&self, id: &CallId) -> Result<Option<CallRecord>, StoreError> {
        self.ledger.flush().await;
        let query = sqlx::query_as::<_, CallRow>("SELECT * FROM calls WHERE id = ?").bind(id.as_str());
        query.fetch_optional(&self.read).await.map_err(store_error)?.map(CallRow::into_record).transpose()
    }

    async fn tool_usage(&self, filter: &UsageFilter) -> Result<Vec<UsageRow>, StoreError> {
        self.ledger.flush().await;
        let sql = usage_query(filter.user.is_some(), filter.since.is_some());
        let query = sqlx::query_as::<_, (String, i64, i64, i64)>(sql)
            .bind(filter.user.as_ref().map(|user| user.as_str()))
            .bind(filter.since.map(|at| at.as_millisecond()))
            .bind(filter.owner.as_deref())
            .bind(MAX_USAGE)
            .bind(filter.until.map(|at| at.as_millisecond()))
            .bind(filter.package.as_ref().map(|package| package.as_str()))
            .bind(filter.tool.as_ref().map(|tool| tool.as_str()));
        let rows = query.fetch_all(&self.read).await.map_err(store_error)?.into_iter();
        Ok(rows
            .map(|(tool, calls, errors, mean)| UsageRow {
                tool,
                calls: to_u64(calls),
                errors: to_u64(errors),
                mean_us: to_u64(mean),
            })
            .collect())
    }
}

#[cfg(test)]
mod tests {
    use sqlx::AssertSqlSafe;
    use tokio_util::task::TaskTracker;

    use toolyard_core::ports::StoreMaintenance as _;

    use super::*;
    use crate::SqliteSettings;

    #[tokio::test]
    async fn the_usage_of_a_user_reads_only_the_calls_of_that_user() {
        let folder = tempfile::tempdir().unwrap();
        let settings = SqliteSettings::for_file(folder.path().join("t.db"));
        let store = SqliteStore::open(settings, &TaskTracker::new()).await.unwrap();
        for (of_user, since, by) in [
            (true, false, "SEARCH c USING INDEX calls_by_user (user_id=?)"),
            (true, true, "SEARCH c USING INDEX calls_by_user (user_id=?)"),
            (false, true, "SEARCH c USING INDEX calls_by_time (started_at>?"),
        ] {
            let explain = AssertSqlSafe(format!("EXPLAIN QUERY PLAN {}", usage_query(of_user, since)));
            let steps =
                sqlx::query_as::<_, (i64, i64, i64, String)>(explain).fetch_all(&store.read).await.unwrap();
            assert!(steps.iter().any(|(_, _, _, step)| step.contains(by)), "{steps:?}");
        }
        store.close().await;
    }
}
