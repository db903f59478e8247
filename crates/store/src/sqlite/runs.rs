//! App sessions that were handed out and have not ended.

use async_trait::async_trait;
use toolyard_core::ports::{Runs, StoreError, StoredRun};
use toolyard_protocol::{AppSessionId, UserId};

use super::{SqliteStore, failed, rows::parsed};

/// Most runs that are taken up again after a start.
const MAX_RUNS: i64 = 100_000;

#[async_trait]
impl Runs for SqliteStore {
    async fn keep_run(&self, run: &StoredRun) -> Result<(), StoreError> {
        let sql = "INSERT INTO runs (session, user, package, by_user) VALUES (?, ?, ?, ?)
             ON CONFLICT (session) DO UPDATE SET by_user = excluded.by_user";
        let query = sqlx::query(sql)
            .bind(run.session.as_str())
            .bind(run.user.as_str())
            .bind(run.package.as_str())
            .bind(run.by_user);
        query.execute(&self.write).await.map(drop).map_err(failed)
    }

    async fn drop_run(&self, session: &AppSessionId) -> Result<(), StoreError> {
        let query = sqlx::query("DELETE FROM runs WHERE session = ?").bind(session.as_str());
        query.execute(&self.write).await.map(drop).map_err(failed)
    }

    async fn kept_runs(&self) -> Result<Vec<StoredRun>, StoreError> {
        let query = sqlx::query_as::<_, (String, String, String, bool)>(
            "SELECT session, user, package, by_user FROM runs ORDER BY session LIMIT ?",
        );
        let rows = query.bind(MAX_RUNS).fetch_all(&self.read).await.map_err(failed)?;
        let run = |(session, user, package, by_user): (String, String, String, bool)| {
            Ok(StoredRun {
                session: parsed("app session", &session)?,
                user: UserId::from_stored(&user),
                package: parsed("package name", &package)?,
                by_user,
            })
        };
        rows.into_iter().map(run).collect()
    }
}
