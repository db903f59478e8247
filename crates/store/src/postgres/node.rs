//! The row of this node, by which the others see that it is alive.

use std::{sync::Arc, time::Duration};

use parking_lot::Mutex;
use tokio::time::{MissedTickBehavior, interval, timeout};
use tokio_util::{sync::CancellationToken, task::TaskTracker};
use toolyard_core::ports::StoreError;

use super::pool::{ConnectionPool, PostgresSettings};
use crate::{OpenError, rows::store_error};

/// How long a sign of life may take at least.
const MIN_PATIENCE: Duration = Duration::from_millis(500);
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
    /// Of its own: while all other connections are busy, this node is still alive.
    pool: Arc<ConnectionPool>,
    /// The URL under which other nodes reach this one. Empty without a cluster.
    address: Arc<Mutex<String>>,
    stopping: CancellationToken,
}

impl Node {
    /// Takes a new number, and keeps its row alive on `tasks`.
    pub(super) async fn start(settings: &PostgresSettings, tasks: &TaskTracker) -> Result<Self, OpenError> {
        let failed = |error| OpenError::Database { database: settings.shown_url(), error };
        let one = PostgresSettings { connections: 1, ..settings.clone() };
        let pool = Arc::new(ConnectionPool::new(&one).map_err(failed)?);
        let insert = sqlx::query_scalar!("INSERT INTO ledger_nodes DEFAULT VALUES RETURNING id");
        let mut connection = pool.acquire().await.map_err(OpenError::Unreadable)?;
        let id = insert.fetch_one(&mut *connection).await.map_err(failed)?;
        drop(connection);
        let mark = NodeMark { id, timeout: settings.node_timeout };
        let node = Self { mark, pool, address: Arc::default(), stopping: CancellationToken::new() };
        let (pool, address, stopping) = (node.pool.clone(), node.address.clone(), node.stopping.clone());
        tasks.spawn(stay_alive(pool, mark, address, stopping));
        Ok(node)
    }

    /// Shows other nodes under which URL they reach this one.
    pub(super) async fn publish_address(&self, address: &str) -> Result<(), StoreError> {
        address.clone_into(&mut self.address.lock());
        show_life(&self.pool, self.mark.id, address).await
    }

    /// The URL under which other nodes reach this one.
    pub(super) fn address(&self) -> String {
        self.address.lock().clone()
    }

    /// Says that nothing of this node runs any more.
    pub(super) async fn end(&self) {
        self.stopping.cancel();
        if let Ok(mut connection) = self.pool.acquire().await {
            let query = sqlx::query!("DELETE FROM ledger_nodes WHERE id = $1", self.mark.id);
            let _ = query.execute(&mut *connection).await;
        }
        self.pool.close().await;
    }
}

async fn stay_alive(
    pool: Arc<ConnectionPool>,
    mark: NodeMark,
    address: Arc<Mutex<String>>,
    stopping: CancellationToken,
) {
    let every = mark.timeout / SIGNS_PER_TIMEOUT;
    let mut ticks = interval(every.max(Duration::from_millis(10)));
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        tokio::select! {
            () = stopping.cancelled() => return,
            _ = ticks.tick() => {}
        }
        // A host that vanished says nothing; the next sign goes out on a new connection.
        let address = address.lock().clone();
        let shown = timeout(every.max(MIN_PATIENCE), show_life(&pool, mark.id, &address)).await;
        let failure = match shown {
            Ok(Ok(())) => continue,
            Ok(Err(error)) => error.to_string(),
            Err(_) => "no response from the database".to_owned(),
        };
        tracing::warn!(error = failure, "node could not show that it is alive");
    }
}

/// A row that was removed because this node was stalled for long is added again.
async fn show_life(pool: &ConnectionPool, id: i64, address: &str) -> Result<(), StoreError> {
    let query = sqlx::query!(
        "INSERT INTO ledger_nodes (id, address) OVERRIDING SYSTEM VALUE VALUES ($1, $2)
         ON CONFLICT (id) DO UPDATE SET seen_at = clock_timestamp(), address = excluded.address",
        id,
        address
    );
    query.execute(&mut *pool.acquire().await?).await.map(drop).map_err(store_error)
}
