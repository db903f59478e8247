//! Opens the socket of a device, with TLS where the server's address says so.

use std::time::Duration;

use http::{HeaderMap, StatusCode, Uri, header};
use tokio::time::timeout;
use tokio_tungstenite::{
    WebSocketStream, client_async_with_config,
    tungstenite::{self, client::IntoClientRequest as _, protocol::WebSocketConfig},
};
use toolyard_net::{Guard, NetError, NotSent, OutsideUrl, Stream};
use toolyard_protocol::session::ToDevice;

use crate::{cli::Context, client::header_value, error::CliError};

/// Largest message that is taken.
const MAX_MESSAGE_BYTES: usize = 4 * 1024 * 1024;
/// How long the server may take to let us in.
const WAIT: Duration = Duration::from_secs(10);

pub(super) type Socket = WebSocketStream<Stream>;

/// Why there is no connection.
#[derive(Debug, thiserror::Error)]
pub(super) enum ConnectError {
    #[error(transparent)]
    NotReached(#[from] NetError),
    #[error("the server refused the device: {0}")]
    Refused(String),
}

/// Opens sockets.
pub(super) struct Dialer {
    net: toolyard_net::Dialer,
    server: String,
    dial: Uri,
    socket: String,
    headers: HeaderMap,
}

impl Dialer {
    pub(super) fn new(cx: &Context) -> Result<Self, CliError> {
        let bad = |error| CliError::BadServer { server: cx.server().to_owned(), error };
        // The user named this server, so it may be anywhere.
        let guard = Guard::open();
        let server = OutsideUrl::parse(cx.server(), &guard).map_err(bad)?;
        let dial = server.join("glasses-ws");
        let mut headers = HeaderMap::new();
        if let Some(token) = cx.token() {
            headers.insert(
                header::AUTHORIZATION,
                header_value("--token", &format!("Bearer {}", token.expose()))?,
            );
        }
        if let Some(user) = cx.user() {
            headers.insert("x-user-id", header_value("--user", user.as_str())?);
        }
        let socket = dial.to_string().replacen("http", "ws", 1);
        Ok(Self {
            net: toolyard_net::Dialer::new(guard, WAIT),
            server: server.to_string(),
            dial,
            socket,
            headers,
        })
    }

    /// One try.
    pub(super) async fn dial(&self) -> Result<Socket, ConnectError> {
        let late = |_| ConnectError::NotReached(NotSent::ConnectTimeout(WAIT).into());
        timeout(WAIT, self.open()).await.map_err(late)?
    }

    async fn open(&self) -> Result<Socket, ConnectError> {
        let broken = |error: tungstenite::Error| NetError::Broken { detail: error.to_string() };
        let mut request = self.socket.as_str().into_client_request().map_err(broken)?;
        request.headers_mut().extend(self.headers.clone());
        let stream = self.net.dial(&self.dial).await?;
        let config = WebSocketConfig::default()
            .max_message_size(Some(MAX_MESSAGE_BYTES))
            .max_frame_size(Some(MAX_MESSAGE_BYTES));
        match client_async_with_config(request, stream, Some(config)).await {
            Ok((socket, _)) => Ok(socket),
            Err(tungstenite::Error::Http(answer)) => Err(refused(answer.status(), answer.body().as_deref())),
            Err(error) => Err(broken(error).into()),
        }
    }

    /// The error as everybody tells it.
    pub(super) fn told(&self, error: ConnectError) -> CliError {
        let server = self.server.clone();
        match error {
            ConnectError::Refused(why) => CliError::DeviceRefused(why),
            ConnectError::NotReached(error @ NetError::NotSent(_)) => CliError::Unreachable { server, error },
            ConnectError::NotReached(error) => CliError::NoAnswer { server, error },
        }
    }
}

/// The server says why in the words of the socket.
fn refused(status: StatusCode, body: Option<&[u8]>) -> ConnectError {
    let said = body.and_then(|body| ToDevice::read(std::str::from_utf8(body).ok()?).ok());
    ConnectError::Refused(match said {
        Some(ToDevice::ConnectionError(refusal) | ToDevice::AuthError(refusal)) => refusal.message,
        _ => format!("it answered {status}"),
    })
}
