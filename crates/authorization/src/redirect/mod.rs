//! Redirect URIs: which are allowed, which are equal, and the response that goes there.
//!
//! A code is sent to this address, so two addresses are equal only if they are the same text. The one exception is the
//! port of a loopback address, which native clients choose when they start (RFC 8252, 7.3).

mod check;
mod respond;

use std::{fmt, str::FromStr};

use serde::{Deserialize, Serialize};

pub use check::{MAX_REDIRECT_BYTES, RedirectError};
pub use respond::{code_redirect, error_redirect};

use check::{RedirectParts, check_redirect, split_redirect};

/// Where a redirect URI leads, in the words of a consent page. Hosts are ASCII, so a look-alike host shows as `xn--…`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RedirectHost {
    /// A website.
    Website(String),
    /// A program on the person's own computer. Any program there can pretend to be this client.
    ThisComputer(String),
    /// An app that registered this URL scheme, and the host in the URL, if any. Another app can register it too.
    NativeApp(String),
}

/// A redirect URI that passed all rules.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct RedirectUri(String);

impl RedirectUri {
    /// The URI as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether a requested URI is this registered one: the same text, except for the port of a loopback address.
    pub fn matches(&self, requested: &Self) -> bool {
        if !self.is_loopback() || !requested.is_loopback() {
            return self.0 == requested.0;
        }
        let (own, other) = (self.parts(), requested.parts());
        // `localhost` and `127.0.0.1` may lead to different programs, so the hosts must be the same text as well.
        own.scheme == other.scheme && own.host == other.host && own.rest == other.rest
    }

    /// Whether it leads to the person's own computer over http.
    pub fn is_loopback(&self) -> bool {
        let parts = self.parts();
        parts.scheme == "http" && parts.host.is_some_and(is_loopback_host)
    }

    /// Where it leads, for the consent page.
    pub fn redirect_host(&self) -> RedirectHost {
        let parts = self.parts();
        let host = parts.host.unwrap_or_default();
        match parts.scheme {
            "https" => RedirectHost::Website(host.to_owned()),
            "http" => RedirectHost::ThisComputer(host.to_owned()),
            scheme if host.is_empty() => RedirectHost::NativeApp(scheme.to_owned()),
            scheme => RedirectHost::NativeApp(format!("{scheme}://{host}")),
        }
    }

    fn parts(&self) -> RedirectParts<'_> {
        split_redirect(&self.0)
    }
}

impl FromStr for RedirectUri {
    type Err = RedirectError;

    fn from_str(text: &str) -> Result<Self, RedirectError> {
        check_redirect(text)?;
        Ok(Self(text.to_owned()))
    }
}

impl TryFrom<String> for RedirectUri {
    type Error = RedirectError;

    fn try_from(text: String) -> Result<Self, RedirectError> {
        check_redirect(&text)?;
        Ok(Self(text))
    }
}

impl From<RedirectUri> for String {
    fn from(uri: RedirectUri) -> Self {
        uri.0
    }
}

impl fmt::Display for RedirectUri {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Display for RedirectHost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Website(host) => f.write_str(host),
            Self::ThisComputer(host) => write!(f, "this computer ({host})"),
            Self::NativeApp(app) => write!(f, "the app for {app}"),
        }
    }
}

/// Whether all URIs lead to the person's own computer. The consent page warns about such a client.
pub fn is_loopback_only(uris: &[RedirectUri]) -> bool {
    !uris.is_empty() && uris.iter().all(RedirectUri::is_loopback)
}

/// The loopback hosts, in their usual spelling only: others (`127.1`, `0x7f000001`, `[0:0:0:0:0:0:0:1]`) are spellings that
/// only attacks need.
pub(crate) fn is_loopback_host(host: &str) -> bool {
    matches!(host, "127.0.0.1" | "[::1]" | "localhost")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn uri(text: &str) -> RedirectUri {
        text.parse().unwrap_or_else(|error| panic!("{text}: {error}"))
    }

    #[test]
    fn loopback_ports_are_ignored_and_nothing_else() {
        for (registered, requested, equal) in [
            ("http://localhost/callback", "http://localhost:53412/callback", true),
            ("http://127.0.0.1:33418/", "http://127.0.0.1:1/", true),
            ("http://127.0.0.1:33418/", "http://127.0.0.1/", true),
            ("http://[::1]/cb", "http://[::1]:8080/cb", true),
            ("http://localhost/callback", "http://127.0.0.1:53412/callback", false),
            ("http://localhost/callback", "http://localhost:53412/callback/", false),
            ("http://localhost/callback", "http://localhost:53412/Callback", false),
            ("http://localhost/callback", "http://localhost:53412/callback?x=1", false),
            ("http://localhost/callback", "https://localhost:53412/callback", false),
            ("http://localhost", "http://localhost:1/", false),
            ("https://localhost/callback", "https://localhost:53412/callback", false),
            ("https://a.example/cb", "https://a.example:443/cb", false),
            ("https://a.example/cb", "https://a.example/cb", true),
            ("cursor://app/cb", "cursor://app:1/cb", false),
        ] {
            assert_eq!(uri(registered).matches(&uri(requested)), equal, "{registered} / {requested}");
        }
    }

    #[test]
    fn the_consent_page_says_where_a_redirect_leads() {
        for (text, expected) in [
            ("https://claude.ai/api/mcp/auth_callback", "claude.ai"),
            ("https://xn--clude-mqa.ai:8443/cb", "xn--clude-mqa.ai"),
            ("http://localhost:3000/cb", "this computer (localhost)"),
            ("http://[::1]/cb", "this computer ([::1])"),
            (
                "cursor://anysphere.cursor-deeplink/mcp/oauth/callback",
                "the app for cursor://anysphere.cursor-deeplink",
            ),
            ("com.example.app:/cb", "the app for com.example.app"),
        ] {
            assert_eq!(uri(text).redirect_host().to_string(), expected);
        }
    }

    #[test]
    fn loopback_only_clients_are_recognized() {
        let local = || uri("http://localhost/cb");
        assert!(is_loopback_only(&[local(), uri("http://127.0.0.1/cb")]));
        assert!(!is_loopback_only(&[local(), uri("https://a.example/cb")]));
        assert!(!is_loopback_only(&[uri("com.example.app:/cb")]));
        assert!(!is_loopback_only(&[]));
    }

    #[test]
    fn a_stored_uri_is_checked_again() {
        let stored = serde_json::to_string(&uri("https://a.example/cb")).unwrap();
        assert_eq!(serde_json::from_str::<RedirectUri>(&stored).unwrap().as_str(), "https://a.example/cb");
        assert!(serde_json::from_str::<RedirectUri>("\"javascript:alert(1)\"").is_err());
    }
}
