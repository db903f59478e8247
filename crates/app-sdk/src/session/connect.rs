//! Opens a connection: dial, first message, acknowledgement, all within one timeout. A connection that takes too long is dropped
//! here, so that the platform is not left with a session that the app does not know.

use std::{sync::Arc, time::Duration};

use futures_util::{SinkExt, StreamExt};
use http::Uri;
use tokio::time::timeout;
use tokio_tungstenite::{
    WebSocketStream, client_async_with_config,
    tungstenite::{Message, protocol::CloseFrame, protocol::WebSocketConfig},
};
use toolyard_net::{DialedStream, Guard};
use toolyard_protocol::{
    secret::SecretText,
    session::{AppSender, ToApp, app_messages::ConnectionAck, iso_millis},
};

use super::{init_message, platform::SocketTarget};
use crate::{clock::Clock, limits::MAX_MESSAGE_BYTES};

/// Bytes that a socket reads at once. There are many sessions, and their messages are small.
const READ_BUFFER: usize = 8 * 1024;

/// Timeout for opening a connection. The timeout of the whole start is configured separately.
const DIAL_LIMIT: Duration = Duration::from_secs(10);

pub(super) type SessionSocket = WebSocketStream<DialedStream>;

/// Why a connection could not be opened.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum SocketConnectError {
    #[error("{url} cannot be reached: {detail}")]
    NotReached { url: String, detail: String },
    #[error("the platform refused the connection: {0}")]
    Refused(String),
    #[error("the connection broke before the platform acknowledged it")]
    Broken,
    #[error("the platform did not acknowledge the connection within {0:?}")]
    TooLate(Duration),
}

/// Opens sockets. The URL was checked before: it leads to the configured server.
#[derive(Debug, Clone)]
pub(crate) struct AppSocketDialer(toolyard_net::GuardedDialer);

impl AppSocketDialer {
    pub(crate) fn new() -> Self {
        Self(toolyard_net::GuardedDialer::new(Guard::unrestricted(), DIAL_LIMIT))
    }

    async fn dial(&self, target: &SocketTarget) -> Result<SessionSocket, SocketConnectError> {
        let url = target.socket.as_str();
        let unreached = |detail: String| SocketConnectError::NotReached { url: url.to_owned(), detail };
        let uri: Uri = url.parse().map_err(|error| unreached(format!("{error}")))?;
        let stream = self.0.dial(&uri).await.map_err(|error| unreached(error.to_string()))?;
        let config = WebSocketConfig::default()
            .read_buffer_size(READ_BUFFER)
            .write_buffer_size(0)
            .max_message_size(Some(MAX_MESSAGE_BYTES))
            .max_frame_size(Some(MAX_MESSAGE_BYTES));
        let socket = client_async_with_config(url, stream, Some(config)).await;
        socket.map(|(socket, _)| socket).map_err(|error| unreached(error.to_string()))
    }
}

/// Everything that is needed to connect and to reconnect.
pub(super) struct SocketConnector {
    pub(super) dialer: AppSocketDialer,
    pub(super) target: SocketTarget,
    pub(super) sender: AppSender,
    pub(super) api_key: SecretText,
    pub(super) clock: Arc<dyn Clock>,
    pub(super) wait: Duration,
}

impl SocketConnector {
    /// Opens a connection and waits for the acknowledgement.
    pub(super) async fn connect(&self) -> Result<(SessionSocket, ConnectionAck), SocketConnectError> {
        let connected = timeout(self.wait, async {
            let mut socket = self.dialer.dial(&self.target).await?;
            let init = init_message(&self.sender, &self.api_key, iso_millis(self.clock.now()));
            socket.send(Message::text(init)).await.map_err(|_| SocketConnectError::Broken)?;
            let ack = wait_for_ack(&mut socket).await?;
            Ok((socket, ack))
        });
        connected.await.unwrap_or(Err(SocketConnectError::TooLate(self.wait)))
    }
}

async fn wait_for_ack(socket: &mut SessionSocket) -> Result<ConnectionAck, SocketConnectError> {
    while let Some(message) = socket.next().await {
        let text = match message {
            Ok(Message::Text(text)) => text,
            Ok(Message::Close(Some(CloseFrame { code, reason }))) => {
                return Err(SocketConnectError::Refused(format!("closed with {} {reason}", u16::from(code))));
            }
            Ok(Message::Close(None)) | Err(_) => return Err(SocketConnectError::Broken),
            Ok(Message::Binary(_) | Message::Ping(_) | Message::Pong(_) | Message::Frame(_)) => continue,
        };
        match ToApp::parse(&text) {
            Ok(ToApp::ConnectionAck(ack)) => return Ok(*ack),
            Ok(ToApp::ConnectionError(error)) => {
                let code = error.code.map(|code| format!("{code}: ")).unwrap_or_default();
                return Err(SocketConnectError::Refused(format!("{code}{}", error.message)));
            }
            Ok(_) => {}
            Err(error) => tracing::warn!(%error, "cannot parse a message from the platform"),
        }
    }
    Err(SocketConnectError::Broken)
}
