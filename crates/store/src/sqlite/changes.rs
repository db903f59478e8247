//! The change log. Triggers write it; see `migrations/sqlite/0016_changes.sql`.

use async_trait::async_trait;
use sqlx::SqlitePool;
use toolyard_core::ports::{Announcement, StoreError};

use crate::announcements::ChangeLog;
use crate::rows::{changes::read_change, store_error, to_u64};

/// The version of the last change. Correct even if every row was pruned, because the numbers continue.
pub(super) async fn latest_version(pool: &SqlitePool) -> Result<u64, StoreError> {
    let sql = "SELECT COALESCE((SELECT seq FROM sqlite_sequence WHERE name = 'changes'), 0)";
    let latest: i64 = sqlx::query_scalar(sql).fetch_one(pool).await.map_err(store_error)?;
    Ok(to_u64(latest))
}

/// Reads the log.
pub(crate) struct SqliteChangeLog(pub(super) SqlitePool);

#[async_trait]
impl ChangeLog for SqliteChangeLog {
    async fn latest_version(&self) -> Result<u64, StoreError> {
        latest_version(&self.0).await
    }

    async fn changes_since(&self, version: u64, limit: u32) -> Result<Option<Vec<Announcement>>, StoreError> {
        let after = i64::try_from(version).unwrap_or(i64::MAX);
        // Before the rows: what is written in between is no gap.
        let latest = self.latest_version().await?;
        let sql =
            "SELECT version, kind, subject, detail FROM changes WHERE version > ? ORDER BY version LIMIT ?";
        let rows = sqlx::query_as::<_, (i64, String, String, String)>(sql).bind(after).bind(limit);
        let rows = rows.fetch_all(&self.0).await.map_err(store_error)?;
        let is_complete = match rows.first() {
            Some((first, ..)) => *first == after + 1,
            None => latest <= version,
        };
        if !is_complete {
            return Ok(None);
        }
        let announcements =
            rows.iter().map(|(version, kind, subject, detail)| read_change(*version, kind, subject, detail));
        Ok(Some(announcements.collect()))
    }
}
