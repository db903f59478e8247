//! A device's socket: messages of glasses, phones and simulators.

use std::sync::Arc;

use bytes::Bytes;
use jiff::Timestamp;
use serde_json::value::RawValue;
use tokio::time::Instant;
use toolyard_core::ports::{AppRecord, StoredDevice};
use toolyard_protocol::{
    UserId,
    device::{self, Capabilities},
    raw::to_raw,
    session::{
        FromDevice, ToApp, ToDevice,
        app_messages::CapabilitiesUpdate,
        device_messages::{DeviceConnectionAck, DeviceEvent, GlassesConnection, GlassesStatus},
        device_state::DeviceState,
        speech::Transcription,
        webhook::StopReason,
    },
    stream::{StreamEvent, StreamKind},
};

use crate::{
    device_state::{battery_report, connection_report},
    outbox::Outbox,
    sessions::Sessions,
    streams::microphone_state,
    user::{DeviceLink, LiveUser},
};

/// One socket of a device. Dropping it means that the socket is closed.
pub struct DeviceSocket {
    sessions: Sessions,
    live: Arc<LiveUser>,
    number: u64,
}

/// An app that the device wants started or stopped; the door checks that the user has it.
#[derive(Debug, PartialEq, Eq)]
pub enum DeviceOrder {
    /// Start it.
    Start(toolyard_protocol::PackageName),
    /// Stop it.
    Stop(toolyard_protocol::PackageName),
}

impl Sessions {
    /// Accepts a device. A second device replaces the first. None if there are too many users.
    pub async fn attach_device(&self, user: &UserId, outbox: &Arc<Outbox>) -> Option<DeviceSocket> {
        let live = self.open_user(user)?;
        let known = live.lock().capabilities.is_some();
        if !known && let Ok(Some(last)) = self.parts().stores.devices.last_device(user).await {
            let mut state = live.lock();
            let model_name = Some(last.capabilities.model_name.clone());
            state.capabilities.get_or_insert(last.capabilities);
            state.state.update(DeviceState { model_name, ..DeviceState::default() });
            drop(state);
            self.view_changed(user);
        }
        let number = self.next_link();
        let mut state = live.lock();
        let before = state.device.replace(DeviceLink { number, outbox: outbox.clone(), transcribes: false });
        if let Some(before) = before {
            before.outbox.close(1000, "another device connected");
        }
        state.device_left = None;
        state.listener.reset_voice();
        state.last_used = Instant::now();
        outbox.send_control(self.device_ack(user));
        if state.microphone {
            outbox.send_control(microphone_state(true).to_text());
        }
        let shown = state.screen.current();
        self.send_picture(&state, shown);
        state.dashboard.mark_not_shown();
        self.redraw_dashboard(&mut state);
        drop(state);
        Some(DeviceSocket { sessions: self.clone(), live, number })
    }

    /// Takes the last short press of the button of the user's device, if it was not before `since`. A press is taken once.
    pub fn take_button_press(&self, user: &UserId, since: Timestamp) -> bool {
        let Some(live) = self.find_user(user) else { return false };
        live.lock().pressed_at.take_if(|pressed| *pressed >= since).is_some()
    }

    fn device_ack(&self, user: &UserId) -> String {
        let ack = DeviceConnectionAck {
            session_id: Some(user.as_str().to_owned()),
            env: None,
            timestamp: Some(self.timestamp()),
        };
        ToDevice::ConnectionAck(ack).to_text()
    }

    /// Applies a change of glasses: views are rebuilt, apps are notified, and apps that no longer fit are stopped.
    async fn change_device(
        &self,
        live: &Arc<LiveUser>,
        capabilities: Option<Arc<Capabilities>>,
        report: DeviceState,
    ) {
        let misfits = {
            let mut state = live.lock();
            if state.state.model_name != report.model_name {
                // Battery and network belong to the previous glasses.
                state.state = DeviceState::default();
            }
            if state.capabilities == capabilities {
                return self.merge_state(&mut state, report);
            }
            state.capabilities.clone_from(&capabilities);
            let known = capabilities.as_ref().map(|c| c.model_name.clone());
            let model_name = known.or_else(|| report.model_name.clone());
            let update = CapabilitiesUpdate { capabilities: capabilities.clone(), model_name };
            let update = ToApp::CapabilitiesUpdate(update).to_text();
            for outbox in state.apps.values().filter_map(crate::run::AppRun::outbox) {
                outbox.send_control(update.clone());
            }
            self.merge_state(&mut state, report);
            let misfit = |record: &AppRecord| {
                !device::check_hardware(&record.details.hardware_requirements, capabilities.as_deref())
                    .is_compatible()
            };
            let misfits = state.apps.iter().filter(|(_, run)| misfit(&run.record));
            misfits.map(|(package, _)| package.clone()).collect::<Vec<_>>()
        };
        self.view_changed(&live.id);
        for package in misfits {
            let _ = self.stop_app(&live.id, &package, StopReason::SystemStop).await;
        }
        if let Some(capabilities) = capabilities {
            let device = StoredDevice { capabilities, at: self.parts().clock.now() };
            if let Err(error) = self.parts().stores.devices.save_device(&live.id, device).await {
                tracing::error!(%error, user = %live.id, "device not saved");
            }
        }
    }
}

