//! Decides which server a session may connect to. The URL in a webhook is untrusted, and the first message contains the API key,
//! so the URL must lead to the configured server.

use toolyard_net::{Guard, OutsideUrl, UrlRefused};
use url::{Host, Url};

/// The server that an app belongs to.
#[derive(Debug, Clone)]
pub(crate) struct PlatformServer {
    configured: Option<(OutsideUrl, Url)>,
}

/// Where a session connects.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SocketTarget {
    /// `ws(s)://…/app-ws`
    pub(crate) socket: Url,
    /// The same server for HTTP, without a slash at the end.
    pub(crate) http: String,
}

/// Why a session does not connect to a URL.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum DialRefused {
    #[error("`{0}` is not a WebSocket URL; expected something like wss://example.com/app-ws")]
    NotASocket(String),
    #[error("this app belongs to {configured} and does not connect to {asked}; check its configured server")]
    Foreign { configured: String, asked: String },
    #[error(
        "this app has no configured server, so it connects only to this machine, not to {0}; configure its server"
    )]
    NoServer(String),
}

impl PlatformServer {
    pub(crate) fn new(server: Option<&str>) -> Result<Self, UrlRefused> {
        let Some(server) = server else { return Ok(Self { configured: None }) };
        // The operator of the app configured this server, so any address is allowed.
        let outside = OutsideUrl::parse(server, &Guard::unrestricted())?;
        let url = Url::parse(server).map_err(|error| UrlRefused::Malformed(error.to_string()))?;
        Ok(Self { configured: Some((outside, url)) })
    }

    /// The server, for requests of the app itself.
    pub(crate) fn server(&self) -> Option<&OutsideUrl> {
        self.configured.as_ref().map(|(outside, _)| outside)
    }

    /// Checks whether a session may connect to this URL.
    pub(crate) fn check_target(&self, asked: &str) -> Result<SocketTarget, DialRefused> {
        let shown = || asked.chars().take(200).collect::<String>();
        let socket =
            Url::parse(asked).ok().filter(|url| matches!(url.scheme(), "ws" | "wss") && url.has_host());
        let socket = socket.ok_or_else(|| DialRefused::NotASocket(shown()))?;
        match &self.configured {
            Some((_, server)) if is_same(server, &socket) => {}
            Some((server, _)) => {
                return Err(DialRefused::Foreign { configured: server.to_string(), asked: shown() });
            }
            None if is_loopback(&socket) => {}
            None => return Err(DialRefused::NoServer(shown())),
        }
        let http = socket.as_str().replacen("ws", "http", 1);
        let http = http.split(['?', '#']).next().unwrap_or_default().trim_end_matches("/app-ws");
        Ok(SocketTarget { http: http.trim_end_matches('/').to_owned(), socket })
    }
}

/// Whether both have the same host and port, and the socket is not less secure. All loopback names count as the same host.
fn is_same(server: &Url, socket: &Url) -> bool {
    let host = server.host() == socket.host() || (is_loopback(server) && is_loopback(socket));
    let protected = server.scheme() != "https" || socket.scheme() == "wss";
    host && protected && server.port_or_known_default() == socket.port_or_known_default()
}

fn is_loopback(url: &Url) -> bool {
    match url.host() {
        Some(Host::Ipv4(address)) => address.is_loopback(),
        Some(Host::Ipv6(address)) => address.is_loopback(),
        Some(Host::Domain(name)) => name == "localhost",
        None => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn allows(server: Option<&str>, asked: &str) -> bool {
        PlatformServer::new(server).unwrap().check_target(asked).is_ok()
    }

    #[test]
    fn only_the_configured_server_is_dialed() {
        let local = Some("http://127.0.0.1:8787");
        for asked in ["ws://127.0.0.1:8787/app-ws", "ws://localhost:8787/app-ws", "ws://[::1]:8787/x"] {
            assert!(allows(local, asked), "{asked}");
        }
        for asked in [
            "ws://127.0.0.1:8788/app-ws",
            "ws://evil.example:8787/app-ws",
            "ws://127.0.0.1:8787@evil.example/app-ws",
            "ws://localhost.evil.example:8787/app-ws",
            "http://127.0.0.1:8787/app-ws",
            "file:///etc/passwd",
            "",
        ] {
            assert!(!allows(local, asked), "{asked}");
        }
    }

    #[test]
    fn default_ports_and_protection_count() {
        let public = Some("https://Cloud.example/");
        assert!(allows(public, "wss://cloud.example/app-ws"));
        assert!(allows(public, "wss://cloud.example:443/app-ws"));
        assert!(!allows(public, "ws://cloud.example:443/app-ws"));
        assert!(!allows(public, "ws://cloud.example/app-ws"));
        assert!(allows(Some("http://cloud.example"), "ws://cloud.example:80/app-ws"));
    }

    #[test]
    fn without_a_server_only_this_machine_is_dialed() {
        assert!(allows(None, "ws://127.0.0.1:9/app-ws"));
        assert!(!allows(None, "wss://cloud.example/app-ws"));
    }

    #[test]
    fn http_goes_where_the_socket_goes() {
        let http =
            |server, asked| PlatformServer::new(Some(server)).unwrap().check_target(asked).unwrap().http;
        assert_eq!(http("http://127.0.0.1:8787", "ws://127.0.0.1:8787/app-ws"), "http://127.0.0.1:8787");
        assert_eq!(http("https://a.example", "wss://a.example/x/app-ws?k=1"), "https://a.example/x");
    }

    #[test]
    fn the_refusal_says_what_to_do() {
        let refusal =
            |server, asked| PlatformServer::new(server).unwrap().check_target(asked).unwrap_err().to_string();
        let foreign = refusal(Some("http://127.0.0.1:8787/"), "ws://evil.example/app-ws");
        assert!(foreign.contains("belongs to http://127.0.0.1:8787 and"), "{foreign}");
        assert!(refusal(None, "ws://evil.example/app-ws").contains("configure its server"));
    }
}
