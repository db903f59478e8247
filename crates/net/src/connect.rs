//! Opens connections. A name is resolved once, each address is checked, and exactly a checked address is dialed, so that a name
//! server cannot show the guard one address and the socket another. TLS comes on top. Proxies are not supported.

use std::future::Future;
use std::net::{IpAddr, SocketAddr};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use http::Uri;
use http::uri::Scheme;
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder, MaybeHttpsStream};
use tokio::net::{TcpStream, lookup_host};
use tokio::time::timeout;
use tower_service::Service;

use crate::error::{NotSent, error_chain};
use crate::guard::Guard;
use crate::outside_url::{UrlRefused, check_address};
use crate::tcp::GuardedTcpStream;

/// How many addresses of a name are tried; a name server may return any number.
const MAX_ADDRESSES: usize = 8;

/// Why connecting failed.
#[derive(Debug, Clone, thiserror::Error)]
pub(crate) enum DialFailure {
    #[error(transparent)]
    Refused(#[from] UrlRefused),
    #[error(transparent)]
    NotSent(#[from] NotSent),
}

type ConnectFuture<T> = Pin<Box<dyn Future<Output = Result<T, DialFailure>> + Send>>;

/// Opens connections for the client: TCP to a checked address, then TLS if the URL requires it, all within one timeout.
/// The client clones it for every request, hence the `Arc`.
#[derive(Clone)]
pub(crate) struct GuardedConnector(Arc<ConnectorParts>);

struct ConnectorParts {
    tls: HttpsConnector<TcpDialer>,
    time_limit: Duration,
}

/// For tests: the address of one host, and the TLS configuration that trusts it.
#[cfg(feature = "testing")]
pub(crate) struct HostOverride {
    pub(crate) host: String,
    pub(crate) address: SocketAddr,
    pub(crate) tls: rustls::ClientConfig,
}

impl GuardedConnector {
    pub(crate) fn new(guard: Guard, time_limit: Duration) -> Self {
        // Set explicitly: rustls panics if another crate brings a second provider.
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
            .wrap_connector(TcpDialer { guard, time_limit, host_override: None });
        Self(Arc::new(ConnectorParts { tls, time_limit }))
    }

    #[cfg(feature = "testing")]
    pub(crate) fn with_override(guard: Guard, time_limit: Duration, there: HostOverride) -> Self {
        let tls = HttpsConnectorBuilder::new()
            .with_tls_config(there.tls)
            .https_or_http()
            .enable_http1()
            .wrap_connector(TcpDialer {
                guard,
                time_limit,
                host_override: Some((there.host, there.address)),
            });
        Self(Arc::new(ConnectorParts { tls, time_limit }))
    }
}

impl Service<Uri> for GuardedConnector {
    type Response = MaybeHttpsStream<GuardedTcpStream>;
    type Error = DialFailure;
    type Future = ConnectFuture<Self::Response>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, uri: Uri) -> Self::Future {
        if let Some(scheme) = uri.scheme_str().filter(|scheme| !matches!(*scheme, "http" | "https")) {
            let refused = UrlRefused::Scheme(scheme.to_owned());
            return Box::pin(async move { Err(refused.into()) });
        }
        let time_limit = self.0.time_limit;
        let connecting = self.0.tls.clone().call(uri);
        Box::pin(async move {
            match timeout(time_limit, connecting).await {
                Ok(Ok(stream)) => Ok(stream),
                // Other errors come from the TLS layer.
                Ok(Err(error)) => Err(error
                    .downcast::<DialFailure>()
                    .map_or_else(|error| NotSent::Tls { detail: error_chain(&*error) }.into(), |own| *own)),
                Err(_) => Err(NotSent::ConnectTimeout(time_limit).into()),
            }
        })
    }
}

/// The TCP part: resolve, check, dial.
#[derive(Clone)]
struct TcpDialer {
    guard: Guard,
    time_limit: Duration,
    /// The address of one host, set only by tests.
    host_override: Option<(String, SocketAddr)>,
}

impl Service<Uri> for TcpDialer {
    type Response = GuardedTcpStream;
    type Error = DialFailure;
    type Future = ConnectFuture<GuardedTcpStream>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, uri: Uri) -> Self::Future {
        let Self { guard, time_limit, host_override: elsewhere } = self.clone();
        Box::pin(async move {
            let (host, port) = host_and_port(&uri)?;
            let addresses = match elsewhere.filter(|(name, _)| name == host) {
                Some((_, address)) => filter_addresses(host, std::iter::once(address), &guard)?,
                None => resolve_allowed(host, port, &guard).await?,
            };
            let stream = dial_any(host, &addresses, time_limit).await?;
            // A listener on every address also accepts on addresses of this machine that only the system knows.
            let (local, peer) = (stream.local_addr(), stream.peer_addr());
            if local.ok().zip(peer.ok()).is_some_and(|(local, peer)| guard.is_own_connection(local, peer)) {
                return Err(UrlRefused::OwnListener.into());
            }
            Ok(GuardedTcpStream::new(stream))
        })
    }
}

