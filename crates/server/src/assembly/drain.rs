//! The end of a process, in the order in which its parts can go.

use std::time::Duration;

use tokio::time::timeout;

use crate::state::ServerState;

// After the time for calls, each part of a stop has its own. Together they fit into `process::EXIT_GRACE`.
/// For calls that were cut off to be recorded.
const CUT_OFF_TIMEOUT: Duration = Duration::from_secs(1);
/// For the ledger to be written and the files to be closed.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(4);
/// For sockets and everything else to end.
const TASKS_TIMEOUT: Duration = Duration::from_secs(2);

/// The end: no new calls, running ones finish within a bound, apps are told to come back, everything recorded is
/// written.
pub(crate) async fn drain(state: &ServerState) {
    let lifecycle = &state.lifecycle;
    lifecycle.stopping.cancel();
    lifecycle.calls.close();
    let patience = Duration::from_millis(state.config.server.drain_ms);
    if timeout(patience, lifecycle.calls.wait()).await.is_err() {
        tracing::warn!("calls were still under way when the time to stop was over; they are cancelled");
        lifecycle.cut_off.cancel();
        let _ = timeout(CUT_OFF_TIMEOUT, lifecycle.calls.wait()).await;
    }
    state.upstreams.close();
    state.sessions.drain();
    // The ledger's writer is among the tasks: it has to be told first.
    if timeout(CLOSE_TIMEOUT, state.stores.maintenance.close()).await.is_err() {
        tracing::error!("the store could not be closed in time; records that were not written yet are lost");
    }
    lifecycle.tasks.close();
    if timeout(TASKS_TIMEOUT, lifecycle.tasks.wait()).await.is_err() {
        tracing::warn!("tasks were still running when the time to stop was over");
    }
    tracing::info!("stopped");
}