impl DeviceSocket {
    /// Handles one message. Returns an order that the door has to carry out, if any.
    pub async fn receive(&self, text: &str) -> Option<DeviceOrder> {
        let message = match FromDevice::parse(text) {
            Ok(message) => message,
            Err(error) => {
                tracing::warn!(user = %self.live.id, %error, "invalid device message");
                return None;
            }
        };
        let event = message.stream_event();
        match message {
            FromDevice::Ping => self.send_message(&ToDevice::Pong),
            FromDevice::ConnectionInit(_) => {
                let ack = self.sessions.device_ack(&self.live.id);
                self.with_outbox(|outbox| outbox.send_control(ack));
            }
            FromDevice::StartApp(order) => return Some(DeviceOrder::Start(order.package_name)),
            FromDevice::StopApp(order) => return Some(DeviceOrder::Stop(order.package_name)),
            FromDevice::DeviceProfile(profile) => {
                let capabilities = Arc::new(profile.into_capabilities());
                let report = DeviceState {
                    connected: Some(true),
                    model_name: Some(capabilities.model_name.clone()),
                    ..DeviceState::default()
                };
                self.sessions.change_device(&self.live, Some(capabilities), report).await;
            }
            FromDevice::GlassesConnectionState(glasses) => {
                self.update_glasses(&glasses).await;
                self.relay_event(event, &to_raw(&FromDevice::GlassesConnectionState(glasses)));
            }
            FromDevice::LocalTranscription(heard) => {
                self.mark_transcribing();
                self.sessions.relay_transcription(&self.live, &Transcription::from(&heard));
            }
            FromDevice::AudioPlayResponse(answer) => self.sessions.audio_finished(&self.live, answer),
            FromDevice::RtmpStreamStatus(fields) => self.sessions.stream_status(&self.live, fields),
            FromDevice::PhotoResponse(answer) => self.sessions.photo_answered(&self.live, answer),
            FromDevice::RgbLedControlResponse(answer) => self.sessions.led_switched(&self.live, answer),
            FromDevice::Event(happened) => {
                self.apply_event(&happened);
                self.route_event(&happened.event, &happened.message, happened.str_field("correlationId"))
            }
            FromDevice::KeepAliveAck(_)
            | FromDevice::UdpRegister(_)
            | FromDevice::PhoneSubscriptionUpdate(_)
            | FromDevice::Unknown { .. } => {
                tracing::debug!(user = %self.live.id, ?message, "device message ignored");
            }
        }
        None
    }

    /// Handles a chunk of audio.
    pub fn receive_audio(&self, sound: &Bytes) {
        self.sessions.relay_audio(&self.live, sound);
        self.sessions.process_audio(&self.live, sound);
    }

    fn mark_transcribing(&self) {
        let mut state = self.live.lock();
        if let Some(device) = state.device.as_mut().filter(|device| device.number == self.number) {
            device.transcribes = true;
        }
    }

    async fn update_glasses(&self, glasses: &GlassesConnection) {
        let capabilities = match glasses.status {
            GlassesStatus::Connected | GlassesStatus::Reconnected => {
                glasses.model_name.as_deref().and_then(device::find_profile)
            }
            GlassesStatus::Disconnected => None,
        };
        self.sessions.change_device(&self.live, capabilities, connection_report(glasses)).await;
    }

    /// Applies an event to the platform's own state.
    fn apply_event(&self, happened: &DeviceEvent) {
        match happened.event {
            StreamEvent::Plain(StreamKind::GlassesBatteryUpdate) => {
                if let Some(report) = battery_report(&happened.message) {
                    self.sessions.report_state(&self.live, report);
                }
            }
            // Devices leave out the kind of a short press.
            StreamEvent::Plain(StreamKind::ButtonPress)
                if happened.str_field("pressType").is_none_or(|kind| kind == "short") =>
            {
                self.live.lock().pressed_at = Some(self.sessions.parts().clock.now());
            }
            StreamEvent::Plain(StreamKind::HeadPosition) => {
                let up = happened.str_field("position").is_some_and(|position| position == "up");
                self.sessions.set_head_up(&self.live, up);
            }
            _ => {}
        }
    }

    /// Routes an event: a response goes to the app that sent the request, everything else to all subscribers.
    fn route_event(&self, event: &StreamEvent, data: &RawValue, correlation: Option<String>) {
        match correlation {
            Some(id) if *event == StreamEvent::Plain(StreamKind::LocationUpdate) => {
                self.sessions.deliver_location(&self.live, &id, data);
            }
            _ => self.sessions.relay_event(&self.live, event, data),
        }
    }

    fn relay_event(&self, event: Option<StreamEvent>, data: &RawValue) {
        if let Some(event) = event {
            self.sessions.relay_event(&self.live, &event, data);
        }
    }

    fn send_message(&self, message: &ToDevice) {
        self.with_outbox(|outbox| outbox.send_control(message.to_text()));
    }

    fn with_outbox(&self, then: impl FnOnce(&Outbox)) {
        let state = self.live.lock();
        if let Some(device) = state.device.as_ref().filter(|device| device.number == self.number) {
            then(&device.outbox);
        }
    }
}

impl Drop for DeviceSocket {
    fn drop(&mut self) {
        let mut state = self.live.lock();
        if state.device.as_ref().is_some_and(|device| device.number == self.number) {
            state.device = None;
            state.device_left = Some(Instant::now());
            state.last_used = Instant::now();
        }
    }
}
