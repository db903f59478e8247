//! Which hosts a plugin may call, as its manifest names them. Whether an address is allowed at all is decided by the
//! guard in `toolyard-net`.
//!
//! More general than the pattern of a manifest (`toolyard_protocol::plugin::HostPattern`), which is a bare name that
//! can be compared with others: here a pattern is matched against whole URLs, and may have a port or, for development,
//! use plain http. Every pattern of a manifest is also one of these.

use std::fmt;
use std::str::FromStr;

use url::{Host, Url};

/// `api.example.com`, `*.example.com` (its subdomains, not itself), `api.example.com:8443`; https only.
/// `http://localhost:3000` is for development: plain http is for this machine only, and the guard must allow it too.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UrlHostPattern {
    scheme: PatternScheme,
    name: HostMatch,
    port: u16,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum PatternScheme {
    Https,
    Http,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum HostMatch {
    Exact(Host<String>),
    /// Anything below this domain.
    Below(String),
}

/// Why a text is not a host pattern.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum UrlHostPatternError {
    #[error("`{0}` is not a host; write it like api.example.com or *.example.com, without a path")]
    Malformed(String),
    #[error("`{0}` allows too much; name at least two parts after `*.`, as in *.example.com")]
    TooWide(String),
    #[error("`{0}`: plain http is for this machine only, as in http://localhost:3000; use https")]
    PlainHttp(String),
}

/// The longest pattern, in bytes: a domain has at most 253.
const MAX_PATTERN: usize = 300;

impl FromStr for UrlHostPattern {
    type Err = UrlHostPatternError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let malformed = || UrlHostPatternError::Malformed(text.chars().take(60).collect());
        if text.len() > MAX_PATTERN {
            return Err(malformed());
        }
        let (scheme, rest) = match text.split_once("://") {
            Some(("https", rest)) => (PatternScheme::Https, rest),
            Some(("http", rest)) => (PatternScheme::Http, rest),
            Some(_) => return Err(malformed()),
            None => (PatternScheme::Https, text),
        };
        let (below, plain) = rest.strip_prefix("*.").map_or((false, rest), |rest| (true, rest));
        let plain_enough = |c: char| c.is_alphanumeric() || matches!(c, '.' | '-' | '_' | ':' | '[' | ']');
        if plain.is_empty() || !plain.chars().all(plain_enough) {
            return Err(malformed());
        }
        let word = if scheme == PatternScheme::Https { "https" } else { "http" };
        let url = Url::parse(&format!("{word}://{plain}/")).map_err(|_| malformed())?;
        let host = url.host().ok_or_else(malformed)?.to_owned();
        let port = url.port_or_known_default().ok_or_else(malformed)?;
        let name = match (below, host) {
            (false, host) => HostMatch::Exact(host),
            (true, Host::Domain(domain)) if domain.trim_matches('.').contains('.') => {
                HostMatch::Below(domain)
            }
            (true, Host::Domain(_)) => return Err(UrlHostPatternError::TooWide(text.to_owned())),
            (true, _) => return Err(malformed()),
        };
        if scheme == PatternScheme::Http && !name.is_this_machine() {
            return Err(UrlHostPatternError::PlainHttp(text.to_owned()));
        }
        Ok(Self { scheme, name, port })
    }
}

impl HostMatch {
    fn is_this_machine(&self) -> bool {
        match self {
            Self::Exact(Host::Domain(domain)) => domain == "localhost" || domain.ends_with(".localhost"),
            Self::Exact(Host::Ipv4(address)) => address.is_loopback(),
            Self::Exact(Host::Ipv6(address)) => address.is_loopback(),
            Self::Below(_) => false,
        }
    }
}

