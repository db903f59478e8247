//! Opens a raw stream, for WebSockets: the same guard and TLS as for requests, without HTTP.

use std::fmt;
use std::time::Duration;

use http::Uri;
use hyper_rustls::MaybeHttpsStream;
use hyper_util::rt::TokioIo;
use tower_service::Service;

use crate::connect::GuardedConnector;
use crate::error::NetError;
use crate::guard::Guard;
use crate::outside_url::UrlRefused;
use crate::tcp::GuardedTcpStream;

/// An open connection, with TLS if the URL requires it.
pub type DialedStream = TokioIo<MaybeHttpsStream<GuardedTcpStream>>;

/// Opens connections to what the guard allows.
#[derive(Clone)]
pub struct GuardedDialer(GuardedConnector);

impl GuardedDialer {
    /// A dialer; the timeout covers DNS, TCP and TLS together.
    pub fn new(guard: Guard, time_limit: Duration) -> Self {
        Self(GuardedConnector::new(guard, time_limit))
    }

    /// Connects to a `ws`, `wss`, `http` or `https` URL.
    pub async fn dial(&self, url: &Uri) -> Result<DialedStream, NetError> {
        let refused = || UrlRefused::Malformed(url.to_string());
        let mut parts = url.clone().into_parts();
        let secure = matches!(url.scheme_str(), Some("wss" | "https"));
        if matches!(url.scheme_str(), Some("ws" | "wss")) {
            parts.scheme = Some(if secure { http::uri::Scheme::HTTPS } else { http::uri::Scheme::HTTP });
        }
        let url = Uri::from_parts(parts).map_err(|_| refused())?;
        let stream = self.0.clone().call(url).await?;
        Ok(TokioIo::new(stream))
    }
}

impl fmt::Debug for GuardedDialer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("GuardedDialer").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    use tokio::net::TcpListener;

    use super::*;

    #[tokio::test]
    async fn a_socket_url_is_dialed_by_the_rules_of_the_guard() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url: Uri = format!("ws://{}/app-ws", listener.local_addr().unwrap()).parse().unwrap();
        let limit = Duration::from_secs(5);
        assert!(matches!(
            GuardedDialer::new(Guard::strict(), limit).dial(&url).await,
            Err(NetError::Refused(_))
        ));
        let mut stream = GuardedDialer::new(Guard::dev(), limit).dial(&url).await.unwrap();
        let (mut peer, _) = listener.accept().await.unwrap();
        stream.write_all(b"hi").await.unwrap();
        let mut heard = [0; 2];
        peer.read_exact(&mut heard).await.unwrap();
        assert_eq!(&heard, b"hi");
    }

    #[tokio::test]
    async fn other_schemes_are_refused() {
        let dialer = GuardedDialer::new(Guard::unrestricted(), Duration::from_secs(5));
        let refused = dialer.dial(&"ftp://127.0.0.1/".parse().unwrap()).await;
        assert!(matches!(refused, Err(NetError::Refused(UrlRefused::Scheme(_)))));
    }
}
