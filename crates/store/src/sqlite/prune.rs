//! Removes old rows in small steps, so that other writers get the lock in between.

use tokio::time::{Duration, sleep};
use tokio_util::sync::CancellationToken;
use toolyard_core::ports::{PruneBefore, StoreError};

use super::SqliteStore;
use crate::rows::{changes::KEPT_CHANGES, store_error};

/// Rows that one transaction removes: a few milliseconds of the write lock.
const ROWS_AT_ONCE: u32 = 500;
/// Pause between two steps.
const PAUSE: Duration = Duration::from_millis(20);

const CALLS: &str = "DELETE FROM calls WHERE id IN (SELECT id FROM calls WHERE started_at < ?1 LIMIT ?2)";
const MESSAGES: &str = "UPDATE calls SET error_message = NULL WHERE id IN
    (SELECT id FROM calls WHERE error_message IS NOT NULL AND started_at < ?1 LIMIT ?2)";
const KEYS: &str = "DELETE FROM call_keys WHERE (user_id, caller, key) IN
    (SELECT user_id, caller, key FROM call_keys WHERE begun_at < ?1 LIMIT ?2)";
const APPROVALS: &str = "DELETE FROM approvals WHERE id IN (SELECT id FROM approvals
    WHERE created_at < ?1 AND state NOT IN ('pending', 'approved', 'running') LIMIT ?2)";
const LABELS: &str = "DELETE FROM conversation_labels WHERE (user_id, conversation) IN
    (SELECT user_id, conversation FROM conversation_labels WHERE until < ?1 LIMIT ?2)";
/// The bound is a version, not a time.
const CHANGES: &str =
    "DELETE FROM changes WHERE version IN (SELECT version FROM changes WHERE version <= ?1 LIMIT ?2)";

impl SqliteStore {
    pub(super) async fn prune_all(
        &self,
        before: PruneBefore,
        stopping: &CancellationToken,
    ) -> Result<(), StoreError> {
        let newest: i64 = sqlx::query_scalar("SELECT COALESCE(MAX(version), 0) FROM changes")
            .fetch_one(&self.read)
            .await
            .map_err(store_error)?;
        let bounds = [
            (CALLS, before.calls.as_millisecond()),
            (MESSAGES, before.messages.as_millisecond()),
            (KEYS, before.keys.as_millisecond()),
            (APPROVALS, before.calls.as_millisecond()),
            (LABELS, before.labels.as_millisecond()),
            (CHANGES, newest.saturating_sub(KEPT_CHANGES)),
        ];
        for (sql, before) in bounds {
            while self.prune_some(sql, before).await? >= u64::from(ROWS_AT_ONCE) && !stopping.is_cancelled() {
                sleep(PAUSE).await;
            }
        }
        Ok(())
    }

    async fn prune_some(&self, sql: &'static str, before: i64) -> Result<u64, StoreError> {
        let query = sqlx::query(sql).bind(before).bind(ROWS_AT_ONCE);
        let removed = query.execute(&self.write).await.map_err(store_error)?.rows_affected();
        if removed > 0 {
            tracing::debug!(removed, "old rows removed");
        }
        Ok(removed)
    }
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;
    use tokio_util::task::TaskTracker;
    use toolyard_core::ports::StoreMaintenance as _;

    use super::*;
    use crate::SqliteSettings;

    async fn count(store: &SqliteStore) -> i64 {
        sqlx::query_scalar("SELECT COUNT(*) FROM calls").fetch_one(&store.read).await.unwrap()
    }

    #[tokio::test]
    async fn one_transaction_removes_a_bounded_number_and_all_goes_in_the_end() {
        let folder = tempfile::tempdir().unwrap();
        let settings = SqliteSettings::for_file(folder.path().join("t.db"));
        let store = SqliteStore::open(settings, &TaskTracker::new()).await.unwrap();
        let rows = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1201)
            INSERT INTO calls SELECT printf('%032d', i), 'ada', 'a:b', 'a', 'app', 'rest', 'user', NULL, 0, i, 1, '', 0, 0, '', 'failed', NULL, 0 FROM n";
        sqlx::query(rows).execute(&store.write).await.unwrap();
        let before = Timestamp::from_millisecond(1_201).unwrap();
        assert_eq!(store.prune_some(CALLS, before.as_millisecond()).await.unwrap(), u64::from(ROWS_AT_ONCE));
        assert_eq!(count(&store).await, 701);
        let stopped = CancellationToken::new();
        stopped.cancel();
        let all = PruneBefore { labels: before, calls: before, messages: before, keys: before };
        store.prune(all, &stopped).await.unwrap();
        assert_eq!(count(&store).await, 201, "a stop does not wait for the rest");
        store.prune(all, &CancellationToken::new()).await.unwrap();
        assert_eq!(count(&store).await, 1, "what is young enough stays");
        store.close().await;
    }
}
