//! An external URL, checked before it is stored or called. Addresses written in it are checked here. Names are
//! resolved and checked when connecting, because their addresses can change.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use http::Uri;
use url::{Host, Url};

use crate::address::AddressKind;
use crate::guard::Guard;

/// Longest accepted URL, in bytes; browsers and proxies handle it everywhere.
pub const MAX_URL_LENGTH: usize = 2048;

/// Why a URL may not be called, and what to do about it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum UrlRefused {
    #[error("the URL is longer than {MAX_URL_LENGTH} bytes; use a shorter one")]
    TooLong,
    #[error("not a URL ({0}); write it like https://example.com/path")]
    Malformed(String),
    #[error("URLs with the scheme `{0}` are not called; write it with https:// or http://")]
    Scheme(String),
    #[error("the URL has a user name or password in it; remove them")]
    Credentials,
    #[error("the URL has no host; write it like https://example.com/path")]
    NoHost,
    #[error("port 0 cannot be called; use the port that the server listens on")]
    PortZero,
    #[error(
        "this is the address of this server itself, which it never calls; use the address of another program"
    )]
    OwnListener,
    #[error("address {address} is {kind}; the operator can allow it under [net]")]
    Address { address: IpAddr, kind: AddressKind },
    /// The message omits the address, so that this server cannot be used to look up names of an internal network.
    #[error("the name `{host}` leads to an address that is {kind}; the operator can allow it under [net]")]
    Name { host: String, address: Option<IpAddr>, kind: AddressKind },
}

/// The origin of a URL: scheme, host and port. `None` if it is not a URL with a host.
pub fn url_origin(text: &str) -> Option<String> {
    let url = Url::parse(text).ok()?;
    let port = url.port_or_known_default()?;
    Some(format!("{}://{}:{port}", url.scheme(), url.host_str()?))
}

/// Host and port of a URL for display, in ASCII, so that lookalike names are visible.
pub fn url_host(text: &str) -> Option<String> {
    let url = Url::parse(text).ok()?;
    let host = url.host_str().filter(|host| !host.is_empty())?;
    Some(url.port().map_or_else(|| host.to_owned(), |port| format!("{host}:{port}")))
}

/// A URL that passed the guard. Displayed without trailing slash and fragment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OutsideUrl {
    /// Without trailing slashes in the path.
    base: Url,
    /// As given, without fragment.
    uri: Uri,
}

impl OutsideUrl {
    /// Parses a URL and checks its form, and its address if it has one instead of a name.
    pub fn parse(text: &str, guard: &Guard) -> Result<Self, UrlRefused> {
        if text.len() > MAX_URL_LENGTH {
            return Err(UrlRefused::TooLong);
        }
        let mut base = Url::parse(text).map_err(|error| match error {
            url::ParseError::EmptyHost => UrlRefused::NoHost,
            other => UrlRefused::Malformed(other.to_string()),
        })?;
        check_form(&base)?;
        let host = base.host().ok_or(UrlRefused::NoHost)?;
        check_host(&host, guard)?;
        if names_own_listener(&host, base.port_or_known_default().unwrap_or_default(), guard) {
            return Err(UrlRefused::OwnListener);
        }

        base.set_fragment(None);
        let uri = Uri::try_from(base.as_str()).map_err(|error| UrlRefused::Malformed(error.to_string()))?;
        let path = base.path().trim_end_matches('/').to_owned();
        base.set_path(&path);
        Ok(Self { base, uri })
    }

    /// The URL as given, including a trailing slash.
    pub fn uri(&self) -> &Uri {
        &self.uri
    }

    /// The URL of an endpoint below this URL: `http://h/x/` and `tool` give `http://h/x/tool`. The query is kept.
    ///
    /// Call it once and keep the result: cloning is cheap, joining is not. A path over 60 KiB does not
    /// fit into a request; it is left out.
    pub fn join(&self, path: &str) -> Uri {
        let mut joined = self.base.clone();
        if let Ok(mut segments) = joined.path_segments_mut() {
            segments.extend(path.split('/').filter(|segment| !segment.is_empty()));
        }
        Uri::try_from(joined.as_str()).unwrap_or_else(|_| self.uri.clone())
    }
}

fn check_form(url: &Url) -> Result<(), UrlRefused> {
    if !matches!(url.scheme(), "http" | "https") {
        return Err(UrlRefused::Scheme(url.scheme().to_owned()));
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err(UrlRefused::Credentials);
    }
    if url.port() == Some(0) {
        return Err(UrlRefused::PortZero);
    }
    Ok(())
}

