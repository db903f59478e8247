//! The row of this node, by which the others see that it is alive.

use std::{sync::Arc, time::Duration};

use tokio::time::{MissedTickBehavior, interval};
use tokio_util::{sync::CancellationToken, task::TaskTracker};
use toolyard_core::ports::StoreError;

use super::pool::ConnectionPool;
use crate::rows::store_error;

/// Signs of life within the time after which a node counts as dead.
const SIGNS_PER_TIMEOUT: u32 = 5;

/// What a claim says about its node.
#[derive(Debug, Clone, Copy)]
pub(super) struct NodeMark {
    pub(super) id: i64,
    /// How long after its last sign of life a node counts as dead.
    pub(super) timeout: Duration,
}

/// This opening of the store. A call that it began has not ended as long as it is alive; if it is not, nobody knows whether the
/// call ran.
pub(super) struct Node {
    pub(super) mark: NodeMark,
    stopping: CancellationToken,
}

impl Node {
    /// Takes a new number, and keeps its row alive on `tasks`.
    pub(super) async fn start(
        pool: &Arc<ConnectionPool>,
        timeout: Duration,
        tasks: &TaskTracker,
    ) -> Result<Self, StoreError> {
        let insert = sqlx::query_scalar!("INSERT INTO ledger_nodes DEFAULT VALUES RETURNING id");
        let id = insert.fetch_one(&mut *pool.acquire().await?).await.map_err(store_error)?;
        let stopping = CancellationToken::new();
        tasks.spawn(stay_alive(pool.clone(), id, timeout / SIGNS_PER_TIMEOUT, stopping.clone()));
        Ok(Self { mark: NodeMark { id, timeout }, stopping })
    }

    /// Says that nothing of this node runs any more.
    pub(super) async fn end(&self, pool: &ConnectionPool) {
        self.stopping.cancel();
        if let Ok(mut connection) = pool.acquire().await {
            let query = sqlx::query!("DELETE FROM ledger_nodes WHERE id = $1", self.mark.id);
            let _ = query.execute(&mut *connection).await;
        }
    }
}

async fn stay_alive(pool: Arc<ConnectionPool>, id: i64, every: Duration, stopping: CancellationToken) {
    let mut ticks = interval(every.max(Duration::from_millis(10)));
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        tokio::select! {
            () = stopping.cancelled() => return,
            _ = ticks.tick() => {}
        }
        if let Err(error) = show_life(&pool, id).await {
            tracing::warn!(%error, "node could not show that it is alive");
        }
    }
}

/// A row that was removed because this node was stalled for long is added again.
async fn show_life(pool: &ConnectionPool, id: i64) -> Result<(), StoreError> {
    let query = sqlx::query!(
        "INSERT INTO ledger_nodes (id) OVERRIDING SYSTEM VALUE VALUES ($1)
         ON CONFLICT (id) DO UPDATE SET seen_at = clock_timestamp()",
        id
    );
    query.execute(&mut *pool.acquire().await?).await.map(drop).map_err(store_error)
}
