//! One connection of the simulated glasses.

use std::time::Duration;

use futures_util::{SinkExt as _, StreamExt as _};
use serde_json::{Map, Value, json};
use tokio::time::{Instant, MissedTickBehavior, interval, timeout};
use tokio_tungstenite::tungstenite::{
    Error as SocketError, Message,
    protocol::{CloseFrame, frame::coding::CloseCode},
};
use toolyard_protocol::{
    session::{
        DisplayView, FromDevice, Layout, MalformedMessage, MessageFields, ToDevice,
        audio::{AudioPlayResponse, DeviceAudioPlayRequest},
        device_messages::DeviceDisplay,
    },
    stream::{StreamEvent, StreamKind},
};

use super::{
    HELP, KeyboardInput,
    glasses_command::{self, GlassesCommand},
    model::GlassesModel,
    screen,
};
use crate::{
    error::CliError, output::CliOutput, signals::SignalListener, socket::ServerSocket, text,
    typed_line::TypedLine,
};

/// How often a ping is sent.
const PING: Duration = Duration::from_secs(5);
/// Without a message for this long the connection counts as lost.
const SILENCE: Duration = Duration::from_secs(20);
/// Timeout for sending a message or closing the socket.
const WRITE: Duration = Duration::from_secs(5);

/// The response to an app that requests a photo or video.
const NO_CAMERA: &str = "this simulator has no camera";

/// How a connection ended.
pub(super) enum GlassesSessionEnd {
    /// By the user.
    Requested,
    /// It was lost.
    Lost(String),
}

/// One connection.
pub(super) struct GlassesSession<'a> {
    pub(super) socket: ServerSocket,
    pub(super) output: CliOutput,
    pub(super) model: &'a mut GlassesModel,
    pub(super) glance: DashboardGlance,
}

/// The head position of the wearer, and the current dashboard.
#[derive(Debug, Default)]
pub(super) struct DashboardGlance {
    head_up: bool,
    dashboard: Option<DeviceDisplay>,
}

/// How the session continues.
enum GlassesStep {
    Continue,
    Leave,
    Lost(String),
}

