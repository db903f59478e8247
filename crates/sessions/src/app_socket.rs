//! Messages that an app sends over its socket. The sender is known from the socket, never from the message. Whether the
//! app may send a message is looked up in `message_rules` before it is handled.

use std::sync::Arc;

use serde_json::json;
use tokio::time::Instant;
use toolyard_protocol::{
    PackageName,
    session::{
        FromApp, ToApp,
        app_messages::{
            AppMessageKind, AppStopped, PermissionError, PermissionErrorDetail, SubscriptionUpdate,
        },
        audio::AudioPlayResponse,
        webhook::StopReason,
    },
    stream::{StreamSubscription, SubscriptionSet},
};

use crate::{
    device_requests::led_failed,
    live_stream::{NO_MANAGED_STREAMS, fields_of, managed_stream_failed, stream_failed},
    message_rules::MessageRefusal,
    photos::PhotoFailure,
    sessions::{Sessions, unavailable_error},
    user::LiveUser,
};

/// One socket of an app. Dropping it means that the socket is closed.
pub struct AppSocket {
    pub(crate) sessions: Sessions,
    pub(crate) live: Arc<LiveUser>,
    pub(crate) package: PackageName,
    pub(crate) number: u64,
}

impl AppSocket {
    /// Notes that the app is alive.
    pub fn note_activity(&self) {
        self.sessions.confirm_running(&self.live, &self.package, self.number);
    }

    /// Handles one message. No message is fatal, but sending too many stops the app.
    pub fn receive(&self, text: &str) {
        self.note_activity();
        if !self.admit_message() {
            return;
        }
        match FromApp::parse(text) {
            Ok(message) => self.handle_if_allowed(message),
            Err(error) => {
                tracing::warn!(package = %self.package, user = %self.live.id, %error, "invalid app message")
            }
        }
    }

    /// A binary frame, which apps do not send. It only counts towards the rate limit.
    pub fn ignore_binary(&self) {
        self.admit_message();
    }

    /// Counts a message. False if the app has a newer socket, or sent too many messages; in that case it is stopped.
    fn admit_message(&self) -> bool {
        let (session, rate) = {
            let mut state = self.live.lock();
            let current = |run: &&mut crate::run::AppRun| run.is_link(self.number) && run.is_connected();
            let Some(run) = state.apps.get_mut(&self.package).filter(current) else { return false };
            let rate = self.sessions.parts().settings.app_messages;
            if run.rate.try_take(Instant::now(), rate) {
                return true;
            }
            if let Some(link) = &run.link {
                let notice = AppStopped {
                    reason: Some(StopReason::Error),
                    timestamp: Some(self.sessions.timestamp()),
                };
                link.outbox.send_control(ToApp::AppStopped(notice).to_text());
                link.outbox.close(1000, "App stopped");
            }
            run.set_phase(crate::run::RunPhase::Stopping);
            (run.session.clone(), rate)
        };
        tracing::warn!(
            package = %self.package, user = %self.live.id, per_s = rate.per_s, burst = rate.burst,
            "app stopped: too many messages"
        );
        let why = unavailable_error(format!("{} sent too many messages and was stopped.", self.package));
        let (sessions, live, package) = (self.sessions.clone(), self.live.clone(), self.package.clone());
        self.sessions.parts().tasks.spawn(async move {
            sessions.end_run(&live, &package, &session, why).await;
        });
        false
    }

    /// Handles a message if the app may send it; otherwise reports what is missing.
    fn handle_if_allowed(&self, message: FromApp) {
        let kind = message.kind();
        let dashboard = self.sessions.parts().settings.dashboard_app.as_ref();
        let checked = match self.live.lock().apps.get(&self.package) {
            Some(run) => run.check_message(kind, dashboard),
            None => return,
        };
        match checked {
            Err(refusal) => {
                self.send_refusal(kind, refusal);
                self.send_failure(&message, &refusal.explain());
            }
            // The owner of the live stream is checked by the handler.
            Ok(()) => {
                if let Err(refusal) = self.handle_message(message) {
                    self.send_refusal(kind, refusal);
                }
            }
        }
    }

