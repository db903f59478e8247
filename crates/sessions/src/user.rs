//! One live user.

use std::{collections::HashMap, sync::Arc};

use jiff::Timestamp;
use parking_lot::{Mutex, MutexGuard};
use tokio::time::Instant;
use toolyard_protocol::{
    PackageName, UserId,
    api::{RunningApp, SessionSummary},
    call::AppActivation,
    device::Capabilities,
    session::{DeviceState, ToApp, ToDevice},
};

use crate::{
    dashboard::Dashboard,
    listen::SpeechListener,
    live_stream::LiveStream,
    outbox::{Outbox, StateKey},
    pending::PendingRequests,
    run::{AppRun, RunPhase, RunTrigger},
    screen::UserScreen,
};

/// One live user. The lock is held only for the length of a state change.
#[derive(Debug)]
pub(crate) struct LiveUser {
    pub(crate) id: UserId,
    state: Mutex<UserState>,
}

/// Why a request to the device is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum DeviceRefusal {
    /// There is no device.
    #[error("no device is connected")]
    NoDevice,
    /// Too many requests of this app are waiting.
    #[error("the device has not processed this app's earlier requests yet; try again later")]
    Busy,
}

/// The open socket of a device.
#[derive(Debug)]
pub(crate) struct DeviceLink {
    pub(crate) number: u64,
    pub(crate) outbox: Arc<Outbox>,
    /// The device recognises speech itself, so its audio is not transcribed again.
    pub(crate) transcribes: bool,
}

/// The live state of a user.
#[derive(Debug)]
pub(crate) struct UserState {
    pub(crate) device: Option<DeviceLink>,
    /// When the device disconnected.
    pub(crate) device_left: Option<Instant>,
    /// The last short press of its button, until an approval uses it.
    pub(crate) pressed_at: Option<Timestamp>,
    pub(crate) capabilities: Option<Arc<Capabilities>>,
    pub(crate) state: DeviceState,
    pub(crate) apps: HashMap<PackageName, AppRun>,
    pub(crate) screen: UserScreen,
    pub(crate) dashboard: Dashboard,
    pub(crate) last_used: Instant,
    /// Whether the device's microphone is on.
    pub(crate) microphone: bool,
    /// Speech recognition.
    pub(crate) listener: SpeechListener,
    /// When the screen timer fires.
    pub(crate) screen_timer: Option<Instant>,
    /// Apps' requests that the device has not answered yet.
    pub(crate) pending: PendingRequests,
    /// The live video that the device was asked to send.
    pub(crate) stream: Option<LiveStream>,
}

impl LiveUser {
    pub(crate) fn new(id: UserId) -> Self {
        let live = UserState {
            device: None,
            device_left: None,
            pressed_at: None,
            capabilities: None,
            state: DeviceState::default(),
            apps: HashMap::new(),
            screen: UserScreen::default(),
            dashboard: Dashboard::default(),
            last_used: Instant::now(),
            microphone: false,
            listener: SpeechListener::default(),
            screen_timer: None,
            pending: PendingRequests::default(),
            stream: None,
        };
        Self { id, state: Mutex::new(live) }
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, UserState> {
        self.state.lock()
    }

    pub(crate) fn session_summary(&self) -> SessionSummary {
        let live = self.lock();
        let mut apps: Vec<_> = live
            .apps
            .iter()
            .map(|(package, run)| RunningApp {
                package_name: package.clone(),
                state: run.phase().app_state(),
                woken: run.trigger == RunTrigger::ForCall,
                foreground: live.screen.front_app() == Some(package),
                subscriptions: run.subscriptions.iter().map(|s| s.as_str().to_owned()).collect(),
            })
            .collect();
        apps.sort_by(|a, b| a.package_name.cmp(&b.package_name));
        SessionSummary {
            user_id: self.id.clone(),
            device_connected: live.device.is_some(),
            capabilities: live.capabilities.as_deref().cloned(),
            apps,
        }
    }
}

impl UserState {
    /// Marks an app as used, if it runs and has read its ack.
    pub(crate) fn mark_used(&mut self, package: &PackageName) -> Option<AppActivation> {
        let now = Instant::now();
        let run = self
            .apps
            .get_mut(package)
            .filter(|run| run.link.is_some() && matches!(run.phase(), RunPhase::Running))?;
        run.last_used = now;
        self.last_used = now;
        Some(AppActivation::WasReady)
    }

