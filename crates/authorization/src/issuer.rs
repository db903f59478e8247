//! The issuer of this authorization server: its origin.
//!
//! Clients compare issuers byte by byte (RFC 9207), and several of them drop a path. So an issuer has exactly one
//! spelling here: scheme, host and port, without a trailing slash and without a default port.

use std::{fmt, str::FromStr};

use serde::{Deserialize, Serialize};
use url::Url;

use crate::redirect::is_loopback_host;

/// Longest issuer, in bytes.
pub const MAX_ISSUER_BYTES: usize = 300;

/// A text that is not an origin.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "the issuer must be an origin such as https://tools.example.com: lower case, no path, no trailing slash, no default port"
)]
pub struct InvalidIssuer;

/// An origin such as `https://tools.example.com`.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct IssuerOrigin(String);

impl IssuerOrigin {
    /// The origin as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The URL of a path that starts with a slash.
    pub fn join(&self, path: &str) -> String {
        format!("{}{path}", self.0)
    }

    /// Whether clients accept it: https, or http on this machine.
    pub fn is_secure(&self) -> bool {
        match self.0.strip_prefix("http://") {
            Some(authority) => is_loopback_host(host_of(authority)),
            None => true,
        }
    }
}

/// The host of an authority without user information.
fn host_of(authority: &str) -> &str {
    if authority.ends_with(']') {
        return authority;
    }
    authority.rsplit_once(':').map_or(authority, |(host, _)| host)
}

impl FromStr for IssuerOrigin {
    type Err = InvalidIssuer;

    fn from_str(text: &str) -> Result<Self, InvalidIssuer> {
        if text.len() > MAX_ISSUER_BYTES {
            return Err(InvalidIssuer);
        }
        let url = Url::parse(text).map_err(|_| InvalidIssuer)?;
        let is_web = matches!(url.scheme(), "https" | "http");
        if is_web && url.origin().ascii_serialization() == text {
            Ok(Self(text.to_owned()))
        } else {
            Err(InvalidIssuer)
        }
    }
}

impl TryFrom<String> for IssuerOrigin {
    type Error = InvalidIssuer;

    fn try_from(text: String) -> Result<Self, InvalidIssuer> {
        text.parse()
    }
}

impl From<IssuerOrigin> for String {
    fn from(issuer: IssuerOrigin) -> Self {
        issuer.0
    }
}

impl fmt::Display for IssuerOrigin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_issuer_has_one_spelling() {
        for good in ["https://tools.example.com", "http://127.0.0.1:3000", "https://[::1]:8443"] {
            assert_eq!(good.parse::<IssuerOrigin>().unwrap().as_str(), good);
        }
        for bad in [
            "",
            "tools.example.com",
            "https://tools.example.com/",
            "https://tools.example.com/mcp",
            "https://TOOLS.example.com",
            "https://tools.example.com:443",
            "https://ada@tools.example.com",
            "https://tools.example.com?x",
            "ftp://tools.example.com",
            &format!("https://{}.example", "a".repeat(MAX_ISSUER_BYTES)),
        ] {
            assert_eq!(bad.parse::<IssuerOrigin>(), Err(InvalidIssuer), "{bad}");
        }
    }

    #[test]
    fn http_is_secure_on_this_machine_only() {
        let is_secure = |text: &str| text.parse::<IssuerOrigin>().unwrap().is_secure();
        for good in
            ["https://a.example", "http://localhost:1", "http://127.0.0.1", "http://[::1]:9", "http://[::1]"]
        {
            assert!(is_secure(good), "{good}");
        }
        for bad in ["http://a.example", "http://localhost.example:8080", "http://127.0.0.2"] {
            assert!(!is_secure(bad), "{bad}");
        }
    }
}
