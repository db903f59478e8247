//! After a restart of the server: the runs of the process before are expected back.

use std::sync::Arc;

use tokio::time::Instant;
use toolyard_core::ports::StoreError;

use crate::{
    run::{AppRun, RunPhase, RunTrigger},
    sessions::Sessions,
};

impl Sessions {
    /// Takes up the table of runs: each app may reconnect under its old session within the window.
    pub async fn restore_runs(&self) -> Result<usize, StoreError> {
        let stored = self.parts().stores.runs.list_runs().await?;
        let count = stored.len();
        for run in stored {
            let record = self.parts().stores.apps.find_app(&run.package).await?;
            let (Some(record), Some(live)) = (record, self.open_user(&run.user)) else {
                self.parts().stores.runs.remove_run(&run.session).await?;
                continue;
            };
            let opened = if run.by_user { RunTrigger::ByUser } else { RunTrigger::ForCall };
            let lost = AppRun::new(Arc::new(record), run.session.clone(), opened, RunPhase::Lost);
            {
                let mut state = live.lock();
                // The grace of the device: a session that was only taken up does not live for ever.
                state.device_left = Some(Instant::now());
                if state.apps.insert(run.package.clone(), lost).is_some() {
                    tracing::warn!(app = %run.package, user = %run.user, "two stored runs of one app; the later one counts");
                }
            }
            self.0.by_session.insert(run.session.clone(), (run.user.clone(), run.package.clone()));
            let until = Instant::now() + self.parts().settings.reconnect_window;
            self.wait_for_return(live, run.package, run.session, until, false);
        }
        Ok(count)
    }
}
