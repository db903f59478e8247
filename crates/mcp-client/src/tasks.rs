//! The tasks of one client: known to whoever waits for the whole process, and to `close`, which waits for this client's.

use std::{future::Future, time::Duration};

use tokio::{runtime::Handle, task::JoinHandle, time::timeout};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

/// Starts tasks and waits for them.
#[derive(Debug, Clone)]
pub(crate) struct ClientTasks {
    all: TaskTracker,
    own: TaskTracker,
    /// Kept, because a future may be dropped where there is no runtime to ask for.
    runtime: Handle,
    stop: CancellationToken,
}

impl ClientTasks {
    pub(crate) fn new(all: TaskTracker, stop: CancellationToken) -> Self {
        let own = TaskTracker::new();
        own.close();
        Self { all, own, runtime: Handle::current(), stop }
    }

    /// Cancelled when the client has to stop.
    pub(crate) fn stop_token(&self) -> &CancellationToken {
        &self.stop
    }

    /// Runs to its end, also after the stop. It has to be bounded.
    pub(crate) fn spawn<F>(&self, task: F) -> JoinHandle<F::Output>
    where
        F: Future + Send + 'static,
        F::Output: Send + 'static,
    {
        self.all.spawn_on(self.own.track_future(task), &self.runtime)
    }

    /// Runs until the stop.
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