fn check_host(host: &Host<&str>, guard: &Guard) -> Result<(), UrlRefused> {
    match host {
        Host::Ipv4(v4) => check_address((*v4).into(), guard),
        Host::Ipv6(v6) => check_address((*v6).into(), guard),
        Host::Domain(name) if is_localhost(name) && !guard.allows_localhost() => {
            Err(UrlRefused::Name { host: (*name).to_owned(), address: None, kind: AddressKind::Loopback })
        }
        Host::Domain(_) => Ok(()),
    }
}

/// Whether the text alone shows that this server is meant. Names are checked when they are dialed.
fn names_own_listener(host: &Host<&str>, port: u16, guard: &Guard) -> bool {
    let is_own = |address: IpAddr| guard.is_own_listener(SocketAddr::new(address, port));
    match host {
        Host::Ipv4(v4) => is_own((*v4).into()),
        Host::Ipv6(v6) => is_own((*v6).into()),
        Host::Domain(name) => {
            is_localhost(name) && (is_own(Ipv4Addr::LOCALHOST.into()) || is_own(Ipv6Addr::LOCALHOST.into()))
        }
    }
}

/// Checks an address written in a URL.
pub(crate) fn check_address(address: IpAddr, guard: &Guard) -> Result<(), UrlRefused> {
    guard.check_ip(address).map_err(|kind| UrlRefused::Address { address, kind })
}

/// Whether this name always means this machine, whatever a name server returns.
pub(crate) fn is_localhost(name: &str) -> bool {
    let name = name.trim_end_matches('.');
    let top = name.rsplit_once('.').map_or(name, |(_, top)| top);
    top.eq_ignore_ascii_case("localhost")
}

