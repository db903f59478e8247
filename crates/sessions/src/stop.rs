//! How a run ends: it is stopped, or it failed. All waiting calls get the reason, the socket closes with a code that
//! keeps the SDK from reconnecting, and no state is left behind.

use std::sync::Arc;

use futures_util::{FutureExt as _, StreamExt as _, stream};
use toolyard_core::{
    ToolError,
    ports::{AppRecord, StopError},
};
use toolyard_protocol::{
    AppSessionId, PackageName, UserId,
    session::{
        ToApp, ToDevice,
        app_messages::AppStopped,
        device_messages::{AppNotice, AppStateChange},
        webhook::{StopReason, StopRequest, WebhookRequest},
    },
};

use crate::{
    outbox::{Outbox, StateKey},
    run::RunPhase,
    sessions::{Sessions, unavailable_error},
    user::LiveUser,
};

/// Stops in progress at once. Each may take as long as the app takes to respond.
pub(crate) const STOPS_AT_ONCE: usize = 64;

/// What a stop needs to know about the run, copied out of the lock.
struct StoppingRun {
    record: Arc<AppRecord>,
    session: AppSessionId,
    outbox: Option<Arc<Outbox>>,
}

impl Sessions {
    /// Stops an app. A stop during a start wins.
    pub(crate) async fn stop_app(
        &self,
        user: &UserId,
        package: &PackageName,
        reason: StopReason,
    ) -> Result<(), StopError> {
        let live = self.find_user(user).ok_or(StopError::NoSession)?;
        let StoppingRun { record, session, outbox } = {
            let state = live.lock();
            let run = state.apps.get(package).ok_or(StopError::NotRunning)?;
            run.set_phase(RunPhase::Stopping);
            let outbox = run.link.as_ref().map(|link| link.outbox.clone());
            StoppingRun { record: run.record.clone(), session: run.session.clone(), outbox }
        };
        let request = StopRequest {
            session_id: session.clone(),
            user_id: live.id.clone(),
            reason: reason.clone(),
            timestamp: Some(self.timestamp()),
        };
        if let Ok(webhook) = self.build_webhook(&record, &WebhookRequest::Stop(request)) {
            // Best effort: an app that is down or slow is stopped anyway, by closing its socket.
            let _ = tokio::time::timeout(self.parts().settings.stop_timeout, webhook).await;
        }
        if let Some(outbox) = outbox {
            let notice = AppStopped { reason: Some(reason), timestamp: Some(self.timestamp()) };
            outbox.send_control(ToApp::AppStopped(notice).to_text());
        }
        let why = unavailable_error(format!("{package} was stopped before the tool ran.")).retryable_if(true);
        self.end_run(&live, package, &session, why).await;
        Ok(())
    }

    /// Stops a removed app for all users.
    pub(crate) async fn stop_everywhere(&self, package: &PackageName) {
        let runs = |live: &LiveUser| live.lock().apps.contains_key(package);
        let users: Vec<_> =
            self.0.users.iter().filter(|live| runs(live)).map(|live| live.id.clone()).collect();
        self.stop_all(users.into_iter().map(|user| (user, package.clone())).collect()).await;
    }

    /// Stops many apps concurrently, so that a slow app does not delay the others.
    pub(crate) async fn stop_all(&self, runs: Vec<(UserId, PackageName)>) {
        let stops = runs.iter().map(|(user, package)| self.stop_app(user, package, StopReason::SystemStop));
        stream::iter(stops).for_each_concurrent(STOPS_AT_ONCE, |stopped| stopped.map(drop)).await;
    }

    /// Ends the user's session and stops its apps.
    pub(crate) async fn end_session(&self, user: &UserId) -> bool {
        let Some(live) = self.find_user(user) else { return false };
        let packages: Vec<_> = live.lock().apps.keys().cloned().collect();
        self.stop_all(packages.into_iter().map(|package| (user.clone(), package)).collect()).await;
        live.lock().close_sockets(1000, "session ended");
        self.0.users.remove(user);
        self.view_changed(user);
        true
    }

    /// Ends a run, unless it was replaced by a newer one.
    pub(crate) async fn end_run(
        &self,
        live: &Arc<LiveUser>,
        package: &PackageName,
        session: &AppSessionId,
        why: ToolError,
    ) {
        {
            let mut state = live.lock();
            let Some(run) = state.apps.remove(package) else { return };
            if run.session != *session {
                state.apps.insert(package.clone(), run);
                return;
            }
            if let Some(link) = &run.link {
                link.outbox.close(1000, "App stopped");
            }
            run.set_phase(RunPhase::Ended(Arc::new(why)));
            let shown = state.screen.remove_app(package);
            self.send_picture(&state, shown);
            state.pending.remove_app(package);
            self.end_stream(&mut state, package);
            self.remove_from_dashboard(&mut state, package);
            let notice = AppNotice { package_name: package.clone(), timestamp: Some(self.timestamp()) };
            state.send_device_state(StateKey::App(package.clone()), &ToDevice::AppStopped(notice));
            let changed = AppStateChange { timestamp: Some(self.timestamp()) };
            state.send_device_state(StateKey::AppList, &ToDevice::AppStateChange(changed));
            self.update_microphone(&mut state);
        }
        self.0.by_session.remove(session);
        if let Err(error) = self.parts().stores.runs.remove_run(session).await {
            tracing::error!(%error, %package, "ended run not removed from the store");
        }
    }
}
