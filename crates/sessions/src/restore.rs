//! Runs of another process are restored: after a server restart, and when the home of a user moves.

use std::sync::Arc;

use tokio::time::Instant;
use toolyard_core::ports::{StoreError, StoredRun};
use toolyard_protocol::UserId;

use crate::{
    run::{AppRun, RunPhase, RunTrigger},
    sessions::Sessions,
};

impl Sessions {
    /// Restores the stored runs: each app may reconnect with its old session within the window.
    pub async fn restore_runs(&self) -> Result<usize, StoreError> {
        let stored = self.parts().stores.runs.list_runs().await?;
        self.restore(stored).await
    }

    /// Restores the stored runs of a user whose home is this node from now on.
    pub async fn restore_user(&self, user: &UserId) -> Result<usize, StoreError> {
        let stored = self.parts().stores.runs.list_runs_of(user).await?;
        self.restore(stored).await
    }

    async fn restore(&self, stored: Vec<StoredRun>) -> Result<usize, StoreError> {
        let count = stored.len();
        for run in stored {
            let record = self.parts().stores.apps.find_app(&run.package).await?;
            let (Some(record), Some(live)) = (record, self.open_user(&run.user)) else {
                self.parts().stores.runs.remove_run(&run.session).await?;
                continue;
            };
            let opened = if run.by_user { RunTrigger::ByUser } else { RunTrigger::ForCall };
            let lost = AppRun::new(Arc::new(record), run.session.clone(), opened, RunPhase::Lost);
            let replaced = {
                let mut state = live.lock();
                // Starts the grace period of the device, so that a restored session without a device ends.
                state.device_left = Some(Instant::now());
                state.apps.insert(run.package.clone(), lost)
            };
            if let Some(replaced) = replaced {
                tracing::warn!(package = %run.package, user = %run.user, "duplicate stored run removed");
                self.0.by_session.remove(&replaced.session);
                self.parts().stores.runs.remove_run(&replaced.session).await?;
            }
            self.0.by_session.insert(run.session.clone(), (run.user.clone(), run.package.clone()));
            let until = Instant::now() + self.parts().settings.reconnect_window;
            self.wait_for_return(live, run.package, run.session, until, false);
        }
        Ok(count)
    }
}