    /// Sends a state to the device, if there is one; a later value replaces it.
    pub(crate) fn send_device_state(&self, key: StateKey, message: &ToDevice) {
        if let Some(device) = &self.device {
            device.outbox.send_latest(key, message.to_text());
        }
    }

    /// Sends a request of an app to the device.
    pub(crate) fn request_device(&self, app: &PackageName, message: &ToDevice) -> Result<(), DeviceRefusal> {
        let device = self.device.as_ref().ok_or(DeviceRefusal::NoDevice)?;
        match device.outbox.send_request(app, message.to_text()) {
            true => Ok(()),
            false => Err(DeviceRefusal::Busy),
        }
    }

    /// Sends a message to an app, if it runs.
    pub(crate) fn send_to_app(&self, app: &PackageName, message: &ToApp) {
        if let Some(outbox) = self.apps.get(app).and_then(AppRun::outbox) {
            outbox.send_control(message.to_text());
        }
    }

    pub(crate) fn close_sockets(&self, code: u16, reason: &'static str) {
        let apps = self.apps.values().filter_map(|run| run.link.as_ref()).map(|link| &link.outbox);
        apps.chain(self.device.as_ref().map(|device| &device.outbox))
            .for_each(|outbox| outbox.close(code, reason));
    }
}

#[cfg(test)]
mod tests {
    use toolyard_protocol::{api::AppState, session::device_messages::LocationRequest};

    use super::*;
    use crate::fixtures::{app_link, app_run, device_link, live_user, package};

    fn location() -> ToDevice {
        ToDevice::RequestSingleLocation(LocationRequest { correlation_id: "c".to_owned(), accuracy: None })
    }

    #[test]
    fn an_app_is_ready_for_a_call_only_if_it_runs_with_a_socket() {
        let live = live_user();
        let mut state = live.lock();
        let app = package("com.a");
        assert_eq!(state.mark_used(&app), None);
        state.apps.insert(app.clone(), app_run("com.a", &[], RunTrigger::ForCall));
        assert_eq!(state.mark_used(&app), None, "without a socket");
        let run = state.apps.get_mut(&app).unwrap();
        run.link = Some(app_link());
        run.set_phase(RunPhase::Acknowledged);
        assert_eq!(state.mark_used(&app), None, "it may not have read the ack");
        state.apps[&app].set_phase(RunPhase::Running);
        assert_eq!(state.mark_used(&app), Some(AppActivation::WasReady));
    }

    #[tokio::test]
    async fn requests_of_an_app_are_bounded_and_leave_the_device_connected() {
        let live = live_user();
        let request = |app: &str| live.lock().request_device(&package(app), &location());
        assert_eq!(request("a"), Err(DeviceRefusal::NoDevice));
        let device = device_link(2);
        let outbox = device.outbox.clone();
        live.lock().device = Some(device);
        assert_eq!((0..100).filter(|_| request("a").is_ok()).count(), 2);
        assert_eq!(request("a"), Err(DeviceRefusal::Busy));
        assert_eq!(request("b"), Ok(()));
        for _ in 0..3 {
            let frame = outbox.next_frame().await;
            assert!(matches!(frame, crate::SocketFrame::Text(_)), "{frame:?}");
        }
    }

    #[test]
    fn a_summary_lists_apps_by_name_with_state_and_foreground() {
        let live = live_user();
        {
            let mut state = live.lock();
            for (name, trigger) in [("com.b", RunTrigger::ByUser), ("com.a", RunTrigger::ForCall)] {
                state.apps.insert(package(name), app_run(name, &[], trigger));
            }
            state.apps[&package("com.a")].set_phase(RunPhase::Lost);
            state.screen.open_app(&package("com.b"));
        }
        let summary = live.session_summary();
        let apps: Vec<_> = summary
            .apps
            .iter()
            .map(|app| (app.package_name.as_str(), app.state, app.woken, app.foreground))
            .collect();
        let expected = [("com.a", AppState::Lost, true, false), ("com.b", AppState::Running, false, true)];
        assert_eq!((apps.as_slice(), summary.device_connected), (&expected[..], false));
    }
}