impl GlassesSession<'_> {
    /// Runs the session to its end. After an error a reconnect would not help.
    pub(super) async fn run(
        mut self,
        keyboard: &mut KeyboardInput,
        signals: &mut SignalListener,
    ) -> Result<GlassesSessionEnd, CliError> {
        let mut pings = interval(PING);
        pings.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut last_word = Instant::now();
        let mut step = self.announce_model().await;
        loop {
            match step {
                GlassesStep::Continue => {}
                GlassesStep::Leave => return Ok(self.close_session().await),
                GlassesStep::Lost(why) => return Ok(GlassesSessionEnd::Lost(why)),
            }
            step = tokio::select! {
                message = self.socket.next() => {
                    last_word = Instant::now();
                    self.handle_frame(message).await?
                }
                line = keyboard.next() => self.handle_line(&line).await?,
                () = signals.next() => GlassesStep::Leave,
                _ = pings.tick() => match last_word.elapsed() > SILENCE {
                    true => GlassesStep::Lost(format!("no message from the server for {SILENCE:?}")),
                    false => self.send_message(&FromDevice::Ping).await,
                },
            };
        }
    }

    /// Sends which glasses these are.
    async fn announce_model(&mut self) -> GlassesStep {
        if let Some(remark) = self.model.profile_note() {
            self.output.print_note(&remark);
        }
        let introduction = self.model.introduction_message();
        self.send_message(&introduction).await
    }

    async fn handle_frame(
        &mut self,
        message: Option<Result<Message, SocketError>>,
    ) -> Result<GlassesStep, CliError> {
        match message {
            Some(Ok(Message::Text(text))) => self.handle_message(&text).await,
            // A normal close means that another device took our place. Reconnecting would close that one in turn.
            Some(Ok(Message::Close(Some(CloseFrame { code: CloseCode::Normal, reason })))) => {
                Err(CliError::DeviceClosed(reason.to_string()))
            }
            Some(Ok(Message::Close(frame))) => {
                let why = frame.map(|frame| format!("{} {}", frame.code, frame.reason)).unwrap_or_default();
                Ok(GlassesStep::Lost(format!("closed by the server: {}", text::sanitize_line(&why))))
            }
            Some(Ok(Message::Binary(_) | Message::Ping(_) | Message::Pong(_) | Message::Frame(_))) => {
                Ok(GlassesStep::Continue)
            }
            Some(Err(error)) => Ok(GlassesStep::Lost(error.to_string())),
            None => Ok(GlassesStep::Lost("end of stream".to_owned())),
        }
    }

    /// Shows a message, and responds to it if it is a request.
    async fn handle_message(&mut self, message: &str) -> Result<GlassesStep, CliError> {
        let read = ToDevice::parse(message);
        if self.output.is_json() {
            // Serialized again, because a message may span several lines.
            if let Ok(value) = serde_json::from_str::<Value>(message) {
                self.output.print_line(&value.to_string())?;
            }
        } else if let Some(shown) = self.describe_message(&read) {
            self.output.print_line(&shown)?;
        }
        match read {
            Ok(ToDevice::AudioPlayRequest(request)) => Ok(self.confirm_playback(&request).await),
            Ok(ToDevice::DisplayEvent(display)) if display.view == DisplayView::Dashboard => {
                self.glance.dashboard = Some(display).filter(|display| display.layout != Layout::ClearView);
                Ok(GlassesStep::Continue)
            }
            // Requests for missing hardware get an error response, so that the app does not wait for a timeout.
            Ok(ToDevice::PhotoRequest(request)) => {
                let error = json!({ "code": "CAMERA_INIT_FAILED", "message": NO_CAMERA });
                let answer = response_fields(&request, json!({ "success": false, "error": error }));
                Ok(self.send_message(&FromDevice::PhotoResponse(answer)).await)
            }
            Ok(ToDevice::RgbLedControl(request)) => {
                let answer = response_fields(&request, json!({ "success": true }));
                Ok(self.send_message(&FromDevice::RgbLedControlResponse(answer)).await)
            }
            Ok(ToDevice::StartStream(request)) => {
                let answer =
                    response_fields(&request, json!({ "status": "error", "errorDetails": NO_CAMERA }));
                Ok(self.send_message(&FromDevice::RtmpStreamStatus(answer)).await)
            }
            Ok(ToDevice::ConnectionError(refusal) | ToDevice::AuthError(refusal)) => {
                Err(CliError::DeviceRefused(refusal.message))
            }
            _ => Ok(GlassesStep::Continue),
        }
    }

    /// The message as text for people; `None` if there is nothing to show.
    fn describe_message(&self, message: &Result<ToDevice, MalformedMessage>) -> Option<String> {
        let message = match message {
            Ok(message) => message,
            Err(error) => {
                return Some(format!("[invalid message: {}]", text::sanitize_line(&error.to_string())));
            }
        };
        Some(match message {
            // The dashboard is visible only while the wearer looks up.
            ToDevice::DisplayEvent(display)
                if display.view == DisplayView::Dashboard && !self.glance.head_up =>
            {
                return None;
            }
            ToDevice::DisplayEvent(display) => screen::draw_display(display),
            ToDevice::DashboardModeChange(change) => {
                format!("[dashboard mode: {}]", text::sanitize_line(change.str_field("mode").unwrap_or("?")))
            }
            ToDevice::AudioPlayRequest(request) => describe_audio(request),
            ToDevice::ConnectionAck(ack) => {
                let who = ack.session_id.as_deref().unwrap_or("unknown");
                format!(
                    "[connected as {}, wearing {}; type /help for the commands]",
                    text::sanitize_line(who),
                    text::sanitize_line(self.model.name())
                )
            }
            ToDevice::AppStarted(app) => format!("[{} started]", app.package_name),
            ToDevice::AppStopped(app) => format!("[{} stopped]", app.package_name),
            ToDevice::MicrophoneStateChange(state) => {
                format!("[microphone {}]", if state.is_microphone_enabled { "on" } else { "off" })
            }
            ToDevice::AudioStopRequest(request) => format!("[{} stops its audio]", request.package_name),
            ToDevice::PhotoRequest(_) => "[an app requests a photo; this simulator has no camera]".to_owned(),
            ToDevice::StartStream(_) => {
                "[an app requests live video; this simulator has no camera]".to_owned()
            }
            ToDevice::RgbLedControl(_) => "[an app controls the LED]".to_owned(),
            ToDevice::RequestSingleLocation(_) => {
                "[an app requests your location; this simulator has none]".to_owned()
            }
            ToDevice::ShowWifiSetup(_) => "[an app requests Wi-Fi setup]".to_owned(),
            ToDevice::ConnectionError(_)
            | ToDevice::AuthError(_)
            | ToDevice::Pong
            | ToDevice::AppStateChange(_)
            | ToDevice::StopStream(_)
            | ToDevice::SetLocationTier(_)
            | ToDevice::UdpPingAck
            | ToDevice::DataStream(_)
            | ToDevice::Unknown { .. } => return None,
        })
    }

    /// Reports that playback has finished: printing the line is all the simulator does.
    async fn confirm_playback(&mut self, request: &DeviceAudioPlayRequest) -> GlassesStep {
        let answer = AudioPlayResponse {
            request_id: request.request.request_id.clone(),
            success: true,
            error: None,
            duration: None,
        };
        self.send_message(&FromDevice::AudioPlayResponse(answer)).await
    }

    async fn handle_line(&mut self, line: &str) -> Result<GlassesStep, CliError> {
        match glasses_command::parse_glasses_line(line) {
            Ok(TypedLine::PlainText(words)) => {
                Ok(self.send_message(&glasses_command::transcription_message(words)).await)
            }
            Ok(TypedLine::Command(GlassesCommand::Send(message))) => {
                self.update_head(&message)?;
                Ok(self.send_message(&message).await)
            }
            Ok(TypedLine::Command(GlassesCommand::Wear(model))) => {
                *self.model = model;
                Ok(self.announce_model().await)
            }
            Ok(TypedLine::Help) => {
                self.output.print_note(HELP);
                Ok(GlassesStep::Continue)
            }
            Ok(TypedLine::Quit) => Ok(GlassesStep::Leave),
            Ok(TypedLine::Empty) => Ok(GlassesStep::Continue),
            Err(why) => {
                self.output.print_note(&why);
                Ok(GlassesStep::Continue)
            }
        }
    }

    /// Tracks the head position, and shows the dashboard when the wearer looks up.
    fn update_head(&mut self, message: &FromDevice) -> Result<(), CliError> {
        let FromDevice::Event(event) = message else { return Ok(()) };
        if event.event != StreamEvent::Plain(StreamKind::HeadPosition) {
            return Ok(());
        }
        self.glance.head_up = event.str_field("position").is_some_and(|position| position == "up");
        match &self.glance.dashboard {
            Some(dashboard) if self.glance.head_up && !self.output.is_json() => {
                self.output.print_line(&screen::draw_display(dashboard))
            }
            _ => Ok(()),
        }
    }

    async fn send_message(&mut self, message: &FromDevice) -> GlassesStep {
        match timeout(WRITE, self.socket.send(Message::text(message.to_text()))).await {
            Ok(Ok(())) => GlassesStep::Continue,
            Ok(Err(error)) => GlassesStep::Lost(error.to_string()),
            Err(_) => GlassesStep::Lost(format!("sending timed out after {WRITE:?}")),
        }
    }

    /// Closes the socket, so that the server notices at once.
    async fn close_session(mut self) -> GlassesSessionEnd {
        let _ = timeout(WRITE, self.socket.close(None)).await;
        GlassesSessionEnd::Requested
    }
}

/// The fields of a response, with the id of its request.
fn response_fields(request: &MessageFields, answer: Value) -> MessageFields {
    let mut fields = match answer {
        Value::Object(fields) => fields,
        _ => Map::new(),
    };
    for name in ["requestId", "streamId"] {
        if let Some(id) = request.0.get(name) {
            fields.insert(name.to_owned(), id.clone());
        }
    }
    MessageFields(fields)
}

fn describe_audio(request: &DeviceAudioPlayRequest) -> String {
    let package = &request.package_name;
    match &request.text {
        Some(words) => format!("♪ {package} says: {}", text::sanitize_block(words)),
        None => format!("♪ {package} plays {}", text::sanitize_line(&request.request.audio_url)),
    }
}
