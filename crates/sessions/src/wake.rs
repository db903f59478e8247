//! The wake: a sleeping app is asked to connect, once, however many calls wait for it.
//!
//! Webhook, socket, authenticated init, RUNNING, ack, first sign. Waiting is by event. A woken app runs beside the app
//! in front and gets neither microphone nor camera until the user opens it.

use std::{sync::Arc, time::Duration};

use tokio::{
    sync::{oneshot, watch},
    time::{Instant, sleep_until, timeout, timeout_at},
};
use toolyard_core::{
    ToolError,
    ports::{AppRecord, StoredRun},
};
use toolyard_protocol::{
    AppSessionId, PackageName, UserId,
    api::AppState,
    call::AppActivation,
    device,
    session::webhook::{SessionRequest, WebhookRequest},
};

use crate::{
    run::{AppRun, RunPhase, RunTrigger},
    sessions::{Sessions, unavailable_error},
    user::LiveUser,
};

/// Timeout of the webhook. The SDK responds after the app's own session hook, which may be long after the app has
/// connected; an app that never responds must not hold a connection forever.
const WEBHOOK_TIMEOUT: Duration = Duration::from_secs(120);

/// How to proceed with an app.
enum WakeDecision {
    /// It already runs.
    Running(AppActivation),
    /// Another call is starting or stopping it; wait for the outcome.
    Wait(watch::Receiver<RunPhase>, AppState),
    /// This call has to start it.
    Start(watch::Receiver<RunPhase>, AppSessionId),
}

impl Sessions {
    /// Returns once the app runs for the user. The start continues if a waiting call is cancelled, because others may
    /// wait for it too.
    pub(crate) async fn wake(
        &self,
        user: &UserId,
        app: &Arc<AppRecord>,
        opened: RunTrigger,
        deadline: Instant,
    ) -> Result<AppActivation, ToolError> {
        loop {
            let live = self
                .find_user(user)
                .ok_or_else(|| unavailable_error("The user has no session.").retryable_if(true))?;
            let (mut phase, joined) = match self.join_or_start(&live, app, opened)? {
                WakeDecision::Running(ready) => return Ok(ready),
                WakeDecision::Wait(phase, state) => (phase, state),
                WakeDecision::Start(phase, session) => {
                    self.spawn_start(live, app.clone(), session);
                    (phase, AppState::Starting)
                }
            };
            let settled = phase.wait_for(|phase| matches!(phase, RunPhase::Running | RunPhase::Ended(_)));
            let settled = match timeout_at(deadline, settled).await {
                Ok(Ok(phase)) => phase.clone(),
                // The run was dropped; check again.
                Ok(Err(_)) => continue,
                Err(_) => return Err(never_connected(&app.package)),
            };
            match (settled, joined) {
                (RunPhase::Running, AppState::Starting) => {
                    return Ok(AppActivation::StartedForCall);
                }
                (RunPhase::Running, _) => return Ok(AppActivation::WasReady),
                // The previous run has ended; now the app can be started.
                (RunPhase::Ended(_), AppState::Stopping | AppState::Lost) => {}
                (RunPhase::Ended(reason), _) => return Err((*reason).clone()),
                (RunPhase::Starting | RunPhase::Acknowledged | RunPhase::Lost | RunPhase::Stopping, _) => {}
            }
        }
    }

    /// Registers a new run, or joins the existing one.
    fn join_or_start(
        &self,
        live: &Arc<LiveUser>,
        app: &Arc<AppRecord>,
        opened: RunTrigger,
    ) -> Result<WakeDecision, ToolError> {
        let mut state = live.lock();
        state.last_used = Instant::now();
        if let Some(ready) = state.mark_used(&app.package) {
            return Ok(WakeDecision::Running(ready));
        }
        if let Some(run) = state.apps.get_mut(&app.package) {
            run.last_used = Instant::now();
            return Ok(WakeDecision::Wait(run.watch_phase(), run.phase().app_state()));
        }
        let missing =
            device::check_hardware(&app.details.hardware_requirements, state.capabilities.as_deref());
        let model = state.capabilities.as_ref().map_or("the device", |c| c.model_name.as_str());
        if let Some(reason) = missing.reason(model) {
            return Err(unavailable_error(format!("{} cannot start: it {reason}.", app.package)));
        }
        if state.apps.len() >= self.parts().settings.max_apps {
            return Err(unavailable_error("Too many apps run for this user; stop one first."));
        }
        let session = self.new_app_session()?;
        let run = AppRun::new(app.clone(), session.clone(), opened, RunPhase::Starting);
        let phase = run.watch_phase();
        state.apps.insert(app.package.clone(), run);
        self.0.by_session.insert(session.clone(), (live.id.clone(), app.package.clone()));
        Ok(WakeDecision::Start(phase, session))
    }

