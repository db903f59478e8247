//! The wake: a sleeping app is asked to connect, once, whoever and however many wait for it.
//!
//! Webhook, socket, authenticated init, RUNNING, ack, first sign. Waiting is by event. An app that is woken by a call
//! runs beside the app in front and gets neither microphone nor camera until the user opens it.

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
    call::Activation,
    device,
    session::webhook::{SessionRequest, WebhookRequest},
};

use crate::{
    run::{Opened, Phase, Run},
    sessions::{Sessions, unavailable},
    user::User,
};

/// How long an app may take to answer its webhook. The SDK answers when the app's own session hook is through, which may
/// be long after it has connected; one that never answers must not hold a connection for ever.
const WEBHOOK_TIMEOUT: Duration = Duration::from_secs(120);

/// What is to be done about an app that does not run.
enum Boarding {
    /// It runs.
    Running(Activation),
    /// Somebody is at it; wait for the outcome.
    Wait(watch::Receiver<Phase>, AppState),
    /// It is ours to start.
    Start(watch::Receiver<Phase>, AppSessionId),
}

impl Sessions {
    /// Returns once the app runs for the user. The start goes on when a waiter leaves: others may wait, and an app that
    /// has begun to start is not stopped half-way.
    pub(crate) async fn wake(
        &self,
        user: &UserId,
        app: &Arc<AppRecord>,
        opened: Opened,
        deadline: Instant,
    ) -> Result<Activation, ToolError> {
        loop {
            let live =
                self.find(user).ok_or_else(|| unavailable("The user has no session.").retryable_if(true))?;
            let (mut phase, joined) = match self.board(&live, app, opened)? {
                Boarding::Running(ready) => return Ok(ready),
                Boarding::Wait(phase, state) => (phase, state),
                Boarding::Start(phase, session) => {
                    self.launch(live, app.clone(), session);
                    (phase, AppState::Starting)
                }
            };
            let settled = phase.wait_for(|phase| matches!(phase, Phase::Running | Phase::Ended(_)));
            let settled = match timeout_at(deadline, settled).await {
                Ok(Ok(phase)) => phase.clone(),
                // The run was dropped under us; look again.
                Ok(Err(_)) => continue,
                Err(_) => return Err(never_connected(&app.package)),
            };
            match (settled, joined) {
                (Phase::Running, AppState::Starting) => {
                    return Ok(Activation::StartedForCall);
                }
                (Phase::Running, _) => return Ok(Activation::WasReady),
                // What was stopping or lost is over; now it can be started.
                (Phase::Ended(_), AppState::Stopping | AppState::Lost) => {}
                (Phase::Ended(reason), _) => return Err((*reason).clone()),
                (Phase::Starting | Phase::Greeted | Phase::Lost | Phase::Stopping, _) => {}
            }
        }
    }

    /// Takes the one place of a start, or finds out who has it.
    fn board(&self, live: &Arc<User>, app: &Arc<AppRecord>, opened: Opened) -> Result<Boarding, ToolError> {
        let mut state = live.lock();
        state.last_used = Instant::now();
        if let Some(ready) = state.use_running(&app.package) {
            return Ok(Boarding::Running(ready));
        }
        if let Some(run) = state.apps.get_mut(&app.package) {
            run.last_used = Instant::now();
            return Ok(Boarding::Wait(run.watch(), run.phase().state()));
        }
        let missing = device::check(&app.details.hardware_requirements, state.capabilities.as_deref());
        let model = state.capabilities.as_ref().map_or("the device", |c| c.model_name.as_str());
        if let Some(reason) = missing.reason(model) {
            return Err(unavailable(format!("{} cannot start: it {reason}.", app.package)));
        }
        if state.apps.len() >= self.parts().settings.max_apps {
            return Err(unavailable("Too many apps run for this user; stop one first."));
        }
        let session = self.new_app_session()?;
        let run = Run::new(app.clone(), session.clone(), opened, Phase::Starting);
        let phase = run.watch();
        state.apps.insert(app.package.clone(), run);
        self.0.by_session.insert(session.clone(), (live.id.clone(), app.package.clone()));
        Ok(Boarding::Start(phase, session))
    }