impl fmt::Display for OutsideUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The path of a bare host is always `/`.
        f.write_str(self.base.as_str().trim_end_matches('/'))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::guard::GuardPolicy;

    fn strict(text: &str) -> Result<OutsideUrl, UrlRefused> {
        OutsideUrl::parse(text, &Guard::strict())
    }

    #[test]
    fn is_normalised() {
        for (text, shown) in [
            ("https://Example.COM", "https://example.com"),
            ("https://example.com/", "https://example.com"),
            ("https://example.com:443/x/", "https://example.com/x"),
            ("http://example.com:8080/x//", "http://example.com:8080/x"),
            ("https://example.com/a/../b#part", "https://example.com/b"),
            ("https://example.com/x/?k=1#part", "https://example.com/x?k=1"),
            ("https://b\u{fc}cher.example/", "https://xn--bcher-kva.example"),
            ("http://8.8.8.8/", "http://8.8.8.8"),
            ("http://134744072/", "http://8.8.8.8"),
            ("http://[2606:4700::1111]:81/x", "http://[2606:4700::1111]:81/x"),
        ] {
            assert_eq!(strict(text).unwrap().to_string(), shown, "{text}");
        }
    }

    #[test]
    fn joins_with_one_slash() {
        for (base, path, joined) in [
            ("http://example.com", "tool", "http://example.com/tool"),
            ("http://example.com/", "tool", "http://example.com/tool"),
            ("http://example.com/x", "tool", "http://example.com/x/tool"),
            ("http://example.com/x/", "tool", "http://example.com/x/tool"),
            ("http://example.com/x//", "/tool/", "http://example.com/x/tool"),
            ("http://example.com/x/", "api/apps", "http://example.com/x/api/apps"),
            ("http://example.com/x?k=1", "tool", "http://example.com/x/tool?k=1"),
            ("http://example.com/x#part", "tool", "http://example.com/x/tool"),
            ("http://example.com/x", "a b?c#d%", "http://example.com/x/a%20b%3Fc%23d%25"),
            ("http://example.com/x", "../y", "http://example.com/x/y"),
        ] {
            assert_eq!(strict(base).unwrap().join(path), joined, "{base} and {path}");
        }
    }

    #[test]
    fn leaves_out_a_path_that_no_request_can_hold() {
        let url = strict("http://example.com/x").unwrap();
        assert_eq!(url.join(&"y".repeat(70_000)), "http://example.com/x");
    }

    #[test]
    fn keeps_the_slash_for_a_call_to_the_url_itself() {
        assert_eq!(*strict("https://example.com/mcp/#part").unwrap().uri(), "https://example.com/mcp/");
        assert_eq!(*strict("https://example.com/mcp").unwrap().uri(), "https://example.com/mcp");
    }

    #[test]
    fn form_is_checked() {
        for (text, refused) in [
            ("ftp://example.com/", UrlRefused::Scheme("ftp".into())),
            ("file:///etc/passwd", UrlRefused::Scheme("file".into())),
            ("javascript:alert(1)", UrlRefused::Scheme("javascript".into())),
            ("localhost:8080/x", UrlRefused::Scheme("localhost".into())),
            ("https://ada@example.com/", UrlRefused::Credentials),
            ("https://:secret@example.com/", UrlRefused::Credentials),
            ("http://example.com@8.8.8.8/", UrlRefused::Credentials),
            ("https://", UrlRefused::NoHost),
            ("http://?x", UrlRefused::NoHost),
            ("http://example.com:0/", UrlRefused::PortZero),
        ] {
            assert_eq!(strict(text), Err(refused), "{text}");
        }
        for text in [
            "",
            "example.com/x",
            "/x",
            "http://exa mple.com",
            "http://example.com:99999/",
            "http://[::1",
            "http://a{b}/",
        ] {
            assert!(matches!(strict(text), Err(UrlRefused::Malformed(_))), "{text}");
        }
    }

    #[test]
    fn length_is_bounded() {
        let longest = format!("{:x<MAX_URL_LENGTH$}", "http://example.com/");
        assert!(strict(&longest).is_ok());
        assert_eq!(strict(&(longest + "x")), Err(UrlRefused::TooLong));
    }

    #[test]
    fn an_address_is_judged_by_what_it_means() {
        for (text, address) in [
            ("http://127.0.0.1/", "127.0.0.1"),
            ("http://127.0.0.1./", "127.0.0.1"),
            ("http://127.1/", "127.0.0.1"),
            ("http://2130706433/", "127.0.0.1"),
            ("http://0x7f.1/", "127.0.0.1"),
            ("http://0x7f000001/", "127.0.0.1"),
            ("http://0177.0.0.01/", "127.0.0.1"),
            ("http://%31%32%37.0.0.1/", "127.0.0.1"),
            ("http://\u{ff11}27.0.0.1/", "127.0.0.1"),
            ("http://127\u{3002}0.0.1/", "127.0.0.1"),
            ("http://[::1]/", "::1"),
            ("http://[0:0:0:0:0:0:0:1]:80/", "::1"),
            ("http://[::ffff:127.0.0.1]/", "::ffff:127.0.0.1"),
            ("http://[::ffff:7f00:1]/", "::ffff:127.0.0.1"),
            ("http://[64:ff9b::7f00:1]/", "64:ff9b::127.0.0.1"),
            ("http://[2002:7f00:1::]/", "2002:7f00:1::"),
        ] {
            let refused =
                UrlRefused::Address { address: address.parse().unwrap(), kind: AddressKind::Loopback };
            assert_eq!(strict(text), Err(refused), "{text}");
            assert!(OutsideUrl::parse(text, &Guard::dev()).is_ok(), "{text}");
        }
        for text in [
            "http://0/",
            "http://169.254.169.254/latest",
            "http://10.0.0.5/",
            "http://[fe80::1]/",
            "http://[::]/",
        ] {
            assert!(matches!(strict(text), Err(UrlRefused::Address { .. })), "{text}");
        }
    }

    #[test]
    fn localhost_names_count_as_loopback() {
        for text in [
            "http://localhost/",
            "http://LOCALHOST:3000/",
            "http://localhost./",
            "http://a.b.localhost/x",
            "http://app.localhost./",
        ] {
            let refused = strict(text).unwrap_err();
            assert!(matches!(refused, UrlRefused::Name { kind: AddressKind::Loopback, .. }), "{text}");
            assert!(OutsideUrl::parse(text, &Guard::dev()).is_ok(), "{text}");
        }
        assert!(strict("http://localhost.example.com/").is_ok());
        assert!(strict("http://notlocalhost/").is_ok());
        let also = GuardPolicy { also: vec!["127.0.0.0/8".parse().unwrap()], ..GuardPolicy::default() };
        assert!(OutsideUrl::parse("http://localhost/", &Guard::new(also)).is_ok());
    }

    #[test]
    fn the_texts_say_what_to_do() {
        assert_eq!(
            strict("http://10.0.0.5/").unwrap_err().to_string(),
            "address 10.0.0.5 is private; the operator can allow it under [net]"
        );
        assert_eq!(
            strict("http://localhost/").unwrap_err().to_string(),
            "the name `localhost` leads to an address that is loopback; the operator can allow it under [net]"
        );
    }
}
