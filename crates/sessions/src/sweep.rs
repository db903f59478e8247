//! Removes what is idle: woken apps without calls, and sessions without a device.

use futures_util::{FutureExt as _, StreamExt as _, stream};
use tokio::time::Instant;

use crate::{
    run::{RunPhase, RunTrigger},
    sessions::Sessions,
    stop::STOPS_AT_ONCE,
};

/// Unused capacity of a table that is not worth shrinking.
const SPARE_PLACES: usize = 1_024;

impl Sessions {
    /// Stops idle apps and ends idle sessions. Called every few seconds.
    pub async fn sweep(&self) {
        let (now, settings) = (Instant::now(), &self.parts().settings);
        let (mut idle_apps, mut idle_users) = (Vec::new(), Vec::new());
        for entry in &self.0.users {
            let state = entry.lock();
            let device_gone = state.device.is_none()
                && state.device_left.is_none_or(|left| now.duration_since(left) >= settings.device_grace);
            if device_gone
                && now.duration_since(state.last_used) >= idle_limit(state.device_left.is_some(), settings)
            {
                idle_users.push(entry.key().clone());
                continue;
            }
            let idles = |run: &crate::run::AppRun| {
                run.trigger == RunTrigger::ForCall
                    && matches!(run.phase(), RunPhase::Running)
                    && now.duration_since(run.last_used) >= settings.idle_stop
            };
            let idle = state.apps.iter().filter(|(_, run)| idles(run)).map(|(package, _)| package);
            idle_apps.extend(idle.map(|package| (entry.key().clone(), package.clone())));
        }
        self.stop_all(idle_apps).await;
        let ends = idle_users.iter().map(|user| self.end_session(user));
        stream::iter(ends).for_each_concurrent(STOPS_AT_ONCE, |ended| ended.map(drop)).await;
        // Tables do not shrink by themselves.
        if self.0.users.capacity() > SPARE_PLACES && self.0.users.capacity() / 4 > self.0.users.len() {
            self.0.users.shrink_to_fit();
            self.0.by_session.shrink_to_fit();
        }
    }
}

/// A session that had a device ends after the device grace; one that never had a device ends when it is idle.
fn idle_limit(had_device: bool, settings: &crate::SessionSettings) -> std::time::Duration {
    if had_device { settings.device_grace } else { settings.session_idle }
}
