//! What an app says over its socket. Who says it is known from the socket, never from the message.

use std::sync::Arc;

use toolyard_protocol::{
    PackageName,
    session::{
        FromApp, ToApp, ToDevice,
        app_messages::{PermissionError, PermissionErrorDetail, SubscriptionUpdate},
        device_messages::{LocationRequest, WifiSetup},
        message::Fields,
    },
    stream::SubscriptionSet,
};

use crate::{sessions::Sessions, user::User};

/// One socket of an app. Dropping it says that the socket is gone.
pub struct AppSocket {
    pub(crate) sessions: Sessions,
    pub(crate) live: Arc<User>,
    pub(crate) package: PackageName,
    pub(crate) number: u64,
}

impl AppSocket {
    /// The app gave a sign of life.
    pub fn gave_sign(&self) {
        self.sessions.sign_of(&self.live, &self.package, self.number);
    }

    /// Takes one message. Nothing that an app says is fatal.
    pub fn receive(&self, text: &str) {
        self.gave_sign();
        match FromApp::read(text) {
            Ok(message) => self.handle(message),
            Err(error) => {
                tracing::warn!(app = %self.package, user = %self.live.id, %error, "unreadable message")
            }
        }
    }

    fn handle(&self, message: FromApp) {
        match message {
            FromApp::SubscriptionUpdate(update) => self.subscribe(&update),
            FromApp::DisplayEvent(event) => self.sessions.draw(&self.live, &self.package, event),
            FromApp::AudioPlayRequest(request) => self.sessions.play(&self.live, &self.package, request),
            FromApp::AudioStopRequest(request) => self.sessions.be_quiet(&self.live, &self.package, request),
            FromApp::PhotoRequest(request) => {
                self.forward(&request.request_id, &request, ToDevice::PhotoRequest)
            }
            FromApp::RgbLedControl(request) => {
                self.forward(&request.request_id, &request, ToDevice::RgbLedControl)
            }
            FromApp::LocationPollRequest(request) => {
                let mut state = self.live.lock();
                state.expect_answer(&request.correlation_id, &self.package);
                state.tell_device(&ToDevice::RequestSingleLocation(LocationRequest {
                    correlation_id: request.correlation_id,
                    accuracy: request.accuracy,
                }));
            }
            FromApp::RtmpStreamRequest(fields) | FromApp::ManagedStreamRequest(fields) => {
                self.live.lock().tell_device(&ToDevice::StartStream(fields));
            }
            FromApp::RtmpStreamStop(fields) | FromApp::ManagedStreamStop(fields) => {
                self.live.lock().tell_device(&ToDevice::StopStream(fields));
            }
            FromApp::RequestWifiSetup(request) => {
                let app_package_name = Some(self.package.clone());
                let setup = WifiSetup { reason: request.reason, app_package_name };
                self.live.lock().tell_device(&ToDevice::ShowWifiSetup(setup));
            }
            FromApp::OwnershipRelease(_) => {
                let mut state = self.live.lock();
                let link = state.apps.get_mut(&self.package).and_then(|run| run.link.as_mut());
                if let Some(link) = link.filter(|link| link.number == self.number) {
                    link.released = true;
                }
            }
            // SDK 3 asks and wants an answer; SDK 2 never asks.
            FromApp::Ping => self.answer(&ToApp::Pong),
            FromApp::ConnectionInit(_)
            | FromApp::Reconnect(_)
            | FromApp::StreamStatusCheck(_)
            | FromApp::DashboardContentUpdate(_)
            | FromApp::DashboardModeChange(_)
            | FromApp::DashboardSystemUpdate(_)
            | FromApp::Unknown { .. } => {
                tracing::debug!(app = %self.package, ?message, "a message that nothing is done about");
            }
        }
    }

    fn answer(&self, message: &ToApp) {
        let state = self.live.lock();
        if let Some(link) = state.apps.get(&self.package).and_then(|run| run.link.as_ref()) {
            link.outbox.control(message.to_text());
        }
    }

    /// Replaces what the app hears. Streams that it did not declare a permission for are dropped, and it is told.
    fn subscribe(&self, update: &SubscriptionUpdate) {
        let (mut wanted, rejected) = SubscriptionSet::read(&update.subscriptions);
        for rejected in rejected {
            tracing::warn!(app = %self.package, %rejected, "a subscription was not taken");
        }
        let mut state = self.live.lock();
        let grace = self.sessions.parts().settings.subscription_grace;
        let Some(run) = state.apps.get_mut(&self.package).filter(|run| run.is_link(self.number)) else {
            return;
        };
        let fresh = run.link.as_ref().is_some_and(|link| link.since.elapsed() < grace);
        if wanted.is_empty() && fresh {
            return;
        }
        let dropped = wanted.drop_unpermitted(run.permissions());
        if !dropped.is_empty()
            && let Some(link) = &run.link
        {
            let details = dropped.iter().filter_map(PermissionErrorDetail::of).collect();
            let message = "some streams need a permission that the app does not declare".to_owned();
            link.outbox.control(ToApp::PermissionError(PermissionError { message, details }).to_text());
        }
        run.subscriptions = wanted;
        self.sessions.update_microphone(&mut state);
    }

    /// Hands a request to the device as it came, and remembers who asked.
    fn forward<T: serde::Serialize>(&self, id: &str, request: &T, wrap: fn(Fields) -> ToDevice) {
        let mut fields = match serde_json::to_value(request) {
            Ok(serde_json::Value::Object(members)) => members,
            _ => return,
        };
        fields.insert("packageName".to_owned(), self.package.as_str().into());
        let mut state = self.live.lock();
        state.expect_answer(id, &self.package);
        state.tell_device(&wrap(Fields(fields)));
    }
}

impl Drop for AppSocket {
    fn drop(&mut self) {
        self.sessions.socket_gone(&self.live, &self.package, self.number);
    }
}