    fn handle_message(&self, message: FromApp) -> Result<(), MessageRefusal> {
        let (sessions, live, package) = (&self.sessions, &self.live, &self.package);
        match message {
            FromApp::SubscriptionUpdate(update) => self.update_subscriptions(&update),
            FromApp::DisplayEvent(event) => sessions.draw_picture(live, package, event),
            FromApp::AudioPlayRequest(request) => sessions.play_audio(live, package, request),
            FromApp::AudioStopRequest(request) => sessions.stop_audio(live, package, request),
            FromApp::PhotoRequest(request) => sessions.take_photo(live, package, &request),
            FromApp::RgbLedControl(request) => sessions.switch_led(live, package, &request),
            FromApp::LocationPollRequest(request) => sessions.request_location(live, package, request),
            FromApp::RtmpStreamRequest(fields) => sessions.start_stream(live, package, fields),
            FromApp::RtmpStreamStop(fields) => return sessions.stop_stream(live, package, &fields),
            FromApp::ManagedStreamRequest(_) => self.send_message(&managed_stream_failed(NO_MANAGED_STREAMS)),
            // There are no managed streams, so there is none to stop.
            FromApp::ManagedStreamStop(_) => {
                self.send_message(&ToApp::ManagedStreamStatus(fields_of(json!({ "status": "stopped" }))));
            }
            FromApp::StreamStatusCheck(_) => sessions.check_stream(live, package),
            FromApp::RequestWifiSetup(request) => sessions.request_wifi_setup(live, package, request),
            FromApp::OwnershipRelease(_) => {
                let mut state = live.lock();
                let link = state.apps.get_mut(package).and_then(|run| run.link.as_mut());
                if let Some(link) = link.filter(|link| link.number == self.number) {
                    link.released = true;
                }
            }
            // SDK 3 expects a pong; SDK 2 never sends a ping.
            FromApp::Ping => self.send_message(&ToApp::Pong),
            FromApp::DashboardContentUpdate(fields) => sessions.write_dashboard(live, package, &fields),
            FromApp::DashboardModeChange(fields) => sessions.change_dashboard_mode(live, &fields),
            FromApp::DashboardSystemUpdate(fields) => sessions.write_corner(live, &fields),
            FromApp::ConnectionInit(_) | FromApp::Reconnect(_) | FromApp::Unknown { .. } => {
                tracing::debug!(%package, kind = message.kind().as_str(), "app message ignored");
            }
        }
        Ok(())
    }

    /// Reports the missing permission in the message that the SDK expects.
    fn send_refusal(&self, kind: AppMessageKind, refusal: MessageRefusal) {
        tracing::debug!(package = %self.package, user = %self.live.id, kind = kind.as_str(), ?refusal, "app message refused");
        let detail = PermissionErrorDetail {
            stream: kind.as_str().to_owned(),
            required_permission: refusal.requirement().to_owned(),
            message: refusal.explain(),
        };
        let message = format!("{} was refused: {}", kind.as_str(), refusal.explain());
        self.send_message(&ToApp::PermissionError(PermissionError { message, details: vec![detail] }));
    }

    /// Sends a failure response, if the SDK waits for a response to this message.
    fn send_failure(&self, message: &FromApp, why: &str) {
        match message {
            FromApp::AudioPlayRequest(request) => {
                self.send_message(&ToApp::AudioPlayResponse(AudioPlayResponse {
                    request_id: request.request_id.clone(),
                    success: false,
                    error: Some(why.to_owned()),
                    duration: None,
                }))
            }
            FromApp::PhotoRequest(request) => {
                let failure = PhotoFailure::new("PERMISSION_DENIED", why);
                self.sessions.photo_failed(&self.live, &self.package, &request.request_id, failure);
            }
            FromApp::RgbLedControl(request) => self.send_message(&led_failed(&request.request_id, why)),
            FromApp::RtmpStreamRequest(_) => self.send_message(&stream_failed(why)),
            FromApp::ManagedStreamRequest(_) => self.send_message(&managed_stream_failed(why)),
            FromApp::StreamStatusCheck(_) => {
                let none = fields_of(json!({ "hasActiveStream": false }));
                self.send_message(&ToApp::StreamStatusCheckResponse(none));
            }
            FromApp::ConnectionInit(_)
            | FromApp::Reconnect(_)
            | FromApp::SubscriptionUpdate(_)
            | FromApp::DisplayEvent(_)
            | FromApp::AudioStopRequest(_)
            | FromApp::LocationPollRequest(_)
            | FromApp::RtmpStreamStop(_)
            | FromApp::ManagedStreamStop(_)
            | FromApp::DashboardContentUpdate(_)
            | FromApp::DashboardModeChange(_)
            | FromApp::DashboardSystemUpdate(_)
            | FromApp::RequestWifiSetup(_)
            | FromApp::OwnershipRelease(_)
            | FromApp::Ping
            | FromApp::Unknown { .. } => {}
        }
    }

    fn send_message(&self, message: &ToApp) {
        self.live.lock().send_to_app(&self.package, message);
    }

    /// Replaces the app's subscriptions. Streams without a declared permission are dropped and reported.
    fn update_subscriptions(&self, update: &SubscriptionUpdate) {
        let (mut wanted, rejected) = SubscriptionSet::parse(&update.subscriptions);
        for rejected in rejected {
            tracing::warn!(package = %self.package, %rejected, "subscription rejected");
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
            link.outbox.send_control(streams_refused(&dropped).to_text());
        }
        run.subscriptions = wanted;
        self.sessions.update_microphone(&mut state);
    }
}

impl Drop for AppSocket {
    fn drop(&mut self) {
        self.sessions.socket_gone(&self.live, &self.package, self.number);
    }
}

/// Reports the streams that an app may not receive.
pub(crate) fn streams_refused(dropped: &[StreamSubscription]) -> ToApp {
    let details = dropped.iter().filter_map(PermissionErrorDetail::for_subscription).collect();
    let message = "some streams need a permission that the app does not declare".to_owned();
    ToApp::PermissionError(PermissionError { message, details })
}
