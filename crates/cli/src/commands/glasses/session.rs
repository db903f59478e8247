//! One connection of the glasses, from the first message to the last.

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
        Fields, FromDevice, Layout, Malformed, ToDevice, View,
        audio::{AudioPlayResponse, DeviceAudioPlayRequest},
        device_messages::DeviceDisplay,
    },
    stream::{Event, StreamKind},
};

use super::{
    HELP, Keyboard,
    model::Model,
    screen,
    typed::{self, Deed},
};
use crate::{error::CliError, output::Output, signals::Signals, socket::Socket, text, typed::Typed};

/// How often we ask whether the server is there.
const PING: Duration = Duration::from_secs(5);
/// Without a word for this long, the server is gone.
const SILENCE: Duration = Duration::from_secs(20);
/// How long a message or a goodbye may take to go out.
const WRITE: Duration = Duration::from_secs(5);

/// What an app is told that wants a picture.
const NO_CAMERA: &str = "this simulator has no camera";

/// How a connection ended.
pub(super) enum End {
    /// We wanted it.
    Wanted,
    /// It broke.
    Lost(String),
}

/// One connection.
pub(super) struct Session<'a> {
    pub(super) socket: Socket,
    pub(super) output: Output,
    pub(super) model: &'a mut Model,
    pub(super) glance: Glance,
}

/// Where the wearer looks, and what is there.
#[derive(Debug, Default)]
pub(super) struct Glance {
    head_up: bool,
    dashboard: Option<DeviceDisplay>,
}

/// What comes next.
enum Step {
    Go,
    Leave,
    Lost(String),
}

