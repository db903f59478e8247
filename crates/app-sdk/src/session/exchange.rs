//! Runs one connection of a session until it ends.

use futures_util::{SinkExt, StreamExt};
use tokio::{
    sync::mpsc,
    time::{Instant, MissedTickBehavior, interval, timeout},
};
use tokio_tungstenite::tungstenite::{
    self, Bytes, Message,
    protocol::{CloseFrame, frame::coding::CloseCode},
};
use toolyard_protocol::session::{
    FromApp, ToApp,
    app_messages::{OwnershipRelease, SubscriptionUpdate},
    webhook::StopReason,
};

use super::{EndReason, Session, connect::SessionSocket, replace_value};
use crate::limits::{CLOSE_WAIT, SHORTEST_PING, SILENT_PINGS};

/// How a connection ended.
pub(super) enum ConnectionEnd {
    /// The session has ended.
    Ended(EndReason),
    /// The connection is lost. The session may reconnect.
    Lost,
}

impl ConnectionEnd {
    /// If the platform has announced that it stops the app, the session ends however the connection ends.
    fn unless_stopped(self, stopped: Option<StopReason>) -> Self {
        stopped.map_or(self, |reason| Self::Ended(EndReason::Stopped(reason)))
    }
}

/// Close reasons that end the session, whatever the close code.
const FINAL_CLOSE_REASONS: [&str; 2] = ["App stopped", "User session ended"];

/// Runs one connection.
pub(super) async fn run_connection(
    session: &Session,
    socket: &mut SessionSocket,
    outbox: &mut mpsc::Receiver<FromApp>,
) -> ConnectionEnd {
    let mut subscriptions = session.0.streams.watch_subscriptions();
    let mut pings = interval(session.0.limits.ping_every.max(SHORTEST_PING));
    pings.set_missed_tick_behavior(MissedTickBehavior::Delay);
    pings.tick().await;
    let silence = pings.period().saturating_mul(SILENT_PINGS);
    let mut last_received = Instant::now();
    let mut stopped = None;
    // An empty set right after connecting is not sent: the platform ignores it.
    if !subscriptions.borrow_and_update().is_empty() {
        subscriptions.mark_changed();
    }
    loop {
        let out = tokio::select! {
            reason = session.0.ending.requested() => {
                close_socket(session, socket, &reason).await;
                return ConnectionEnd::Ended(reason);
            }
            message = socket.next() => {
                last_received = Instant::now();
                match handle_frame(session, message) {
                    FrameOutcome::Handled => continue,
                    FrameOutcome::Stopped(reason) => { stopped = Some(reason); continue }
                    FrameOutcome::Closed(left) => return left.unless_stopped(stopped),
                }
            }
            Ok(()) = subscriptions.changed() => {
                let subscriptions = subscriptions.borrow_and_update().clone();
                Message::text(session.encode_message(&FromApp::SubscriptionUpdate(SubscriptionUpdate { subscriptions })))
            }
            Some(message) = outbox.recv() => Message::text(session.encode_message(&message)),
            _ = pings.tick() => {
                if last_received.elapsed() >= silence {
                    tracing::warn!(session = %session.id(), ?silence, "no data from the platform");
                    return ConnectionEnd::Lost;
                }
                Message::Ping(Bytes::new())
            }
        };
        // A peer that does not read blocks the session no longer than a message may wait.
        match timeout(session.0.limits.send_wait, socket.send(out)).await {
            Ok(Ok(())) => {}
            Ok(Err(_)) => return read_last_frames(session, socket, stopped).await,
            Err(_) => return ConnectionEnd::Lost.unless_stopped(stopped),
        }
    }
}

/// Reads what the peer sent before a write failed: it may have closed the session properly.
async fn read_last_frames(
    session: &Session,
    socket: &mut SessionSocket,
    mut stopped: Option<StopReason>,
) -> ConnectionEnd {
    let reading = async {
        loop {
            match handle_frame(session, socket.next().await) {
                FrameOutcome::Handled => {}
                FrameOutcome::Stopped(reason) => stopped = Some(reason),
                FrameOutcome::Closed(left) => return left,
            }
        }
    };
    let left = timeout(CLOSE_WAIT, reading).await.unwrap_or(ConnectionEnd::Lost);
    left.unless_stopped(stopped)
}

/// The effect of a frame.
enum FrameOutcome {
    Handled,
    Stopped(StopReason),
    Closed(ConnectionEnd),
}

