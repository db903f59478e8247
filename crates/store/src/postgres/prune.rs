//! Removes old rows in small steps, so that no transaction is long and other nodes are not held up.

use tokio::time::{Duration, sleep};
use tokio_util::sync::CancellationToken;
use toolyard_core::ports::{PruneBefore, StoreError};

use super::PostgresStore;
use crate::rows::{changes::KEPT_CHANGES, store_error};

/// Rows that one transaction removes.
const ROWS_AT_ONCE: i64 = 2_000;
/// Pause between two steps.
const PAUSE: Duration = Duration::from_millis(20);
/// How long the row of a dead node is kept, in seconds. Its open keys are older than their lifetime then.
const DEAD_NODES_KEPT_S: f64 = 7.0 * 24.0 * 60.0 * 60.0;

/// What is removed.
#[derive(Debug, Clone, Copy)]
enum OldRows {
    Calls,
    Messages,
    Keys,
    Approvals,
    Labels,
}

impl PostgresStore {
    pub(super) async fn prune_all(
        &self,
        before: PruneBefore,
        stopping: &CancellationToken,
    ) -> Result<(), StoreError> {
        let bounds = [
            (OldRows::Calls, before.calls),
            (OldRows::Messages, before.messages),
            (OldRows::Keys, before.keys),
            (OldRows::Approvals, before.calls),
            (OldRows::Labels, before.labels),
        ];
        for (rows, before) in bounds {
            let before = before.as_millisecond();
            while self.prune_some(rows, before).await? >= ROWS_AT_ONCE.cast_unsigned()
                && !stopping.is_cancelled()
            {
                sleep(PAUSE).await;
            }
        }
        while self.prune_changes().await? > 0 && !stopping.is_cancelled() {
            sleep(PAUSE).await;
        }
        let nodes = sqlx::query!(
            "DELETE FROM ledger_nodes WHERE seen_at < clock_timestamp() - make_interval(secs => $1)",
            DEAD_NODES_KEPT_S
        );
        nodes.execute(&mut *self.connect().await?).await.map(drop).map_err(store_error)
    }

    /// Removes one portion. Rows that another node removes now are not waited for.
    async fn prune_some(&self, rows: OldRows, before: i64) -> Result<u64, StoreError> {
        let query = match rows {
            OldRows::Calls => sqlx::query!(
                "DELETE FROM calls WHERE id IN (SELECT id FROM calls WHERE started_at < $1 LIMIT $2
                     FOR UPDATE SKIP LOCKED)",
                before,
                ROWS_AT_ONCE
            ),
            OldRows::Messages => sqlx::query!(
                "UPDATE calls SET error_message = NULL WHERE id IN (SELECT id FROM calls
                     WHERE error_message IS NOT NULL AND started_at < $1 LIMIT $2 FOR UPDATE SKIP LOCKED)",
                before,
                ROWS_AT_ONCE
            ),
            OldRows::Keys => return self.prune_keys(before).await,
            OldRows::Approvals => sqlx::query!(
                "DELETE FROM approvals WHERE id IN (SELECT id FROM approvals WHERE created_at < $1
                     AND state NOT IN ('pending', 'approved', 'running') LIMIT $2 FOR UPDATE SKIP LOCKED)",
                before,
                ROWS_AT_ONCE
            ),
            OldRows::Labels => sqlx::query!(
                "DELETE FROM conversation_labels WHERE (user_id, conversation) IN (SELECT user_id, conversation
                     FROM conversation_labels WHERE until < $1 LIMIT $2 FOR UPDATE SKIP LOCKED)",
                before,
                ROWS_AT_ONCE
            ),
        };
        let removed = query.execute(&mut *self.connect().await?).await.map_err(store_error)?.rows_affected();
        if removed > 0 {
            tracing::debug!(removed, ?rows, "old rows removed");
        }
        Ok(removed)
    }

    /// Like every writer of keys, it locks the totals of their users first, in order.
    async fn prune_keys(&self, before: i64) -> Result<u64, StoreError> {
        let mut tx = self.begin(&[]).await?;
        let users = sqlx::query_scalar!(
            "SELECT DISTINCT user_id FROM (SELECT user_id FROM call_keys WHERE begun_at < $1 LIMIT $2) AS old
             ORDER BY user_id",
            before,
            ROWS_AT_ONCE
        );
        let users = users.fetch_all(&mut *tx).await.map_err(store_error)?;
        let lock = sqlx::query!(
            "SELECT user_id FROM call_key_totals WHERE user_id = ANY($1) ORDER BY user_id FOR UPDATE",
            &users
        );
        lock.fetch_all(&mut *tx).await.map_err(store_error)?;
        let query = sqlx::query!(
            "DELETE FROM call_keys WHERE (user_id, caller, key) IN (SELECT user_id, caller, key FROM call_keys
                 WHERE begun_at < $1 AND user_id = ANY($3) LIMIT $2)",
            before,
            ROWS_AT_ONCE,
            &users
        );
        let removed = query.execute(&mut *tx).await.map_err(store_error)?.rows_affected();
        tx.commit().await.map_err(store_error)?;
        Ok(removed)
    }

    /// Notes first how far the log is pruned, so that no reader takes a part of it for the whole.
    async fn prune_changes(&self) -> Result<u64, StoreError> {
        let mut tx = self.begin(&[]).await?;
        let bound = sqlx::query_scalar!(
            r#"UPDATE pruned_changes SET version = GREATEST(version, (
                   SELECT LEAST(COALESCE(MAX(version), 0) - $1, COALESCE(MIN(version), 0) + $2) FROM changes))
               RETURNING version"#,
            KEPT_CHANGES,
            ROWS_AT_ONCE
        );
        let bound = bound.fetch_one(&mut *tx).await.map_err(store_error)?;
        let query = sqlx::query!("DELETE FROM changes WHERE version <= $1", bound);
        let removed = query.execute(&mut *tx).await.map_err(store_error)?.rows_affected();
        tx.commit().await.map_err(store_error)?;
        Ok(removed)
    }
}