    /// Starts the app on its own task. If the start fails, all waiting calls get the same error.
    pub(crate) fn spawn_start(&self, live: Arc<LiveUser>, app: Arc<AppRecord>, session: AppSessionId) {
        let sessions = self.clone();
        self.parts().tasks.spawn(async move {
            if let Err(reason) = sessions.start_app(&live, &app, &session).await {
                tracing::warn!(package = %app.package, user = %live.id, %reason, "app did not start");
                sessions.end_run(&live, &app.package, &session, reason).await;
            }
        });
    }

    async fn start_app(
        &self,
        live: &Arc<LiveUser>,
        app: &Arc<AppRecord>,
        session: &AppSessionId,
    ) -> Result<(), ToolError> {
        let Some(mut phase) = live.lock().apps.get(&app.package).map(AppRun::watch_phase) else {
            return Ok(());
        };
        self.save_run(live, &app.package).await;
        let limit = Instant::now() + self.parts().limits.load().wake_timeout_for(app.details.wake_timeout_ms);
        let mut refused = self.ask_to_connect(live, app, session)?;
        let mut webhook_pending = true;
        loop {
            tokio::select! {
                _ = phase.wait_for(|phase| !matches!(phase, RunPhase::Starting)) => return Ok(()),
                // The webhook response may take as long as the app's own start; only a failure counts.
                answer = &mut refused, if webhook_pending => match answer {
                    Ok(reason) => return Err(reason),
                    Err(_no_failure) => webhook_pending = false,
                },
                () = sleep_until(limit) => return Err(never_connected(&app.package)),
                () = self.parts().stopping.cancelled() => return Err(unavailable_error("The server stops.").retryable_if(true)),
            }
        }
    }

    /// Sends the webhook on its own task, because its response comes only after the app's session hook. The receiver
    /// yields only failures.
    fn ask_to_connect(
        &self,
        live: &Arc<LiveUser>,
        app: &Arc<AppRecord>,
        session: &AppSessionId,
    ) -> Result<oneshot::Receiver<ToolError>, ToolError> {
        let url = &self.app_socket_url(&live.id);
        let request = SessionRequest::new(session.clone(), live.id.clone(), url, self.timestamp());
        let webhook = self.build_webhook(app, &WebhookRequest::Session(request))?;
        let (failed, refused) = oneshot::channel();
        let package = app.package.clone();
        let stopping = self.parts().stopping.clone();
        self.parts().tasks.spawn(async move {
            let answered = tokio::select! {
                answered = timeout(WEBHOOK_TIMEOUT, webhook) => answered,
                () = stopping.cancelled() => return,
            };
            // A missing response is not a failure: an app that does not connect is detected by the timeout.
            if let Ok(Err(error)) = answered {
                let text = format!("{package} could not be started: {}.", error.message);
                let _ = failed.send(unavailable_error(text).with_cause(error.cause).retryable_if(true));
            }
        });
        Ok(refused)
    }

    fn new_app_session(&self) -> Result<AppSessionId, ToolError> {
        self.parts()
            .ids
            .new_secret()
            .parse()
            .map_err(|error| unavailable_error("No id for the app's session.").with_cause(error))
    }

    /// Stores the run, so that the app can reconnect after a server restart.
    pub(crate) async fn save_run(&self, live: &Arc<LiveUser>, package: &PackageName) {
        let stored = live.lock().apps.get(package).map(|run| StoredRun {
            session: run.session.clone(),
            user: live.id.clone(),
            package: package.clone(),
            by_user: run.trigger == RunTrigger::ByUser,
        });
        if let Some(stored) = stored
            && let Err(error) = self.parts().stores.runs.save_run(&stored).await
        {
            tracing::error!(%error, %package, "run not stored: the app cannot reconnect after a restart");
        }
    }
}

fn never_connected(package: &PackageName) -> ToolError {
    unavailable_error(format!("{package} did not connect in time; the tool did not run.")).retryable_if(true)
}
