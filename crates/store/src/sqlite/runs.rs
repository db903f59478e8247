//! App sessions that were started and have not ended.

use async_trait::async_trait;
use toolyard_core::ports::{AppRunStore, StoreError, StoredRun};
use toolyard_protocol::{AppSessionId, UserId};

use super::SqliteStore;
use crate::rows::{parse_column, store_error};

/// Most runs that are restored after a start.
const MAX_RUNS: i64 = 100_000;

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
        let query = sqlx::query_as::<_, (String, String, String, bool)>(
            "SELECT session, user_id, package, by_user FROM runs ORDER BY session LIMIT ?",
        );
        let rows = query.bind(MAX_RUNS).fetch_all(&self.read).await.map_err(store_error)?;
        let run = |(session, user, package, by_user): (String, String, String, bool)| {
            Ok(StoredRun {
                session: parse_column("app session", &session)?,
                user: UserId::from_stored(&user),
                package: parse_column("package name", &package)?,
                by_user,
            })
        };
        rows.into_iter().map(run).collect()
    }
}
