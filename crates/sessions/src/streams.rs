//! Events of the device, on their way to subscribed apps; and pictures on their way to the device.

use std::sync::Arc;

use bytes::Bytes;
use serde_json::value::RawValue;
use tokio::time::{Instant, sleep_until};
use toolyard_protocol::{
    PackageName,
    raw::to_raw,
    session::{
        DisplayEvent, ToApp, ToDevice,
        app_messages::DataStream,
        device_messages::{DeviceDisplay, MicrophoneStateChange},
        speech::Transcription,
    },
    stream::{DEFAULT_LANGUAGE, StreamEvent, StreamKind},
};

use crate::{
    outbox::{SocketFrame, StateKey},
    run::{AppRun, RunTrigger},
    screen::AppPicture,
    sessions::Sessions,
    user::{LiveUser, UserState},
};

/// The message that reports dropped stream data to an app, in a form that every SDK knows.
pub(crate) fn lost_notice(lost: u64) -> String {
    format!(r#"{{"type":"custom_message","action":"toolyard.stream_data_lost","payload":{{"lost":{lost}}}}}"#)
}

impl Sessions {
    /// Sends an event to every app that subscribes to it and may receive it, for each matching subscription.
    pub(crate) fn relay_event(&self, live: &Arc<LiveUser>, event: &StreamEvent, data: &RawValue) {
        let state = live.lock();
        for run in state.apps.values().filter(|run| run.can_receive(event.kind())) {
            let Some(outbox) = run.outbox() else { continue };
            for stream_type in run.subscriptions.stream_types_for(event, run.permissions()) {
                outbox.send_stream(SocketFrame::Text(self.stream_message(run, stream_type, data)));
            }
        }
    }

    /// Sends a transcription to every app that subscribes to its language.
    pub(crate) fn relay_transcription(&self, live: &Arc<LiveUser>, words: &Transcription) {
        let language = words.transcribe_language.as_deref().unwrap_or(DEFAULT_LANGUAGE).to_owned();
        self.relay_event(live, &StreamEvent::Transcription { language }, &to_raw(words));
    }

    /// Sends the same transcription to every app that subscribes to one of its language variants. Apps that subscribe
    /// to all languages get the first.
    pub(crate) fn relay_variants(&self, live: &Arc<LiveUser>, variants: &[Transcription]) {
        let events: Vec<_> = variants
            .iter()
            .map(|words| {
                let language = words.transcribe_language.as_deref().unwrap_or(DEFAULT_LANGUAGE).to_owned();
                (StreamEvent::Transcription { language }, to_raw(words))
            })
            .collect();
        let state = live.lock();
        for run in state.apps.values().filter(|run| run.can_receive(&StreamKind::Transcription)) {
            let Some(outbox) = run.outbox() else { continue };
            let mut given = Vec::new();
            for (event, data) in &events {
                for stream_type in run.subscriptions.stream_types_for(event, run.permissions()) {
                    if !given.contains(&stream_type) {
                        given.push(stream_type);
                        outbox.send_stream(SocketFrame::Text(self.stream_message(run, stream_type, data)));
                    }
                }
            }
        }
    }

    /// Sends a response of the device to the app that requested it.
    pub(crate) fn relay_response(
        &self,
        state: &UserState,
        package: &PackageName,
        kind: &StreamKind,
        data: &RawValue,
    ) {
        let run = state.apps.get(package).filter(|run| run.can_receive(kind));
        if let Some((run, outbox)) = run.and_then(|run| Some((run, run.outbox()?))) {
            outbox.send_control(self.stream_message(run, kind.as_str(), data));
        }
    }

    fn stream_message(&self, run: &AppRun, stream_type: &str, data: &RawValue) -> String {
        ToApp::DataStream(DataStream {
            session_id: Some(run.session.as_str().to_owned()),
            stream_type: stream_type.to_owned(),
            data: data.to_owned(),
            timestamp: Some(self.timestamp()),
        })
        .to_text()
    }

    /// Sends audio to every app that subscribes to it and may receive it.
    pub(crate) fn relay_audio(&self, live: &Arc<LiveUser>, sound: &Bytes) {
        let event = StreamEvent::Plain(StreamKind::AudioChunk);
        let state = live.lock();
        for run in state.apps.values().filter(|run| run.can_receive(event.kind())) {
            if let Some(outbox) = run.outbox()
                && !run.subscriptions.stream_types_for(&event, run.permissions()).is_empty()
            {
                outbox.send_stream(SocketFrame::Binary(sound.clone()));
            }
        }
    }

    /// Switches the device's microphone on while an app needs it.
    pub(crate) fn update_microphone(&self, state: &mut UserState) {
        let hears = |run: &AppRun| {
            run.subscriptions.iter().any(|s| needs_microphone(s.kind()) && run.can_receive(s.kind()))
        };
        let on = state.apps.values().any(hears);
        if on != state.microphone {
            state.microphone = on;
            state.send_device_state(StateKey::Microphone, &microphone_state(on));
        }
    }

    /// Draws a picture for an app.
    pub(crate) fn draw_picture(&self, live: &Arc<LiveUser>, package: &PackageName, event: DisplayEvent) {
        let mut state = live.lock();
        let run = state.apps.get(package).filter(|run| run.trigger == RunTrigger::ForCall);
        let woken_by = run.map(|run| run.last_used);
        let shown =
            state.screen.draw(package, event, Instant::now(), self.parts().settings.overlay, woken_by);
        self.send_picture(&state, shown);
        self.set_screen_timer(live, &mut state);
    }

    /// Sends a picture to the device, if there are both.
    pub(crate) fn send_picture(&self, state: &UserState, shown: Option<AppPicture>) {
        let (Some((package_name, event)), Some(device)) = (shown, &state.device) else { return };
        let display = DeviceDisplay {
            package_name,
            view: event.view,
            layout: event.layout,
            duration_ms: event.duration_ms,
            timestamp: Some(self.timestamp()),
        };
        device.outbox.send_latest(StateKey::Picture, ToDevice::DisplayEvent(display).to_text());
    }

    /// Sets the timer for the next expiry: one timer for each user.
    pub(crate) fn set_screen_timer(&self, live: &Arc<LiveUser>, state: &mut UserState) {
        let Some(due) = state.screen.next_expiry() else { return };
        if state.screen_timer.is_some_and(|set| set <= due) {
            return;
        }
        state.screen_timer = Some(due);
        let (sessions, live) = (self.clone(), live.clone());
        self.parts().tasks.spawn(async move {
            tokio::select! {
                () = sleep_until(due) => {}
                () = sessions.parts().stopping.cancelled() => return,
            }
            let mut state = live.lock();
            if state.screen_timer != Some(due) {
                return;
            }
            state.screen_timer = None;
            let shown = state.screen.expire(Instant::now());
            sessions.send_picture(&state, shown);
            sessions.set_screen_timer(&live, &mut state);
        });
    }
}

pub(crate) fn microphone_state(on: bool) -> ToDevice {
    ToDevice::MicrophoneStateChange(MicrophoneStateChange {
        is_microphone_enabled: on,
        required_data: if on { vec!["pcm".to_owned()] } else { Vec::new() },
        bypass_vad: None,
    })
}

fn needs_microphone(kind: &StreamKind) -> bool {
    matches!(
        kind,
        StreamKind::Transcription | StreamKind::Translation | StreamKind::Vad | StreamKind::AudioChunk
    )
}