impl Session<'_> {
    /// Runs it to its end. After an error it makes no sense to come back.
    pub(super) async fn run(
        mut self,
        keyboard: &mut Keyboard,
        signals: &mut Signals,
    ) -> Result<End, CliError> {
        let mut pings = interval(PING);
        pings.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut last_word = Instant::now();
        let mut step = self.wear().await;
        loop {
            match step {
                Step::Go => {}
                Step::Leave => return Ok(self.leave().await),
                Step::Lost(why) => return Ok(End::Lost(why)),
            }
            step = tokio::select! {
                message = self.socket.next() => {
                    last_word = Instant::now();
                    self.heard(message).await?
                }
                line = keyboard.next() => self.typed(&line).await?,
                () = signals.next() => Step::Leave,
                _ = pings.tick() => match last_word.elapsed() > SILENCE {
                    true => Step::Lost(format!("no word from the server for {SILENCE:?}")),
                    false => self.send(&FromDevice::Ping).await,
                },
            };
        }
    }

    /// Says which glasses we are.
    async fn wear(&mut self) -> Step {
        if let Some(remark) = self.model.remark() {
            self.output.note(&remark);
        }
        let introduction = self.model.introduction();
        self.send(&introduction).await
    }

    async fn heard(&mut self, message: Option<Result<Message, SocketError>>) -> Result<Step, CliError> {
        match message {
            Some(Ok(Message::Text(text))) => self.told(&text).await,
            // Whoever came back after a proper end would throw out the device that took our place, and it us.
            Some(Ok(Message::Close(Some(CloseFrame { code: CloseCode::Normal, reason })))) => {
                Err(CliError::DeviceClosed(reason.to_string()))
            }
            Some(Ok(Message::Close(frame))) => {
                let why = frame.map(|frame| format!("{} {}", frame.code, frame.reason)).unwrap_or_default();
                Ok(Step::Lost(format!("the server closed it: {}", text::line(&why))))
            }
            Some(Ok(Message::Binary(_) | Message::Ping(_) | Message::Pong(_) | Message::Frame(_))) => {
                Ok(Step::Go)
            }
            Some(Err(error)) => Ok(Step::Lost(error.to_string())),
            None => Ok(Step::Lost("it ended".to_owned())),
        }
    }

    /// Shows a message, and answers it where an answer is due.
    async fn told(&mut self, message: &str) -> Result<Step, CliError> {
        let read = ToDevice::read(message);
        if self.output.is_json() {
            // Written anew, because a message may be on many lines.
            if let Ok(value) = serde_json::from_str::<Value>(message) {
                self.output.line(&value.to_string())?;
            }
        } else if let Some(shown) = self.shown(&read) {
            self.output.line(&shown)?;
        }
        match read {
            Ok(ToDevice::AudioPlayRequest(request)) => Ok(self.played(&request).await),
            Ok(ToDevice::DisplayEvent(display)) if display.view == View::Dashboard => {
                self.glance.dashboard = Some(display).filter(|display| display.layout != Layout::ClearView);
                Ok(Step::Go)
            }
            // What this simulator has not, it says; an app that waits for it would wait in vain.
            Ok(ToDevice::PhotoRequest(request)) => {
                let error = json!({ "code": "CAMERA_INIT_FAILED", "message": NO_CAMERA });
                let answer = answer_to(&request, json!({ "success": false, "error": error }));
                Ok(self.send(&FromDevice::PhotoResponse(answer)).await)
            }
            Ok(ToDevice::RgbLedControl(request)) => {
                let answer = answer_to(&request, json!({ "success": true }));
                Ok(self.send(&FromDevice::RgbLedControlResponse(answer)).await)
            }
            Ok(ToDevice::StartStream(request)) => {
                let answer = answer_to(&request, json!({ "status": "error", "errorDetails": NO_CAMERA }));
                Ok(self.send(&FromDevice::RtmpStreamStatus(answer)).await)
            }
            Ok(ToDevice::ConnectionError(refusal) | ToDevice::AuthError(refusal)) => {
                Err(CliError::DeviceRefused(refusal.message))
            }
            _ => Ok(Step::Go),
        }
    }

    /// The message for people; none where there is nothing to see.
    fn shown(&self, message: &Result<ToDevice, Malformed>) -> Option<String> {
        let message = match message {
            Ok(message) => message,
            Err(error) => {
                return Some(format!("[a message that cannot be read: {}]", text::line(&error.to_string())));
            }
        };
        Some(match message {
            // The dashboard is seen while the wearer looks up.
            ToDevice::DisplayEvent(display) if display.view == View::Dashboard && !self.glance.head_up => {
                return None;
            }
            ToDevice::DisplayEvent(display) => screen::draw(display),
            ToDevice::DashboardModeChange(change) => {
                format!("[dashboard mode: {}]", text::line(change.text("mode").unwrap_or("?")))
            }
            ToDevice::AudioPlayRequest(request) => spoken(request),
            ToDevice::ConnectionAck(ack) => {
                let who = ack.session_id.as_deref().unwrap_or("somebody");
                format!(
                    "[connected as {}, wearing {}; /help says what to type]",
                    text::line(who),
                    text::line(self.model.name())
                )
            }
            ToDevice::AppStarted(app) => format!("[{} started]", app.package_name),
            ToDevice::AppStopped(app) => format!("[{} stopped]", app.package_name),
            ToDevice::MicrophoneStateChange(state) => {
                format!("[microphone {}]", if state.is_microphone_enabled { "on" } else { "off" })
            }
            ToDevice::AudioStopRequest(request) => format!("[{} stops its sound]", request.package_name),
            ToDevice::PhotoRequest(_) => "[an app wants a photo; this simulator has no camera]".to_owned(),
            ToDevice::StartStream(_) => "[an app wants live video; this simulator has no camera]".to_owned(),
            ToDevice::RgbLedControl(_) => "[an app switches a lamp]".to_owned(),
            ToDevice::RequestSingleLocation(_) => {
                "[an app asks where you are; this simulator does not know]".to_owned()
            }
            ToDevice::ShowWifiSetup(_) => "[an app asks for Wi-Fi]".to_owned(),
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

    /// The line was read out, so the sound is over.
    async fn played(&mut self, request: &DeviceAudioPlayRequest) -> Step {
        let answer = AudioPlayResponse {
            request_id: request.request.request_id.clone(),
            success: true,
            error: None,
            duration: None,
        };
        self.send(&FromDevice::AudioPlayResponse(answer)).await
    }

    async fn typed(&mut self, line: &str) -> Result<Step, CliError> {
        match typed::read(line) {
            Ok(Typed::Words(words)) => Ok(self.send(&typed::heard(words)).await),
            Ok(Typed::Order(Deed::Send(message))) => {
                self.look(&message)?;
                Ok(self.send(&message).await)
            }
            Ok(Typed::Order(Deed::Wear(model))) => {
                *self.model = model;
                Ok(self.wear().await)
            }
            Ok(Typed::Help) => {
                self.output.note(HELP);
                Ok(Step::Go)
            }
            Ok(Typed::Quit) => Ok(Step::Leave),
            Ok(Typed::Nothing) => Ok(Step::Go),
            Err(why) => {
                self.output.note(&why);
                Ok(Step::Go)
            }
        }
    }

    /// The dashboard is shown when the wearer looks up.
    fn look(&mut self, message: &FromDevice) -> Result<(), CliError> {
        let FromDevice::Event(event) = message else { return Ok(()) };
        if event.event != Event::Plain(StreamKind::HeadPosition) {
            return Ok(());
        }
        self.glance.head_up = event.text("position").is_some_and(|position| position == "up");
        match &self.glance.dashboard {
            Some(dashboard) if self.glance.head_up && !self.output.is_json() => {
                self.output.line(&screen::draw(dashboard))
            }
            _ => Ok(()),
        }
    }

    async fn send(&mut self, message: &FromDevice) -> Step {
        match timeout(WRITE, self.socket.send(Message::text(message.to_text()))).await {
            Ok(Ok(())) => Step::Go,
            Ok(Err(error)) => Step::Lost(error.to_string()),
            Err(_) => Step::Lost(format!("nothing could be sent for {WRITE:?}")),
        }
    }

    /// Says goodbye, so that the server need not wait to notice.
    async fn leave(mut self) -> End {
        let _ = timeout(WRITE, self.socket.close(None)).await;
        End::Wanted
    }
}

/// The fields of an answer, under the id of its request.
fn answer_to(request: &Fields, answer: Value) -> Fields {
    let mut fields = match answer {
        Value::Object(fields) => fields,
        _ => Map::new(),
    };
    for name in ["requestId", "streamId"] {
        if let Some(id) = request.0.get(name) {
            fields.insert(name.to_owned(), id.clone());
        }
    }
    Fields(fields)
}

fn spoken(request: &DeviceAudioPlayRequest) -> String {
    let package = &request.package_name;
    match &request.text {
        Some(words) => format!("♪ {package} says: {}", text::block(words)),
        None => format!("♪ {package} plays {}", text::line(&request.request.audio_url)),
    }
}