fn handle_frame(session: &Session, message: Option<Result<Message, tungstenite::Error>>) -> FrameOutcome {
    match message {
        Some(Ok(Message::Text(text))) => match ToApp::parse(&text) {
            Ok(message) => handle_message(session, message),
            Err(error) => {
                tracing::warn!(session = %session.id(), %error, "cannot parse a message from the platform");
                FrameOutcome::Handled
            }
        },
        // tungstenite answers pings by itself. Audio is not supported.
        Some(Ok(Message::Binary(_) | Message::Ping(_) | Message::Pong(_) | Message::Frame(_))) => {
            FrameOutcome::Handled
        }
        Some(Ok(Message::Close(frame))) => FrameOutcome::Closed(close_outcome(frame)),
        Some(Err(error)) => {
            tracing::debug!(session = %session.id(), %error, "connection failed");
            FrameOutcome::Closed(ConnectionEnd::Lost)
        }
        None => FrameOutcome::Closed(ConnectionEnd::Lost),
    }
}

fn close_outcome(frame: Option<CloseFrame>) -> ConnectionEnd {
    let Some(CloseFrame { code, reason }) = frame else { return ConnectionEnd::Lost };
    let last = matches!(code, CloseCode::Normal | CloseCode::Away)
        || FINAL_CLOSE_REASONS.iter().any(|words| reason.contains(words));
    let reason = reason.to_string();
    if last {
        ConnectionEnd::Ended(EndReason::Closed { code: code.into(), reason })
    } else {
        ConnectionEnd::Lost
    }
}

/// Handles a message from the platform.
fn handle_message(session: &Session, message: ToApp) -> FrameOutcome {
    match message {
        ToApp::DataStream(event) => session.0.streams.deliver_event(&event.stream_type, event.data),
        ToApp::SettingsUpdate(update) => session.replace_settings(&update.settings),
        ToApp::SystemSettingsUpdate(update) => {
            session.0.settings.send_if_modified(|now| {
                let then = now.with_updates(None, Some(update.settings));
                replace_value(now, then)
            });
        }
        ToApp::CapabilitiesUpdate(update) => {
            session.0.capabilities.send_if_modified(|now| replace_value(now, update.capabilities));
        }
        ToApp::AudioPlayResponse(response) => session.0.speaking.resolve_request(response),
        ToApp::AppStopped(stopped) => {
            // The close frame follows, or the connection breaks. In neither case should the session reconnect.
            return FrameOutcome::Stopped(stopped.reason.unwrap_or(StopReason::SystemStop));
        }
        ToApp::PermissionError(error) => {
            for dropped in error.details {
                tracing::warn!(
                    session = %session.id(),
                    stream = dropped.stream,
                    error = %dropped.message,
                    "subscription refused"
                );
            }
        }
        ToApp::ConnectionError(error) => {
            tracing::warn!(session = %session.id(), error = %error.message, "the platform reported an error");
        }
        ToApp::Unknown { kind } => {
            tracing::debug!(session = %session.id(), kind, "unknown message from the platform")
        }
        // Not used by this SDK yet.
        ToApp::ConnectionAck(_)
        | ToApp::ReconnectAck(_)
        | ToApp::ReconnectRejected(_)
        | ToApp::ReconnectDeferred(_)
        | ToApp::DeviceStateUpdate(_)
        | ToApp::PhotoResponse(_)
        | ToApp::RgbLedControlResponse(_)
        | ToApp::RtmpStreamStatus(_)
        | ToApp::ManagedStreamStatus(_)
        | ToApp::StreamStatusCheckResponse(_)
        | ToApp::DashboardModeChanged(_)
        | ToApp::DashboardAlwaysOnChanged(_)
        | ToApp::CustomMessage(_)
        | ToApp::Pong => {}
    }
    FrameOutcome::Handled
}

/// Closes a connection from our side, within a time limit.
async fn close_socket(session: &Session, socket: &mut SessionSocket, reason: &EndReason) {
    let goodbye = async {
        if *reason == EndReason::Replaced {
            // Keeps the platform from starting the app again when this socket closes: the new session is already starting.
            let release = OwnershipRelease { reason: Some("switching_clouds".to_owned()) };
            socket.send(Message::text(session.encode_message(&FromApp::OwnershipRelease(release)))).await?;
        }
        let code = if *reason == EndReason::AppStopped { CloseCode::Away } else { CloseCode::Normal };
        socket.close(Some(CloseFrame { code, reason: "".into() })).await?;
        // The peer's own close frame ends the stream.
        while socket.next().await.transpose()?.is_some() {}
        Ok::<_, tungstenite::Error>(())
    };
    // The connection ends in any case.
    let _ = timeout(CLOSE_WAIT, goodbye).await;
}
