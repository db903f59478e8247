//! The tasks of one client. The process waits for all tasks, `close` only for those of its client.

use std::{future::Future, time::Duration};

use tokio::{runtime::Handle, task::JoinHandle, time::timeout};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

/// Starts tasks and waits for them.
#[derive(Debug, Clone)]
pub(crate) struct ClientTasks {
    all: TaskTracker,
    own: TaskTracker,
    /// Stored because a future may be dropped outside of a runtime.
    runtime: Handle,
    stop: CancellationToken,
}

impl ClientTasks {
    pub(crate) fn new(all: TaskTracker, stop: CancellationToken) -> Self {
        let own = TaskTracker::new();
        own.close();
        Self { all, own, runtime: Handle::current(), stop }
    }

    /// Cancelled when the client must stop.
    pub(crate) fn stop_token(&self) -> &CancellationToken {
        &self.stop
    }

    /// Runs the task to completion, even after the stop. It must be bounded.
    pub(crate) fn spawn<F>(&self, task: F) -> JoinHandle<F::Output>
    where
        F: Future + Send + 'static,
        F::Output: Send + 'static,
    {
        self.all.spawn_on(self.own.track_future(task), &self.runtime)
    }

    /// Runs the task until the stop.
    pub(crate) fn spawn_until_stop<F>(&self, task: F)
    where
        F: Future<Output = ()> + Send + 'static,
    {
        let stop = self.stop.clone();
        self.spawn(async move {
            stop.run_until_cancelled_owned(task).await;
        });
    }

    /// Waits for the tasks of this client.
    pub(crate) async fn wait_until_finished(&self, wait: Duration) -> bool {
        timeout(wait, self.own.wait()).await.is_ok()
    }
}
