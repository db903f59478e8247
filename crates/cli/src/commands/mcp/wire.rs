//! The server side of the bridge: connecting, and writing to the socket.

use std::{future::Future, time::Duration};

use futures_util::{SinkExt as _, stream::SplitSink};
use tokio::{
    io::{AsyncRead, AsyncWrite},
    sync::mpsc,
    time::timeout,
};
use tokio_tungstenite::{
    WebSocketStream,
    tungstenite::{Error as SocketError, Message},
};

use crate::error::CliError;

/// Timeout for sending one message.
pub(super) const WRITE: Duration = Duration::from_secs(10);

/// Why there is no connection.
pub(super) enum StdioConnectError {
    /// A retry may succeed.
    Temporary(CliError),
    /// A retry cannot succeed.
    Permanent(CliError),
}

/// Connects to the server.
pub(super) trait ServerConnector {
    /// The transport of a connection.
    type Stream: AsyncRead + AsyncWrite + Unpin;
    /// Connects once, without retries.
    fn dial(&self) -> impl Future<Output = Result<WebSocketStream<Self::Stream>, StdioConnectError>>;
}

/// Writes the queued messages, then closes the socket. Returns why it stopped.
pub(super) async fn send_queued<S: AsyncRead + AsyncWrite + Unpin>(
    mut sink: SplitSink<WebSocketStream<S>, Message>,
    mut queue: mpsc::Receiver<Message>,
) -> String {
    while let Some(message) = queue.recv().await {
        match timeout(WRITE, sink.send(message)).await {
            Ok(Ok(())) => {}
            Ok(Err(error)) => return error.to_string(),
            Err(_) => return format!("sending timed out after {WRITE:?}"),
        }
    }
    let _ = sink.close().await;
    "closed".to_owned()
}

/// Why the connection has ended, if this message ends it.
pub(super) fn close_reason(message: Option<Result<Message, SocketError>>) -> Option<String> {
    match message {
        Some(Ok(Message::Close(frame))) => {
            let why = frame.map(|frame| format!(": {} {}", frame.code, frame.reason)).unwrap_or_default();
            Some(format!("closed by the server{why}"))
        }
        Some(Ok(_)) => None,
        Some(Err(error)) => Some(error.to_string()),
        None => Some("end of stream".to_owned()),
    }
}
