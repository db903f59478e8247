//! App sessions that were started and have not ended.

use async_trait::async_trait;
use toolyard_core::ports::{AppRunStore, StoreError, StoredRun};
use toolyard_protocol::{AppSessionId, UserId};

use super::PostgresStore;
use crate::rows::{parse_column, store_error};

/// Most runs that are restored after a start.
const MAX_RUNS: i64 = 100_000;

#[async_trait]
impl AppRunStore for PostgresStore {
    async fn save_run(&self, run: &StoredRun) -> Result<(), StoreError> {
        let query = sqlx::query!(
            "INSERT INTO runs (session, user_id, package, by_user) VALUES ($1, $2, $3, $4)
             ON CONFLICT (session) DO UPDATE SET by_user = excluded.by_user",
            run.session.as_str(),
            run.user.as_str(),
            run.package.as_str(),
            run.by_user
        );
        query.execute(&mut *self.connect().await?).await.map(drop).map_err(store_error)
    }

    async fn remove_run(&self, session: &AppSessionId) -> Result<(), StoreError> {
        let query = sqlx::query!("DELETE FROM runs WHERE session = $1", session.as_str());
        query.execute(&mut *self.connect().await?).await.map(drop).map_err(store_error)
    }

    async fn list_runs(&self) -> Result<Vec<StoredRun>, StoreError> {
        let query = sqlx::query!(
            "SELECT session, user_id, package, by_user FROM runs ORDER BY session LIMIT $1",
            MAX_RUNS
        );
        let rows = query.fetch_all(&mut *self.connect().await?).await.map_err(store_error)?;
        let runs = rows.into_iter().map(|row| {
            Ok(StoredRun {
                session: parse_column("app session", &row.session)?,
                user: UserId::from_stored(&row.user_id),
                package: parse_column("package name", &row.package)?,
                by_user: row.by_user,
            })
        });
        runs.collect()
    }
}
