//! The change log. Triggers write it; see `migrations/postgres/0003_changes.sql`.

use std::sync::Arc;

use async_trait::async_trait;
use sqlx::PgConnection;
use toolyard_core::ports::{Announcement, StoreError};

use super::pool::ConnectionPool;
use crate::{
    announcements::ChangeLog,
    rows::{changes::read_change, store_error, to_i64, to_u64},
};

/// The version of the last change. Correct even if every row was pruned.
pub(super) async fn latest_version(connection: &mut PgConnection) -> Result<u64, StoreError> {
    let query = sqlx::query_scalar!(
        r#"SELECT GREATEST(
               (SELECT version FROM pruned_changes),
               (SELECT MAX(version) FROM changes)
           ) AS "version!""#
    );
    Ok(to_u64(query.fetch_one(connection).await.map_err(store_error)?))
}

/// Reads the log.
pub(crate) struct PostgresChangeLog(pub(super) Arc<ConnectionPool>);

#[async_trait]
impl ChangeLog for PostgresChangeLog {
    async fn latest_version(&self) -> Result<u64, StoreError> {
        latest_version(&mut *self.0.acquire().await?).await
    }

    async fn changes_since(&self, version: u64, limit: u32) -> Result<Option<Vec<Announcement>>, StoreError> {
        let mut connection = self.0.acquire().await?;
        let query = sqlx::query!(
            "SELECT version, kind, subject, detail FROM changes WHERE version > $1 ORDER BY version LIMIT $2",
            to_i64(version),
            i64::from(limit)
        );
        let rows = query.fetch_all(&mut *connection).await.map_err(store_error)?;
        // Afterwards: what is pruned between the two statements was pruned.
        let pruned = sqlx::query_scalar!("SELECT version FROM pruned_changes");
        if to_u64(pruned.fetch_one(&mut *connection).await.map_err(store_error)?) > version {
            return Ok(None);
        }
        let announcements =
            rows.iter().map(|row| read_change(row.version, &row.kind, &row.subject, &row.detail));
        Ok(Some(announcements.collect()))
    }
}
