//! The user opens an app: it comes to the front and may use the microphone. Only one standard app is open at a time.

use std::sync::Arc;

use tokio::time::Instant;
use toolyard_core::{ToolError, ports::AppRecord};
use toolyard_protocol::{UserId, app::AppType, call::AppActivation, session::webhook::StopReason};

use crate::{run::RunTrigger, sessions::Sessions};

impl Sessions {
    /// Starts an app for the user, or brings an app to the front that a call woke. The verb has checked that the user
    /// installed it.
    pub(crate) async fn open_app(&self, user: &UserId, app: AppRecord) -> Result<AppActivation, ToolError> {
        let app = Arc::new(app);
        let deadline =
            Instant::now() + self.parts().limits.load().wake_timeout_for(app.details.wake_timeout_ms);
        if app.details.app_type == AppType::Standard {
            self.stop_front_apps(user, &app).await;
        }
        let ready = self.wake(user, &app, RunTrigger::ByUser, deadline).await?;
        let Some(live) = self.find_user(user) else { return Ok(ready) };
        {
            let mut state = live.lock();
            if let Some(run) = state.apps.get_mut(&app.package) {
                run.trigger = RunTrigger::ByUser;
            }
            if app.details.app_type == AppType::Standard {
                let shown = state.screen.open_app(&app.package);
                self.send_picture(&state, shown);
                self.set_screen_timer(&live, &mut state);
            }
            self.update_microphone(&mut state);
        }
        self.save_run(&live, &app.package).await;
        Ok(ready)
    }

    async fn stop_front_apps(&self, user: &UserId, app: &AppRecord) {
        let Some(live) = self.find_user(user) else { return };
        let others: Vec<_> = {
            let state = live.lock();
            let other = |run: &crate::run::AppRun| run.is_standard() && run.trigger == RunTrigger::ByUser;
            let others = state.apps.iter().filter(|(package, run)| **package != app.package && other(run));
            others.map(|(package, _)| package.clone()).collect()
        };
        for package in others {
            let _ = self.stop_app(user, &package, StopReason::UserDisabled).await;
        }
    }
}
