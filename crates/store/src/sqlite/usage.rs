//! Aggregates over the ledger: one index scan, bounded by time or by count.

use async_trait::async_trait;
use futures_util::TryStreamExt as _;
use toolyard_core::ports::{
    CallTimeline, CallTiming, SeriesBy, StoreError, TimeBuckets, TimelineBuilder, UsageFilter, UsageLog,
};

use super::SqliteStore;
use crate::rows::{calls::read_steps, store_error, to_u64};

/// Unknown tools have no key. Sorted by key, so that all rows of a series arrive together.
macro_rules! over_time_sql {
    ($key:literal, $of_user:literal) => {
        concat!(
            "SELECT CASE WHEN c.package IS NULL THEN NULL ELSE ",
            $key,
            " END AS key, (c.started_at - ?2) / ?7 AS bucket, c.error, COUNT(*) FROM calls c WHERE ",
            $of_user,
            " AND c.started_at >= ?2 AND c.started_at < ?3 AND (?4 IS NULL OR c.package = ?4)
              AND (?5 IS NULL OR c.tool = ?5)
              AND (?6 IS NULL OR EXISTS (SELECT 1 FROM apps a WHERE a.owner = ?6
                AND a.package = c.package AND a.created_at <= c.started_at))
              GROUP BY 1, 2, 3 ORDER BY 1"
        )
    };
}

/// Ids sort by time, so both orders are newest first, and each is the order of an index.
macro_rules! timings_sql {
    ($of_user:literal, $order:literal) => {
        concat!(
            "SELECT c.duration_us, c.steps FROM calls c WHERE ",
            $of_user,
            " AND c.started_at >= ?2 AND c.started_at < ?3 AND (?4 IS NULL OR c.package = ?4)
              AND (?5 IS NULL OR c.tool = ?5)
              AND (?6 IS NULL OR EXISTS (SELECT 1 FROM apps a WHERE a.owner = ?6
                AND a.package = c.package AND a.created_at <= c.started_at))
              ORDER BY ",
            $order,
            " DESC LIMIT ?7"
        )
    };
}

const fn timeline_query(by: SeriesBy, of_user: bool) -> &'static str {
    match (by, of_user) {
        (SeriesBy::App, false) => over_time_sql!("c.package", "?1 IS NULL"),
        (SeriesBy::App, true) => over_time_sql!("c.package", "c.user_id = ?1"),
        (SeriesBy::Tool, false) => over_time_sql!("c.tool", "?1 IS NULL"),
        (SeriesBy::Tool, true) => over_time_sql!("c.tool", "c.user_id = ?1"),
    }
}

const fn timings_query(of_user: bool) -> &'static str {
    if of_user { timings_sql!("c.user_id = ?1", "c.id") } else { timings_sql!("?1 IS NULL", "c.started_at") }
}

#[async_trait]
impl UsageLog for SqliteStore {
    async fn call_timeline(
        &self,
        filter: &UsageFilter,
        buckets: TimeBuckets,
        by: SeriesBy,
    ) -> Result<CallTimeline, StoreError> {
        self.ledger.flush().await;
        let sql = timeline_query(by, filter.user.is_some());
        let query = sqlx::query_as::<_, (Option<String>, i64, Option<String>, i64)>(sql)
            .bind(filter.user.as_ref().map(|user| user.as_str()))
            .bind(buckets.from.as_millisecond())
            .bind(buckets.until.as_millisecond())
            .bind(filter.package.as_ref().map(|package| package.as_str()))
            .bind(filter.tool.as_ref().map(|tool| tool.as_str()))
            .bind(filter.owner.as_deref())
            .bind(buckets.millis.max(1));
        let mut rows = query.fetch(&self.read);
        let mut timeline = TimelineBuilder::new(buckets.count);
        while let Some((key, bucket, error, count)) = rows.try_next().await.map_err(store_error)? {
            let bucket = usize::try_from(bucket).unwrap_or(usize::MAX);
            timeline.add(key.as_deref(), bucket, error.as_deref(), to_u64(count));
        }
        Ok(timeline.build())
    }

    async fn list_timings(&self, filter: &UsageFilter, limit: u32) -> Result<Vec<CallTiming>, StoreError> {
        self.ledger.flush().await;
        let query = sqlx::query_as::<_, (i64, String)>(timings_query(filter.user.is_some()))
            .bind(filter.user.as_ref().map(|user| user.as_str()))
            .bind(filter.since.map_or(i64::MIN, |at| at.as_millisecond()))
            .bind(filter.until.map_or(i64::MAX, |at| at.as_millisecond()))
            .bind(filter.package.as_ref().map(|package| package.as_str()))
            .bind(filter.tool.as_ref().map(|tool| tool.as_str()))
            .bind(filter.owner.as_deref())
            .bind(limit);
        let rows = query.fetch_all(&self.read).await.map_err(store_error)?.into_iter();
        Ok(rows
            .map(|(duration, steps)| CallTiming { duration_us: to_u64(duration), steps: read_steps(&steps) })
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

    async fn plan(store: &SqliteStore, sql: &'static str) -> String {
        let explain = AssertSqlSafe(format!("EXPLAIN QUERY PLAN {sql}"));
        let rows =
            sqlx::query_as::<_, (i64, i64, i64, String)>(explain).fetch_all(&store.read).await.unwrap();
        rows.into_iter().map(|(_, _, _, step)| step).collect::<Vec<_>>().join("; ")
    }

    #[tokio::test]
    async fn every_report_is_one_scan_of_an_index() {
        let folder = tempfile::tempdir().unwrap();
        let settings = SqliteSettings::for_file(folder.path().join("t.db"));
        let store = SqliteStore::open(settings, &TaskTracker::new()).await.unwrap();
        for by in [SeriesBy::App, SeriesBy::Tool] {
            let plan_of_all = plan(&store, timeline_query(by, false)).await;
            assert!(
                plan_of_all.contains("SEARCH c USING INDEX calls_by_time (started_at>? AND started_at<?)"),
                "{plan_of_all}"
            );
            let plan_of_user = plan(&store, timeline_query(by, true)).await;
            assert!(
                plan_of_user.contains("SEARCH c USING INDEX calls_by_user (user_id=?)"),
                "{plan_of_user}"
            );
        }
        let all = plan(&store, timings_query(false)).await;
        assert!(all.contains("SEARCH c USING INDEX calls_by_time (started_at>? AND started_at<?)"), "{all}");
        assert!(!all.contains("TEMP B-TREE"), "nothing is sorted: {all}");
        let of_user = plan(&store, timings_query(true)).await;
        assert!(of_user.contains("SEARCH c USING INDEX calls_by_user (user_id=?)"), "{of_user}");
        assert!(!of_user.contains("TEMP B-TREE"), "nothing is sorted: {of_user}");
        store.close().await;
    }
}
