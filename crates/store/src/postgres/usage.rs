//! Aggregates over the ledger: one index scan, bounded by time or by count.

use async_trait::async_trait;
use futures_util::TryStreamExt as _;
use toolyard_core::ports::{
    CallTimeline, CallTiming, SeriesBy, StoreError, TimeBuckets, TimelineBuilder, UsageFilter, UsageLog,
};

use super::PostgresStore;
use crate::rows::{calls::read_steps, store_error, to_u64};

#[async_trait]
impl UsageLog for PostgresStore {
    async fn call_timeline(
        &self,
        filter: &UsageFilter,
        buckets: TimeBuckets,
        by: SeriesBy,
    ) -> Result<CallTimeline, StoreError> {
        self.ledger.flush().await;
        // Unknown tools have no key. Sorted by key, so that all rows of a series arrive together.
        let query = sqlx::query!(
            r#"SELECT CASE WHEN c.package IS NULL THEN NULL WHEN $8 THEN c.package ELSE c.tool END AS key,
                 (c.started_at - $2) / $7 AS "bucket!", c.error, COUNT(*) AS "count!" FROM calls c
             WHERE ($1::TEXT IS NULL OR c.user_id = $1) AND c.started_at >= $2 AND c.started_at < $3
             AND ($4::TEXT IS NULL OR c.package = $4) AND ($5::TEXT IS NULL OR c.tool = $5)
             AND ($6::TEXT IS NULL OR (c.package = ANY(ARRAY(SELECT a.package FROM apps a WHERE a.owner = $6))
                 AND EXISTS (SELECT 1 FROM apps a WHERE a.package = c.package AND a.created_at <= c.started_at)))
             GROUP BY 1, 2, 3 ORDER BY 1 NULLS FIRST"#,
            filter.user.as_ref().map(|user| user.as_str()),
            buckets.from.as_millisecond(),
            buckets.until.as_millisecond(),
            filter.package.as_ref().map(|package| package.as_str()),
            filter.tool.as_ref().map(|tool| tool.as_str()),
            filter.owner.as_deref(),
            buckets.millis.max(1),
            by == SeriesBy::App
        );
        let mut connection = self.connect().await?;
        let mut rows = query.fetch(&mut *connection);
        let mut timeline = TimelineBuilder::new(buckets.count);
        while let Some(row) = rows.try_next().await.map_err(store_error)? {
            let bucket = usize::try_from(row.bucket).unwrap_or(usize::MAX);
            timeline.add(row.key.as_deref(), bucket, row.error.as_deref(), to_u64(row.count));
        }
        Ok(timeline.build())
    }

    async fn list_timings(&self, filter: &UsageFilter, limit: u32) -> Result<Vec<CallTiming>, StoreError> {
        self.ledger.flush().await;
        // Ids sort by time, so both orders are newest first, and each is the order of an index.
        let query = sqlx::query!(
            "SELECT c.duration_us, c.steps FROM calls c
             WHERE ($1::TEXT IS NULL OR c.user_id = $1) AND c.started_at >= $2 AND c.started_at < $3
             AND ($4::TEXT IS NULL OR c.package = $4) AND ($5::TEXT IS NULL OR c.tool = $5)
             AND ($6::TEXT IS NULL OR (c.package = ANY(ARRAY(SELECT a.package FROM apps a WHERE a.owner = $6))
                 AND EXISTS (SELECT 1 FROM apps a WHERE a.package = c.package AND a.created_at <= c.started_at)))
             ORDER BY CASE WHEN $1::TEXT IS NULL THEN c.started_at END DESC,
                 CASE WHEN $1::TEXT IS NOT NULL THEN c.id END DESC LIMIT $7",
            filter.user.as_ref().map(|user| user.as_str()),
            filter.since.map_or(i64::MIN, |at| at.as_millisecond()),
            filter.until.map_or(i64::MAX, |at| at.as_millisecond()),
            filter.package.as_ref().map(|package| package.as_str()),
            filter.tool.as_ref().map(|tool| tool.as_str()),
            filter.owner.as_deref(),
            i64::from(limit)
        );
        let rows = query.fetch_all(&mut *self.connect().await?).await.map_err(store_error)?;
        let timings = rows
            .into_iter()
            .map(|row| CallTiming { duration_us: to_u64(row.duration_us), steps: read_steps(&row.steps) });
        Ok(timings.collect())
    }
}
