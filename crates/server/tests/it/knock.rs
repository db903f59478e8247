//! Opens sockets that may be refused.

use tokio::net::TcpStream;
use tokio_tungstenite::{
    MaybeTlsStream, WebSocketStream,
    tungstenite::{Error, client::IntoClientRequest as _, http::HeaderName},
};

use crate::platform::Platform;

pub(crate) type Socket = WebSocketStream<MaybeTlsStream<TcpStream>>;

/// A socket, or the status and the text with which it is refused.
pub(crate) async fn knock(
    p: &Platform,
    path: &str,
    headers: &[(&str, &str)],
) -> Result<Socket, (u16, String)> {
    let mut request = (p.url.replace("http", "ws") + path).into_client_request().unwrap();
    for (name, value) in headers {
        request.headers_mut().insert(name.parse::<HeaderName>().unwrap(), value.parse().unwrap());
    }
    match tokio_tungstenite::connect_async(request).await {
        Ok((socket, _)) => Ok(socket),
        Err(Error::Http(refused)) => {
            let text = refused.body().clone().unwrap_or_default();
            Err((refused.status().as_u16(), String::from_utf8(text).unwrap()))
        }
        Err(error) => panic!("neither a socket nor an answer: {error}"),
    }
}
