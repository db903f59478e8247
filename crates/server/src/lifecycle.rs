//! Tasks and signals for a graceful stop.

use std::{future::Future, time::Duration};

use tokio_util::{sync::CancellationToken, task::TaskTracker};

/// All tasks, and the two signals of a stop: accept no new work, then cancel what is left.
#[derive(Debug, Clone, Default)]
pub struct Lifecycle {
    /// Fires when the server stops accepting work.
    pub stopping: CancellationToken,
    /// Fires when the drain timeout is over: calls in progress are cancelled and recorded as cancelled.
    pub cut_off: CancellationToken,
    /// Calls in progress. A stop waits for them.
    pub calls: TaskTracker,
    /// Everything else that runs: sockets, timers, writers.
    pub tasks: TaskTracker,
}

impl Lifecycle {
    /// Spawns a task that ends by itself when the server stops.
    pub fn spawn(&self, task: impl Future<Output = ()> + Send + 'static) {
        self.tasks.spawn(task);
    }

    /// Runs `work` once per period until the server stops.
    pub fn run_every<F: Future<Output = ()> + Send>(
        &self,
        period: Duration,
        mut work: impl FnMut() -> F + Send + 'static,
    ) {
        let stopping = self.stopping.clone();
        self.spawn(async move {
            let mut ticks = tokio::time::interval(period);
            ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
            loop {
                tokio::select! {
                    _ = ticks.tick() => work().await,
                    () = stopping.cancelled() => return,
                }
            }
        });
    }
}