    /// Starts the app on a task of its own. A start that fails fails all its waiters with the same reason.
    pub(crate) fn launch(&self, live: Arc<User>, app: Arc<AppRecord>, session: AppSessionId) {
        let sessions = self.clone();
        self.parts().tasks.spawn(async move {
            if let Err(reason) = sessions.start(&live, &app, &session).await {
                tracing::warn!(app = %app.package, user = %live.id, %reason, "an app did not start");
                sessions.end_run(&live, &app.package, &session, reason).await;
            }
        });
    }

    async fn start(
        &self,
        live: &Arc<User>,
        app: &Arc<AppRecord>,
        session: &AppSessionId,
    ) -> Result<(), ToolError> {
        let Some(mut phase) = live.lock().apps.get(&app.package).map(Run::watch) else { return Ok(()) };
        self.remember(live, &app.package).await;
        let limit = Instant::now() + self.parts().limits.wake_timeout_for(app.details.wake_timeout_ms);
        let mut refused = self.ask_to_connect(live, app, session)?;
        let mut asked = true;
        loop {
            tokio::select! {
                _ = phase.wait_for(|phase| !matches!(phase, Phase::Starting)) => return Ok(()),
                // The answer to the webhook may take as long as the app's own start-up; only a failure counts.
                answer = &mut refused, if asked => match answer {
                    Ok(reason) => return Err(reason),
                    Err(_no_failure) => asked = false,
                },
                () = sleep_until(limit) => return Err(never_connected(&app.package)),
                () = self.parts().stopping.cancelled() => return Err(unavailable("The server stops.").retryable_if(true)),
            }
        }
    }

    /// Sends the webhook on a task of its own: its answer comes only after the app's own session hook. What comes out
    /// of the receiver is a failure.
    fn ask_to_connect(
        &self,
        live: &Arc<User>,
        app: &Arc<AppRecord>,
        session: &AppSessionId,
    ) -> Result<oneshot::Receiver<ToolError>, ToolError> {
        let url = &self.parts().settings.app_socket_url;
        let request = SessionRequest::new(session.clone(), live.id.clone(), url, self.timestamp());
        let webhook = self.webhook(app, &WebhookRequest::Session(request))?;
        let (failed, refused) = oneshot::channel();
        let package = app.package.clone();
        let stopping = self.parts().stopping.clone();
        self.parts().tasks.spawn(async move {
            let answered = tokio::select! {
                answered = timeout(WEBHOOK_TIMEOUT, webhook) => answered,
                () = stopping.cancelled() => return,
            };
            // No answer is no failure: an app that did not connect is known by that.
            if let Ok(Err(error)) = answered {
                let text = format!("{package} could not be started: {}.", error.words);
                let _ = failed.send(unavailable(text).because(error.cause).retryable_if(true));
            }
        });
        Ok(refused)
    }

    fn new_app_session(&self) -> Result<AppSessionId, ToolError> {
        self.parts()
            .ids
            .secret()
            .parse()
            .map_err(|error| unavailable("No id for the app's session.").because(error))
    }

    /// Keeps the run in the table, so that the app can come back after a restart of the server.
    pub(crate) async fn remember(&self, live: &Arc<User>, package: &PackageName) {
        let stored = live.lock().apps.get(package).map(|run| StoredRun {
            session: run.session.clone(),
            user: live.id.clone(),
            package: package.clone(),
            by_user: run.opened == Opened::ByUser,
        });
        if let Some(stored) = stored
            && let Err(error) = self.parts().stores.runs.keep_run(&stored).await
        {
            tracing::error!(%error, app = %package, "a run could not be stored; the app will not survive a restart");
        }
    }
}

fn never_connected(package: &PackageName) -> ToolError {
    unavailable(format!("{package} did not connect in time; the tool did not run.")).retryable_if(true)
}
