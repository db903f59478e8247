//! What a stop waits for.

use std::{future::Future, time::Duration};

use tokio_util::{sync::CancellationToken, task::TaskTracker};

/// Tasks, and the two signals of a stop: no new work, and be gone.
#[derive(Debug, Clone, Default)]
pub struct Lifecycle {
    /// Fires when the server stops taking work.
    pub stopping: CancellationToken,
    /// Fires when the time for calls under way is over: they are cancelled, and recorded as such.
    pub cut_off: CancellationToken,
    /// Calls under way; a stop gives them time.
    pub calls: TaskTracker,
    /// Everything else that runs: sockets, timers, writers.
    pub tasks: TaskTracker,
}

impl Lifecycle {
    /// Runs a task that ends by itself when the server stops.
    pub fn spawn(&self, task: impl Future<Output = ()> + Send + 'static) {
        self.tasks.spawn(task);
    }

    /// Runs something every so often until the server stops.
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