/// Host (without the brackets of an IPv6 address) and port.
fn host_and_port(uri: &Uri) -> Result<(&str, u16), UrlRefused> {
    let authority = uri.authority().ok_or(UrlRefused::NoHost)?;
    if authority.as_str().contains('@') {
        return Err(UrlRefused::Credentials);
    }
    let host = authority.host();
    let host = host.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')).unwrap_or(host);
    if host.is_empty() {
        return Err(UrlRefused::NoHost);
    }
    match authority.port_u16() {
        Some(0) => Err(UrlRefused::PortZero),
        Some(port) => Ok((host, port)),
        None if uri.scheme() == Some(&Scheme::HTTPS) => Ok((host, 443)),
        None => Ok((host, 80)),
    }
}

async fn resolve_allowed(host: &str, port: u16, guard: &Guard) -> Result<Vec<SocketAddr>, DialFailure> {
    if let Ok(address) = host.parse::<IpAddr>() {
        check_address(address, guard)?;
        let socket = SocketAddr::new(address, port);
        if guard.is_own_listener(socket) {
            return Err(UrlRefused::OwnListener.into());
        }
        return Ok(vec![socket]);
    }
    let found = lookup_host((host, port))
        .await
        .map_err(|error| NotSent::NameNotFound { host: host.to_owned(), detail: error.to_string() })?;
    filter_addresses(host, found, guard)
}

/// Drops the addresses that the guard rejects. If none is left, the name is rejected.
fn filter_addresses(
    host: &str,
    found: impl Iterator<Item = SocketAddr>,
    guard: &Guard,
) -> Result<Vec<SocketAddr>, DialFailure> {
    let mut refused = None;
    let mut allowed = Vec::new();
    for socket in found {
        let refusal = match guard.check_ip(socket.ip()) {
            Err(kind) => UrlRefused::Name { host: host.to_owned(), address: Some(socket.ip()), kind },
            // Rejects the whole name: it must not lead to this server at all.
            Ok(()) if guard.is_own_listener(socket) => return Err(UrlRefused::OwnListener.into()),
            Ok(()) if allowed.len() == MAX_ADDRESSES => break,
            Ok(()) => {
                allowed.push(socket);
                continue;
            }
        };
        refused.get_or_insert(refusal);
    }
    match refused {
        _ if !allowed.is_empty() => Ok(allowed),
        Some(refusal) => Err(refusal.into()),
        None => Err(NotSent::NameNotFound { host: host.to_owned(), detail: "no address".to_owned() }.into()),
    }
}

/// Tries one address after the other. Each gets a share of the time, so that a dead first address (often IPv6) does
/// not use up all of it; the last one gets the rest.
async fn dial_any(
    host: &str,
    addresses: &[SocketAddr],
    time_limit: Duration,
) -> Result<TcpStream, DialFailure> {
    let share = time_limit / u32::try_from(addresses.len().max(1)).unwrap_or(u32::MAX);
    let mut detail = String::from("no address");
    for (index, address) in addresses.iter().enumerate() {
        let is_last = index + 1 == addresses.len();
        let attempt = timeout(if is_last { Duration::MAX } else { share }, connect_tcp(*address)).await;
        detail = match attempt {
            Ok(Ok(stream)) => return Ok(stream),
            Ok(Err(error)) => error.to_string(),
            Err(_) => format!("no response within {share:?}"),
        };
    }
    Err(NotSent::NoConnection { host: host.to_owned(), detail }.into())
}

