//! App sessions that were started and have not ended.

use async_trait::async_trait;
use toolyard_core::ports::{AppRunStore, StoreError, StoredRun};
use toolyard_protocol::{AppSessionId, UserId};

use super::SqliteStore;
use crate::rows::{
    runs::{MAX_RUNS, RunRow},
    store_error,
};

#[async_trait]
impl AppRunStore for SqliteStore {
    async fn save_run(&self, run: &StoredRun) -> Result<(), StoreError> {
        let sql = "INSERT INTO runs (session, user_id, package, by_user) VALUES (?, ?, ?, ?)
             ON CONFLICT (session) DO UPDATE SET by_user = excluded.by_user";
        let query = sqlx::query(sql)
            .bind(run.session.as_str())
            .bind(run.user.as_str())
            .bind(run.package.as_str())
            .bind(run.by_user);
        query.execute(&self.write).await.map(drop).map_err(store_error)
    }

    async fn remove_run(&self, session: &AppSessionId) -> Result<(), StoreError> {
        let query = sqlx::query("DELETE FROM runs WHERE session = ?").bind(session.as_str());
        query.execute(&self.write).await.map(drop).map_err(store_error)
    }

    async fn list_runs(&self) -> Result<Vec<StoredRun>, StoreError> {
        let sql = "SELECT session, user_id, package, by_user FROM runs ORDER BY session LIMIT ?";
        let query = sqlx::query_as::<_, RunRow>(sql).bind(MAX_RUNS);
        let rows = query.fetch_all(&self.read).await.map_err(store_error)?;
        rows.into_iter().map(RunRow::into_run).collect()
    }

    async fn list_runs_of(&self, user: &UserId) -> Result<Vec<StoredRun>, StoreError> {
        let sql =
            "SELECT session, user_id, package, by_user FROM runs WHERE user_id = ? ORDER BY session LIMIT ?";
        let query = sqlx::query_as::<_, RunRow>(sql).bind(user.as_str()).bind(MAX_RUNS);
        let rows = query.fetch_all(&self.read).await.map_err(store_error)?;
        rows.into_iter().map(RunRow::into_run).collect()
    }
}
