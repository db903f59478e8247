//! Makes a connection: dial, first message, acknowledgement, all within one bound. A connection that is too late is
//! dropped here, so that it cannot haunt the platform as a session that nobody knows.

use std::{sync::Arc, time::Duration};

use futures_util::{SinkExt, StreamExt};
use http::Uri;
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder, MaybeHttpsStream};
use hyper_util::{client::legacy::connect::HttpConnector, rt::TokioIo};
use tokio::{net::TcpStream, time::timeout};
use tokio_tungstenite::{
    WebSocketStream, client_async_with_config,
    tungstenite::{Message, protocol::CloseFrame, protocol::WebSocketConfig},
};
use toolyard_protocol::{
    secret::Secret,
    session::{Sender, ToApp, app_messages::ConnectionAck, iso_millis},
};
use tower_service::Service;

use super::{init, platform::Target};
use crate::{clock::Clock, limits::MAX_MESSAGE_BYTES};

/// Bytes that a socket reads at once. Sessions are many and their messages small.
const READ_BUFFER: usize = 8 * 1024;

pub(super) type Socket = WebSocketStream<TokioIo<MaybeHttpsStream<TokioIo<TcpStream>>>>;

/// Why there is no connection.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum ConnectError {
    #[error("{url} cannot be reached: {detail}")]
    NotReached { url: String, detail: String },
    #[error("the platform refused the connection: {0}")]
    Refused(String),
    #[error("the connection broke before the platform acknowledged it")]
    Broken,
    #[error("the platform did not acknowledge the connection within {0:?}")]
    TooLate(Duration),
}

/// Opens sockets, with TLS where the URL says so.
#[derive(Debug, Clone)]
pub(crate) struct Dialer(HttpsConnector<HttpConnector>);

impl Dialer {
    pub(crate) fn new() -> Self {
        let mut tcp = HttpConnector::new();
        tcp.enforce_http(false);
        tcp.set_nodelay(true);
        // Named here and not left to rustls: it panics as soon as another crate brings a second provider.
        let provider = rustls::crypto::aws_lc_rs::default_provider();
        #[expect(
            clippy::expect_used,
            reason = "fails only for a provider without TLS 1.2 and 1.3; ours is fixed"
        )]
        let tls = HttpsConnectorBuilder::new()
            .with_provider_and_webpki_roots(provider)
            .expect("aws-lc-rs speaks TLS 1.2 and 1.3")
            .https_or_http()
            .enable_http1()
            .wrap_connector(tcp);
        Self(tls)
    }

    async fn dial(&self, target: &Target) -> Result<Socket, ConnectError> {
        let url = target.socket.as_str();
        let unreached = |detail: String| ConnectError::NotReached { url: url.to_owned(), detail };
        let uri: Uri =
            url.replacen("ws", "http", 1).parse().map_err(|error| unreached(format!("{error}")))?;
        let stream = self.0.clone().call(uri).await.map_err(|error| unreached(chain(&*error)))?;
        let config = WebSocketConfig::default()
            .read_buffer_size(READ_BUFFER)
            .write_buffer_size(0)
            .max_message_size(Some(MAX_MESSAGE_BYTES))
            .max_frame_size(Some(MAX_MESSAGE_BYTES));
        let socket = client_async_with_config(url, TokioIo::new(stream), Some(config)).await;
        socket.map(|(socket, _)| socket).map_err(|error| unreached(error.to_string()))
    }
}

/// Everything that is needed to connect, and to connect again.
pub(super) struct Link {
    pub(super) dialer: Dialer,
    pub(super) target: Target,
    pub(super) sender: Sender,
    pub(super) api_key: Secret,
    pub(super) clock: Arc<dyn Clock>,
    pub(super) wait: Duration,
}

impl Link {
    /// An acknowledged connection.
    pub(super) async fn connect(&self) -> Result<(Socket, ConnectionAck), ConnectError> {
        let connected = timeout(self.wait, async {
            let mut socket = self.dialer.dial(&self.target).await?;
            let init = init(&self.sender, &self.api_key, iso_millis(self.clock.now()));
            socket.send(Message::text(init)).await.map_err(|_| ConnectError::Broken)?;
            let ack = acknowledged(&mut socket).await?;
            Ok((socket, ack))
        });
        connected.await.unwrap_or(Err(ConnectError::TooLate(self.wait)))
    }
}

async fn acknowledged(socket: &mut Socket) -> Result<ConnectionAck, ConnectError> {
    while let Some(message) = socket.next().await {
        let text = match message {
            Ok(Message::Text(text)) => text,
            Ok(Message::Close(Some(CloseFrame { code, reason }))) => {
                return Err(ConnectError::Refused(format!("closed with {} {reason}", u16::from(code))));
            }
            Ok(Message::Close(None)) | Err(_) => return Err(ConnectError::Broken),
            Ok(Message::Binary(_) | Message::Ping(_) | Message::Pong(_) | Message::Frame(_)) => continue,
        };
        match ToApp::read(&text) {
            Ok(ToApp::ConnectionAck(ack)) => return Ok(*ack),
            Ok(ToApp::ConnectionError(error)) => {
                let code = error.code.map(|code| format!("{code}: ")).unwrap_or_default();
                return Err(ConnectError::Refused(format!("{code}{}", error.message)));
            }
            Ok(_) => {}
            Err(error) => tracing::warn!(%error, "a message of the platform cannot be read"),
        }
    }
    Err(ConnectError::Broken)
}

fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut next = error.source();
    while let Some(cause) = next {
        text = format!("{text}: {cause}");
        next = cause.source();
    }
    text
}
