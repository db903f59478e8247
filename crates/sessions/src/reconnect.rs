//! Lost sockets. The SDK reconnects within some seconds. If it does not, an app that the user opened is asked to
//! connect again, and the run of a woken app ends.

use std::sync::Arc;

use tokio::time::{Instant, sleep_until};
use toolyard_protocol::{AppSessionId, PackageName};

use crate::{
    run::{RunPhase, RunTrigger},
    sessions::{Sessions, unavailable_error},
    user::LiveUser,
};

impl Sessions {
    /// Handles the loss of the socket with that number.
    pub(crate) fn socket_gone(&self, live: &Arc<LiveUser>, package: &PackageName, number: u64) {
        let (session, released) = {
            let mut state = live.lock();
            let Some(run) = state.apps.get_mut(package).filter(|run| run.is_link(number)) else { return };
            let released = run.link.take().is_some_and(|link| link.released);
            if !matches!(run.phase(), RunPhase::Acknowledged | RunPhase::Running) {
                return;
            }
            run.set_phase(RunPhase::Lost);
            (run.session.clone(), released)
        };
        // An app that released its session will not reconnect.
        let window =
            if released { std::time::Duration::ZERO } else { self.parts().settings.reconnect_window };
        self.wait_for_return(live.clone(), package.clone(), session, Instant::now() + window, released);
    }

    /// Waits for a lost app to reconnect, then restarts it or ends its run.
    pub(crate) fn wait_for_return(
        &self,
        live: Arc<LiveUser>,
        package: PackageName,
        session: AppSessionId,
        until: Instant,
        released: bool,
    ) {
        let sessions = self.clone();
        self.parts().tasks.spawn(async move {
            tokio::select! {
                () = sleep_until(until) => {}
                // The run stays in the store: the app reconnects to the next process.
                () = sessions.parts().stopping.cancelled() => return,
            }
            let again = {
                let state = live.lock();
                let lost = |run: &&crate::run::AppRun| {
                    run.session == session && matches!(run.phase(), RunPhase::Lost)
                };
                let Some(run) = state.apps.get(&package).filter(lost) else { return };
                let again = run.trigger == RunTrigger::ByUser && !released && state.device.is_some();
                if again {
                    run.set_phase(RunPhase::Starting);
                }
                again.then(|| run.record.clone())
            };
            match again {
                Some(record) => sessions.spawn_start(live, record, session),
                None => {
                    let why =
                        unavailable_error(format!("{package} lost its connection and did not come back."));
                    sessions.end_run(&live, &package, &session, why.retryable_if(true)).await;
                }
            }
        });
    }
}
