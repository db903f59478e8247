//! Stops the parts of a server in the order in which they depend on each other.

use std::time::Duration;

use tokio::time::timeout;

use crate::state::ServerState;

// After the drain timeout each step of a stop has its own timeout. Together they fit into `process::EXIT_GRACE`.
/// For recording calls that were cancelled.
const CUT_OFF_TIMEOUT: Duration = Duration::from_secs(1);
/// For writing the ledger and closing its files.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(4);
/// For closing sockets and ending all other tasks.
const TASKS_TIMEOUT: Duration = Duration::from_secs(2);

/// Drains the server: accepts no new calls, waits for those in progress up to the drain timeout, asks apps to reconnect later,
/// and writes all records.
pub(crate) async fn drain(state: &ServerState) {
    let lifecycle = &state.lifecycle;
    lifecycle.stopping.cancel();
    lifecycle.calls.close();
    let patience = Duration::from_millis(state.config.load().server.drain_ms);
    if timeout(patience, lifecycle.calls.wait()).await.is_err() {
        tracing::warn!("drain timeout: cancelling calls in progress");
        lifecycle.cut_off.cancel();
        let _ = timeout(CUT_OFF_TIMEOUT, lifecycle.calls.wait()).await;
    }
    if let Some(cluster) = &state.cluster {
        cluster.leave().await;
    }
    state.upstreams.close();
    state.sessions.drain();
    // Before the tasks, because the ledger's writer is one of them.
    if timeout(CLOSE_TIMEOUT, state.stores.maintenance.close()).await.is_err() {
        tracing::error!("closing the store timed out; unwritten call records are lost");
    }
    lifecycle.tasks.close();
    if timeout(TASKS_TIMEOUT, lifecycle.tasks.wait()).await.is_err() {
        tracing::warn!("drain timeout: tasks are still running");
    }
    tracing::info!("stopped");
}
