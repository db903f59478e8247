//! App sessions that were started and have not ended. A node that is no longer the home of a user writes none of theirs: the
//! new home has restored them.

use async_trait::async_trait;
use toolyard_core::ports::{AppRunStore, StoreError, StoredRun};
use toolyard_protocol::{AppSessionId, UserId};

use super::PostgresStore;
use crate::rows::{
    runs::{MAX_RUNS, RunRow},
    store_error,
};

#[async_trait]
impl AppRunStore for PostgresStore {
    async fn save_run(&self, run: &StoredRun) -> Result<(), StoreError> {
        let query = sqlx::query!(
            "INSERT INTO runs (session, user_id, package, by_user) SELECT $1, $2, $3, $4
             WHERE NOT EXISTS (SELECT 1 FROM user_homes WHERE user_id = $2 AND node <> $5)
             ON CONFLICT (session) DO UPDATE SET by_user = excluded.by_user",
            run.session.as_str(),
            run.user.as_str(),
            run.package.as_str(),
            run.by_user,
            self.node.mark.id
        );
        query.execute(&mut *self.connect().await?).await.map(drop).map_err(store_error)
    }

    async fn remove_run(&self, session: &AppSessionId) -> Result<(), StoreError> {
        let query = sqlx::query!(
            "DELETE FROM runs WHERE session = $1 AND NOT EXISTS
                 (SELECT 1 FROM user_homes WHERE user_id = runs.user_id AND node <> $2)",
            session.as_str(),
            self.node.mark.id
        );
        query.execute(&mut *self.connect().await?).await.map(drop).map_err(store_error)
    }

    async fn list_runs(&self) -> Result<Vec<StoredRun>, StoreError> {
        let query = sqlx::query_as!(
            RunRow,
            "SELECT session, user_id, package, by_user FROM runs ORDER BY session LIMIT $1",
            MAX_RUNS
        );
        let rows = query.fetch_all(&mut *self.connect().await?).await.map_err(store_error)?;
        rows.into_iter().map(RunRow::into_run).collect()
    }

    async fn list_runs_of(&self, user: &UserId) -> Result<Vec<StoredRun>, StoreError> {
        let query = sqlx::query_as!(
            RunRow,
            "SELECT session, user_id, package, by_user FROM runs WHERE user_id = $1 ORDER BY session LIMIT $2",
            user.as_str(),
            MAX_RUNS
        );
        let rows = query.fetch_all(&mut *self.connect().await?).await.map_err(store_error)?;
        rows.into_iter().map(RunRow::into_run).collect()
    }
}
