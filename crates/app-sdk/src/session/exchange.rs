//! What goes over one connection of a session, until it is over.

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

use super::{EndReason, Session, connect::Socket, replace};
use crate::limits::{CLOSE_WAIT, SHORTEST_PING, SILENT_PINGS};

/// How a connection ended.
pub(super) enum Left {
    /// The session is over.
    Ended(EndReason),
    /// The connection broke; it may come back.
    Lost,
}

impl Left {
    /// A platform that has said that it stops the app does not want it back, however the connection ends.
    fn unless(self, stopped: Option<StopReason>) -> Self {
        stopped.map_or(self, |reason| Self::Ended(EndReason::Stopped(reason)))
    }
}

/// Reasons with which the platform ends a session whatever the close code.
const LAST_WORDS: [&str; 2] = ["App stopped", "User session ended"];

/// Runs one connection.
pub(super) async fn exchange(
    session: &Session,
    socket: &mut Socket,
    outbox: &mut mpsc::Receiver<FromApp>,
) -> Left {
    let mut wanted = session.0.streams.wanted();
    let mut pings = interval(session.0.limits.ping_every.max(SHORTEST_PING));
    pings.set_missed_tick_behavior(MissedTickBehavior::Delay);
    pings.tick().await;
    let silence = pings.period().saturating_mul(SILENT_PINGS);
    let mut heard = Instant::now();
    let mut stopped = None;
    // An empty set right after a connect says nothing; the platform ignores it.
    if !wanted.borrow_and_update().is_empty() {
        wanted.mark_changed();
    }
    loop {
        let out = tokio::select! {
            reason = session.0.ending.asked() => {
                farewell(session, socket, &reason).await;
                return Left::Ended(reason);
            }
            message = socket.next() => {
                heard = Instant::now();
                match receive(session, message) {
                    Received::Taken => continue,
                    Received::Stopped(reason) => { stopped = Some(reason); continue }
                    Received::Gone(left) => return left.unless(stopped),
                }
            }
            Ok(()) = wanted.changed() => {
                let subscriptions = wanted.borrow_and_update().clone();
                Message::text(session.write(&FromApp::SubscriptionUpdate(SubscriptionUpdate { subscriptions })))
            }
            Some(message) = outbox.recv() => Message::text(session.write(&message)),
            _ = pings.tick() => {
                if heard.elapsed() >= silence {
                    tracing::warn!(session = %session.id(), "nothing was heard of the platform for {silence:?}");
                    return Left::Lost;
                }
                Message::Ping(Bytes::new())
            }
        };
        // A peer that does not read holds nothing up for longer than a message may wait.
        match timeout(session.0.limits.send_wait, socket.send(out)).await {
            Ok(Ok(())) => {}
            Ok(Err(_)) => return last_words(session, socket, stopped).await,
            Err(_) => return Left::Lost.unless(stopped),
        }
    }
}

/// Reads what the peer said before a write to it failed: it may have closed properly, and not want us back.
async fn last_words(session: &Session, socket: &mut Socket, mut stopped: Option<StopReason>) -> Left {
    let reading = async {
        loop {
            match receive(session, socket.next().await) {
                Received::Taken => {}
                Received::Stopped(reason) => stopped = Some(reason),
                Received::Gone(left) => return left,
            }
        }
    };
    let left = timeout(CLOSE_WAIT, reading).await.unwrap_or(Left::Lost);
    left.unless(stopped)
}

/// What a frame did.
enum Received {
    Taken,
    Stopped(StopReason),
    Gone(Left),
}

fn receive(session: &Session, message: Option<Result<Message, tungstenite::Error>>) -> Received {
    match message {
        Some(Ok(Message::Text(text))) => match ToApp::read(&text) {
            Ok(message) => take(session, message),
            Err(error) => {
                tracing::warn!(session = %session.id(), %error, "a message of the platform cannot be read");
                Received::Taken
            }
        },
        // tungstenite answers pings by itself; sound is not offered.
        Some(Ok(Message::Binary(_) | Message::Ping(_) | Message::Pong(_) | Message::Frame(_))) => {
            Received::Taken
        }
        Some(Ok(Message::Close(frame))) => Received::Gone(closed(frame)),
        Some(Err(error)) => {
            tracing::debug!(session = %session.id(), %error, "the connection broke");
            Received::Gone(Left::Lost)
        }
        None => Received::Gone(Left::Lost),
    }
}

fn closed(frame: Option<CloseFrame>) -> Left {
    let Some(CloseFrame { code, reason }) = frame else { return Left::Lost };
    let last = matches!(code, CloseCode::Normal | CloseCode::Away)
        || LAST_WORDS.iter().any(|words| reason.contains(words));
    let reason = reason.to_string();
    if last { Left::Ended(EndReason::Closed { code: code.into(), reason }) } else { Left::Lost }
}

/// Takes a message of the platform.
fn take(session: &Session, message: ToApp) -> Received {
    match message {
        ToApp::DataStream(event) => session.0.streams.deliver(&event.stream_type, event.data),
        ToApp::SettingsUpdate(update) => session.take_settings(&update.settings),
        ToApp::SystemSettingsUpdate(update) => {
            session.0.settings.send_if_modified(|now| {
                let then = now.with(None, Some(update.settings));
                replace(now, then)
            });
        }
        ToApp::CapabilitiesUpdate(update) => {
            session.0.capabilities.send_if_modified(|now| replace(now, update.capabilities));
        }
        ToApp::AudioPlayResponse(response) => session.0.speaking.answered(response),
        ToApp::AppStopped(stopped) => {
            // The close comes next, or the connection breaks: neither is a reason to come back.
            return Received::Stopped(stopped.reason.unwrap_or(StopReason::SystemStop));
        }
        ToApp::PermissionError(error) => {
            for dropped in error.details {
                tracing::warn!(session = %session.id(), stream = dropped.stream, "not heard: {}", dropped.message);
            }
        }
        ToApp::ConnectionError(error) => {
            tracing::warn!(session = %session.id(), "the platform reports: {}", error.message);
        }
        ToApp::Unknown { kind } => tracing::debug!(session = %session.id(), kind, "an unknown message"),
        // Of no use to this SDK yet.
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
    Received::Taken
}

/// Closes a connection from our side, politely and not for long.
async fn farewell(session: &Session, socket: &mut Socket, reason: &EndReason) {
    let goodbye = async {
        if *reason == EndReason::Replaced {
            // "Do not start me again when this socket closes": the new one is on its way.
            let release = OwnershipRelease { reason: Some("switching_clouds".to_owned()) };
            socket.send(Message::text(session.write(&FromApp::OwnershipRelease(release)))).await?;
        }
        let code = if *reason == EndReason::AppStopped { CloseCode::Away } else { CloseCode::Normal };
        socket.close(Some(CloseFrame { code, reason: "".into() })).await?;
        // The peer's own close frame ends the stream.
        while socket.next().await.transpose()?.is_some() {}
        Ok::<_, tungstenite::Error>(())
    };
    // It is over either way.
    let _ = timeout(CLOSE_WAIT, goodbye).await;
}