#[expect(
    clippy::disallowed_methods,
    reason = "the one place that dials, after the guard has judged the address"
)]
async fn connect_tcp(address: SocketAddr) -> std::io::Result<TcpStream> {
    let stream = TcpStream::connect(address).await?;
    // Requests are small and written at once; delaying them only costs time.
    stream.set_nodelay(true)?;
    Ok(stream)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::address::AddressKind;

    fn sockets(addresses: &[&str]) -> Vec<SocketAddr> {
        addresses.iter().map(|address| SocketAddr::new(address.parse().unwrap(), 80)).collect()
    }

    fn judged(addresses: &[&str]) -> Result<Vec<SocketAddr>, DialFailure> {
        filter_addresses("a.example", sockets(addresses).into_iter(), &Guard::strict())
    }

    #[test]
    fn refused_addresses_are_left_out() {
        let allowed = judged(&["10.0.0.1", "8.8.8.8", "::1", "2606:4700::1111"]).unwrap();
        assert_eq!(allowed, sockets(&["8.8.8.8", "2606:4700::1111"]));
    }

    #[test]
    fn a_name_with_only_refused_addresses_is_refused_and_not_missing() {
        let Err(DialFailure::Refused(refused)) = judged(&["10.0.0.1", "127.0.0.1"]) else {
            panic!("must be refused")
        };
        let address = Some("10.0.0.1".parse().unwrap());
        assert_eq!(
            refused,
            UrlRefused::Name { host: "a.example".into(), address, kind: AddressKind::Private }
        );
        assert!(!refused.to_string().contains("10.0.0.1"), "inner addresses stay inside: {refused}");
    }

    #[test]
    fn a_name_without_address_is_not_found() {
        assert!(matches!(judged(&[]), Err(DialFailure::NotSent(NotSent::NameNotFound { .. }))));
    }

    #[test]
    fn only_the_first_addresses_are_tried() {
        let many = vec!["8.8.8.8"; MAX_ADDRESSES + 1];
        assert_eq!(judged(&many).unwrap().len(), MAX_ADDRESSES);
    }

    #[test]
    fn host_and_port_come_from_the_uri() {
        for (uri, host, port) in [
            ("http://example.com/x", "example.com", 80),
            ("https://example.com/x", "example.com", 443),
            ("https://example.com:8443/x", "example.com", 8443),
            ("http://[::1]:81/", "::1", 81),
        ] {
            assert_eq!(host_and_port(&uri.parse().unwrap()), Ok((host, port)), "{uri}");
        }
        for (uri, refused) in [
            ("/x", UrlRefused::NoHost),
            ("http://ada:secret@example.com/", UrlRefused::Credentials),
            ("http://example.com:0/", UrlRefused::PortZero),
        ] {
            assert_eq!(host_and_port(&uri.parse().unwrap()), Err(refused), "{uri}");
        }
    }

    #[tokio::test]
    async fn a_number_that_is_an_address_in_disguise_is_judged_after_resolution() {
        for host in ["2130706433", "0x7f.1", "127.1"] {
            let judged = resolve_allowed(host, 80, &Guard::strict()).await;
            assert!(
                matches!(judged, Err(DialFailure::Refused(_) | DialFailure::NotSent(_))),
                "{host}: {judged:?}"
            );
        }
    }

    #[tokio::test]
    async fn the_own_listener_is_never_called() {
        for bound in ["127.0.0.1:0", "0.0.0.0:0"] {
            let listener = tokio::net::TcpListener::bind(bound).await.unwrap();
            let own = listener.local_addr().unwrap();
            let policy = crate::GuardPolicy { own_listener: Some(own), ..open_policy() };
            let guard = Guard::new(policy);
            let mut dialer =
                TcpDialer { guard: guard.clone(), time_limit: Duration::from_secs(5), host_override: None };
            for host in ["127.0.0.1", "localhost", "0.0.0.0", "[::ffff:127.0.0.1]", "[::]"] {
                let url = format!("http://{host}:{}/", own.port());
                let outcome = dialer.call(url.parse().unwrap()).await.map(|_| ());
                assert!(
                    matches!(outcome, Err(DialFailure::Refused(UrlRefused::OwnListener))),
                    "{url}: {outcome:?}"
                );
                let parsed = crate::OutsideUrl::parse(&url, &guard);
                assert_eq!(parsed, Err(UrlRefused::OwnListener), "{url}");
            }
            let other = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
            let url = format!("http://{}/", other.local_addr().unwrap());
            assert!(
                dialer.call(url.parse().unwrap()).await.is_ok(),
                "other programs of this machine are called"
            );
        }
    }

    fn open_policy() -> crate::GuardPolicy {
        crate::GuardPolicy {
            also: vec![crate::IpRange::ALL_V4, crate::IpRange::ALL_V6],
            ..Default::default()
        }
    }

    #[tokio::test]
    async fn the_next_address_is_tried_when_one_does_not_answer() {
        let bind = || async { tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap() };
        let (gone, open) = (bind().await, bind().await);
        let addresses = [gone.local_addr().unwrap(), open.local_addr().unwrap()];
        drop(gone);
        let limit = Duration::from_secs(5);
        assert!(dial_any("a.example", &addresses, limit).await.is_ok());
        let outcome = dial_any("a.example", &addresses[..1], limit).await.map(|_| ());
        assert!(matches!(outcome, Err(DialFailure::NotSent(NotSent::NoConnection { .. }))), "{outcome:?}");
    }
}
