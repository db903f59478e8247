//! The server's side of the bridge: how to get there, and what goes over the socket.

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

/// How long one message may take to go out.
pub(super) const WRITE: Duration = Duration::from_secs(10);

/// Why there is no connection.
pub(super) enum StdioConnectError {
    /// It may be there later.
    Temporary(CliError),
    /// It will not.
    Permanent(CliError),
}

/// Where the server is.
pub(super) trait ServerConnector {
    /// What a connection runs over.
    type Stream: AsyncRead + AsyncWrite + Unpin;
    /// One try.
    fn dial(&self) -> impl Future<Output = Result<WebSocketStream<Self::Stream>, StdioConnectError>>;
}

/// Writes what is queued, then says goodbye. Returns why it cannot go on.
pub(super) async fn send_queued<S: AsyncRead + AsyncWrite + Unpin>(
    mut sink: SplitSink<WebSocketStream<S>, Message>,
    mut queue: mpsc::Receiver<Message>,
) -> String {
    while let Some(message) = queue.recv().await {
        match timeout(WRITE, sink.send(message)).await {
            Ok(Ok(())) => {}
            Ok(Err(error)) => return error.to_string(),
            Err(_) => return format!("nothing could be sent for {WRITE:?}"),
        }
    }
    let _ = sink.close().await;
    "it was closed".to_owned()
}

/// Why a connection is over, if this ends it.
pub(super) fn close_reason(message: Option<Result<Message, SocketError>>) -> Option<String> {
    match message {
        Some(Ok(Message::Close(frame))) => {
            let why = frame.map(|frame| format!(": {} {}", frame.code, frame.reason)).unwrap_or_default();
            Some(format!("the server closed it{why}"))
        }
        Some(Ok(_)) => None,
        Some(Err(error)) => Some(error.to_string()),
        None => Some("it ended".to_owned()),
    }
}
