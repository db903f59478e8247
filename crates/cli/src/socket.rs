//! Opens WebSockets to the server, with TLS if its URL is https.

use std::time::Duration;

use http::{HeaderMap, HeaderValue, StatusCode, Uri, header};
use tokio::time::timeout;
use tokio_tungstenite::{
    WebSocketStream, client_async_with_config,
    tungstenite::{self, client::IntoClientRequest as _, protocol::WebSocketConfig},
};
use toolyard_net::{DialedStream, Guard, NetError, NotSent, OutsideUrl};

use crate::{cli::CommandContext, client::header_value, error::CliError};

/// Timeout for connecting, including the WebSocket handshake.
const WAIT: Duration = Duration::from_secs(10);

pub(crate) type ServerSocket = WebSocketStream<DialedStream>;

/// Why there is no connection.
#[derive(Debug, thiserror::Error)]
pub(crate) enum DialError {
    #[error(transparent)]
    NotReached(#[from] NetError),
    #[error("the server answered {status}")]
    Refused { status: StatusCode, body: Vec<u8> },
}

/// A WebSocket endpoint of the server.
pub(crate) struct SocketEndpoint {
    /// Its path below the server's URL.
    pub(crate) path: &'static str,
    /// The subprotocol, if it has one.
    pub(crate) protocol: Option<&'static str>,
    /// Largest message that is accepted, in bytes.
    pub(crate) max_message: usize,
}

/// Opens sockets.
pub(crate) struct ServerDialer {
    net: toolyard_net::GuardedDialer,
    server: String,
    dial: Uri,
    socket: String,
    headers: HeaderMap,
    max_message: usize,
}

impl ServerDialer {
    pub(crate) fn new(cx: &CommandContext, door: &SocketEndpoint) -> Result<Self, CliError> {
        let server = cx.server_url()?;
        let bad = |error| CliError::BadServer { server: server.to_owned(), error };
        // The user chose this server, so any address is allowed.
        let guard = Guard::unrestricted();
        let server = OutsideUrl::parse(server, &guard).map_err(bad)?;
        let dial = server.join(door.path);
        let mut headers = HeaderMap::new();
        if let Some(token) = cx.token()? {
            let mut value = header_value("--token", &format!("Bearer {}", token.expose()))?;
            value.set_sensitive(true);
            headers.insert(header::AUTHORIZATION, value);
        }
        if let Some(user) = cx.user() {
            headers.insert("x-user-id", header_value("--user", user.as_str())?);
        }
        if let Some(protocol) = door.protocol {
            headers.insert(header::SEC_WEBSOCKET_PROTOCOL, HeaderValue::from_static(protocol));
        }
        let socket = dial.to_string().replacen("http", "ws", 1);
        Ok(Self {
            net: toolyard_net::GuardedDialer::new(guard, WAIT),
            server: server.to_string(),
            dial,
            socket,
            headers,
            max_message: door.max_message,
        })
    }

    /// Connects once, without retries.
    pub(crate) async fn dial(&self) -> Result<ServerSocket, DialError> {
        let late = |_| DialError::NotReached(NotSent::ConnectTimeout(WAIT).into());
        timeout(WAIT, self.open_socket()).await.map_err(late)?
    }

    async fn open_socket(&self) -> Result<ServerSocket, DialError> {
        let broken = |error: tungstenite::Error| NetError::Broken { detail: error.to_string() };
        let mut request = self.socket.as_str().into_client_request().map_err(broken)?;
        request.headers_mut().extend(self.headers.clone());
        let stream = self.net.dial(&self.dial).await?;
        let config = WebSocketConfig::default()
            .max_message_size(Some(self.max_message))
            .max_frame_size(Some(self.max_message));
        match client_async_with_config(request, stream, Some(config)).await {
            Ok((socket, _)) => Ok(socket),
            Err(tungstenite::Error::Http(answer)) => Err(DialError::Refused {
                status: answer.status(),
                body: answer.body().clone().unwrap_or_default(),
            }),
            Err(error) => Err(broken(error).into()),
        }
    }

    /// The error for a server that could not be reached.
    pub(crate) fn connection_error(&self, error: NetError) -> CliError {
        let server = self.server.clone();
        match error {
            error @ NetError::NotSent(_) => CliError::Unreachable { server, error },
            error => CliError::NoResponse { server, error },
        }
    }
}
