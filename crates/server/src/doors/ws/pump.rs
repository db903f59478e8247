//! Transports frames in both directions, with heartbeats and timeouts.

use std::{sync::Arc, time::Duration};

use axum::extract::{
    WebSocketUpgrade,
    ws::{CloseFrame, Message, WebSocket},
};
use bytes::Bytes;
use futures_util::FutureExt as _;
use tokio::{
    sync::mpsc,
    time::{Instant, timeout},
};
use toolyard_protocol::JsonLine;
use toolyard_sessions::{Outbox, SocketFrame};

use crate::state::ServerState;

/// Timeout for writing one frame. A slower peer counts as gone.
const WRITE_TIMEOUT: Duration = Duration::from_secs(10);
/// How long a peer may take to answer a close. Short, because a stopping server waits for it, and apps on the SDK retry for only 3 s.
const GOODBYE_TIMEOUT: Duration = Duration::from_secs(1);
/// Missed heartbeats after which a socket counts as gone.
const MISSED_BEATS: u32 = 3;
/// Small, because most sockets are idle. Larger messages allocate what they need.
const BUFFER_BYTES: usize = 4 * 1024;

/// Applies the limits of every socket.
pub(crate) fn with_socket_limits(upgrade: WebSocketUpgrade, state: &ServerState) -> WebSocketUpgrade {
    let largest = state.config.load().server.socket_message_bytes;
    upgrade
        .read_buffer_size(BUFFER_BYTES)
        .write_buffer_size(0)
        .max_write_buffer_size(largest.saturating_mul(2))
        .max_message_size(largest)
        .max_frame_size(largest)
}

/// A received message.
pub(crate) enum SocketMessage {
    Text(String),
    Binary(Bytes),
    /// The response to a ping: the peer has read everything sent before it.
    Pong,
}

/// A source of frames to send.
pub(crate) trait OutgoingFrames: Send {
    /// Waits for the next frame. Cancel safe.
    fn next(&mut self) -> impl Future<Output = SocketFrame> + Send;
}

impl OutgoingFrames for Arc<Outbox> {
    async fn next(&mut self) -> SocketFrame {
        Outbox::next_frame(self).await
    }
}

impl OutgoingFrames for mpsc::Receiver<JsonLine> {
    async fn next(&mut self) -> SocketFrame {
        match self.recv().await {
            Some(line) => SocketFrame::Text(line.into_string()),
            None => std::future::pending().await,
        }
    }
}

/// A socket with its outgoing queue.
pub(crate) struct SocketPump<Q> {
    socket: WebSocket,
    outbox: Q,
    beat: Duration,
    last_sign: Instant,
    next_beat: Instant,
}

impl<Q: OutgoingFrames> SocketPump<Q> {
    pub(crate) fn new(socket: WebSocket, outbox: Q, state: &ServerState) -> Self {
        let (beat, now) = (Duration::from_secs(state.config.load().server.heartbeat_s), Instant::now());
        Self { socket, outbox, beat, last_sign: now, next_beat: now + beat }
    }

    /// Waits for the next message. Meanwhile it sends queued frames and heartbeats. `None` when the socket is closed.
    pub(crate) async fn next(&mut self) -> Option<SocketMessage> {
        loop {
            tokio::select! {
                frame = self.outbox.next() => self.write_frame(frame).await?,
                message = self.socket.recv() => {
                    self.last_sign = Instant::now();
                    match message? {
                        Ok(Message::Text(text)) => return Some(SocketMessage::Text(text.as_str().to_owned())),
                        Ok(Message::Binary(bytes)) => return Some(SocketMessage::Binary(bytes)),
                        Ok(Message::Pong(_)) => return Some(SocketMessage::Pong),
                        Ok(Message::Ping(_)) => {}
                        Ok(Message::Close(_)) | Err(_) => return None,
                    }
                }
                () = tokio::time::sleep_until(self.next_beat) => {
                    if self.last_sign.elapsed() > self.beat * MISSED_BEATS {
                        return None;
                    }
                    self.next_beat = Instant::now() + self.beat;
                    self.send_message(Message::Ping(Bytes::new())).await?;
                }
            }
        }
    }

    /// Closes the socket with a code, after one last message.
    pub(crate) async fn close_after(mut self, message: Option<String>, code: u16, reason: &'static str) {
        if let Some(message) = message
            && self.send_message(Message::Text(message.into())).await.is_none()
        {
            return;
        }
        self.write_frame(SocketFrame::Close { code, reason }).await;
    }

    /// Closes the socket with a code, after sending the queue.
    pub(crate) async fn flush_and_close(mut self, code: u16, reason: &'static str) {
        while let Some(frame) = self.outbox.next().now_or_never() {
            if self.write_frame(frame).await.is_none() {
                return;
            }
        }
        self.write_frame(SocketFrame::Close { code, reason }).await;
    }

    async fn write_frame(&mut self, frame: SocketFrame) -> Option<()> {
        match frame {
            SocketFrame::Text(text) => self.send_message(Message::Text(text.into())).await,
            SocketFrame::Binary(bytes) => self.send_message(Message::Binary(bytes)).await,
            SocketFrame::Ping => self.send_message(Message::Ping(Bytes::new())).await,
            SocketFrame::Close { code, reason } => {
                self.send_message(Message::Close(Some(CloseFrame { code, reason: reason.into() }))).await?;
                // Wait for the peer's own close frame, but not forever.
                let _ =
                    timeout(GOODBYE_TIMEOUT, async { while let Some(Ok(_)) = self.socket.recv().await {} })
                        .await;
                None
            }
        }
    }

    async fn send_message(&mut self, message: Message) -> Option<()> {
        timeout(WRITE_TIMEOUT, self.socket.send(message)).await.ok()?.ok()
    }
}