impl UrlHostPattern {
    /// Whether the pattern matches this URL.
    pub fn is_match(&self, url: &Url) -> bool {
        let scheme = match self.scheme {
            PatternScheme::Https => "https",
            PatternScheme::Http => "http",
        };
        if url.scheme() != scheme || url.port_or_known_default() != Some(self.port) {
            return false;
        }
        match (&self.name, url.host()) {
            (HostMatch::Exact(name), Some(host)) => name.to_string() == host.to_string(),
            (HostMatch::Below(domain), Some(Host::Domain(host))) => {
                host.strip_suffix(domain.as_str()).is_some_and(|sub| sub.len() > 1 && sub.ends_with('.'))
            }
            _ => false,
        }
    }
}

impl fmt::Display for UrlHostPattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let default = match self.scheme {
            PatternScheme::Https => 443,
            PatternScheme::Http => {
                f.write_str("http://")?;
                80
            }
        };
        match &self.name {
            HostMatch::Exact(host) => write!(f, "{host}")?,
            HostMatch::Below(domain) => write!(f, "*.{domain}")?,
        }
        if self.port == default { Ok(()) } else { write!(f, ":{}", self.port) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn allows(pattern: &str, url: &str) -> bool {
        pattern.parse::<UrlHostPattern>().unwrap().is_match(&Url::parse(url).unwrap())
    }

    #[test]
    fn a_name_means_itself_over_https() {
        assert!(allows("api.example.com", "https://api.example.com/x?y"));
        assert!(allows("API.example.com", "https://api.EXAMPLE.com:443/"));
        assert!(allows("bücher.example", "https://xn--bcher-kva.example/"));
        assert!(allows("https://api.example.com:8443", "https://api.example.com:8443/"));
        for other in [
            "http://api.example.com/",
            "https://api.example.com:8443/",
            "https://example.com/",
            "https://x.api.example.com/",
            "https://api.example.com.evil.org/",
            "https://api.example.com./",
            "https://evil.org/?api.example.com",
            "https://evilapi.example.com/",
        ] {
            assert!(!allows("api.example.com", other), "{other}");
        }
    }

    #[test]
    fn a_star_means_what_is_below() {
        assert!(allows("*.example.com", "https://a.example.com/"));
        assert!(allows("*.example.com", "https://a.b.example.com/"));
        for other in ["https://example.com/", "https://evilexample.com/", "https://.example.com/"] {
            assert!(Url::parse(other).is_err() || !allows("*.example.com", other), "{other}");
        }
    }

    #[test]
    fn plain_http_is_for_this_machine() {
        assert!(allows("http://localhost:3000", "http://localhost:3000/x"));
        assert!(allows("http://127.0.0.1:8080", "http://127.0.0.1:8080/"));
        assert!(allows("http://[::1]:8080", "http://[::1]:8080/"));
        assert!(!allows("http://localhost:3000", "http://localhost:3001/"));
        assert!(!allows("http://localhost:3000", "https://localhost:3000/"));
        let refused = "http://example.com".parse::<UrlHostPattern>().unwrap_err();
        assert_eq!(refused, UrlHostPatternError::PlainHttp("http://example.com".into()));
    }

    #[test]
    fn too_wide_or_invalid_patterns_are_refused() {
        for text in ["*.com", "*.localhost"] {
            assert_eq!(
                text.parse::<UrlHostPattern>(),
                Err(UrlHostPatternError::TooWide(text.into())),
                "{text}"
            );
        }
        let long = format!("{}.com", "a".repeat(MAX_PATTERN));
        for text in [
            "",
            "*",
            "*.",
            "a.*.com",
            "**.example.com",
            "example.com/path",
            "ftp://example.com",
            "a b",
            "a@b.com",
            "*.1.2.3.4",
            "https://",
            "example.com?x",
            "example.com#x",
            "a.com:99999",
            &long,
        ] {
            assert!(
                matches!(text.parse::<UrlHostPattern>(), Err(UrlHostPatternError::Malformed(_))),
                "{text}"
            );
        }
    }

    #[test]
    fn it_is_written_as_it_is_read() {
        for text in
            ["api.example.com", "*.example.com", "example.com:8443", "http://localhost:3000", "http://[::1]"]
        {
            assert_eq!(text.parse::<UrlHostPattern>().unwrap().to_string(), text);
        }
    }
}
