//! A host that a plugin may connect to.

use std::{fmt, net::IpAddr, str::FromStr};

use serde::{Deserialize, Serialize};

use crate::name::text_excerpt;

/// Longest host name.
pub const MAX_HOST_CHARS: usize = 253;
/// Longest label between two dots.
const MAX_LABEL_CHARS: usize = 63;
/// Labels that must follow a `*.`, so that `*.com` is not allowed.
const MIN_LABELS_UNDER_WILDCARD: usize = 2;

/// A host name, `api.example.com`, or everything below one, `*.example.com`. In lower case, without scheme, port
/// and path. `*.example.com` does not include `example.com`.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct HostPattern(String);

/// Why a text is not a valid host.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum InvalidHost {
    /// A URL or part of one.
    #[error("`{0}`: write the host only, without scheme, port and path, such as api.example.com")]
    NotBare(String),
    /// Not a valid host name.
    #[error("`{0}` is not a host name: labels of a-z, 0-9 and `-` with dots between; write others as xn--…")]
    Malformed(String),
    /// A wildcard in the wrong place, or one that is too broad.
    #[error(
        "`{0}`: a star must be the whole first label, followed by at least two more, such as *.example.com"
    )]
    Wildcard(String),
}

impl HostPattern {
    /// As text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether it matches more than one host.
    pub fn is_wildcard(&self) -> bool {
        self.0.starts_with('*')
    }

    /// Whether it is an IP address.
    pub fn is_address(&self) -> bool {
        self.0.parse::<IpAddr>().is_ok()
    }

    /// Whether this host is allowed. The host is as in URLs: lower case, in ASCII.
    pub fn allows(&self, host: &str) -> bool {
        match self.0.strip_prefix('*') {
            Some(suffix) => host.len() > suffix.len() && host.ends_with(suffix),
            None => host == self.0,
        }
    }

    /// Whether everything that `other` allows is allowed by this one.
    pub fn covers(&self, other: &Self) -> bool {
        match other.0.strip_prefix('*') {
            Some(suffix) => self.0.strip_prefix('*').is_some_and(|own| suffix.ends_with(own)),
            None => self.allows(&other.0),
        }
    }
}

impl FromStr for HostPattern {
    type Err = InvalidHost;

    fn from_str(text: &str) -> Result<Self, InvalidHost> {
        if text.contains(['/', ':', '@', '?', '#', '[']) {
            return Err(InvalidHost::NotBare(text_excerpt(text)));
        }
        let name = text.strip_prefix("*.").unwrap_or(text);
        let labels: Vec<&str> = name.split('.').collect();
        let over_too_much = name.len() < text.len() && labels.len() < MIN_LABELS_UNDER_WILDCARD;
        if name.contains('*') || over_too_much {
            return Err(InvalidHost::Wildcard(text_excerpt(text)));
        }
        let is_label = |label: &&str| {
            let allowed = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-';
            (1..=MAX_LABEL_CHARS).contains(&label.len())
                && label.bytes().all(allowed)
                && !label.starts_with('-')
                && !label.ends_with('-')
        };
        // If the last label is numeric, URLs treat the host as an IPv4 address: 0x7f.1 is loopback to a browser.
        let numeric = labels.last().is_some_and(|last| last.starts_with(|c: char| c.is_ascii_digit()));
        let fits = text.len() <= MAX_HOST_CHARS
            && labels.iter().all(is_label)
            && (!numeric || (text == name && text.parse::<IpAddr>().is_ok()));
        if fits { Ok(Self(text.to_owned())) } else { Err(InvalidHost::Malformed(text_excerpt(text))) }
    }
}

impl TryFrom<String> for HostPattern {
    type Error = InvalidHost;

    fn try_from(text: String) -> Result<Self, InvalidHost> {
        text.parse()
    }
}

impl From<HostPattern> for String {
    fn from(host: HostPattern) -> Self {
        host.0
    }
}

impl fmt::Display for HostPattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl schemars::JsonSchema for HostPattern {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "HostPattern".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({
            "type": "string",
            "description": "A host by name, or everything under one: `api.example.com`, `*.example.com`.",
            "maxLength": MAX_HOST_CHARS,
            "pattern": r"^(\*\.([a-z0-9-]+\.)+)?[a-z0-9-]+(\.[a-z0-9-]+)*$",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn host(text: &str) -> HostPattern {
        text.parse().unwrap()
    }

    #[test]
    fn names_stars_and_addresses() {
        for text in
            ["api.example.com", "localhost", "*.example.com", "127.0.0.1", "xn--bcher-kva.example", "a-b.c1"]
        {
            assert_eq!(host(text).to_string(), text);
        }
        assert!(host("127.0.0.1").is_address() && !host("a.b").is_address());
        assert!(host("*.a.b").is_wildcard() && !host("a.b").is_wildcard());
    }

    #[test]
    fn invalid_hosts_are_rejected_with_a_reason() {
        for (text, why) in [
            ("https://a.com", "without scheme"),
            ("a.com/x", "without scheme"),
            ("a.com:443", "without scheme"),
            ("[::1]", "without scheme"),
            ("*", "a star"),
            ("*.com", "a star"),
            ("a.*.com", "a star"),
            ("*a.b.com", "a star"),
            ("", "is not a host name"),
            ("A.com", "is not a host name"),
            ("a..com", "is not a host name"),
            ("a.com.", "is not a host name"),
            ("-a.com", "is not a host name"),
            ("bücher.example", "is not a host name"),
            ("127.1", "is not a host name"),
            ("0x7f.0.0.1", "is not a host name"),
            ("*.0.0.1", "is not a host name"),
            ("1.2.3.0x4", "is not a host name"),
        ] {
            let error = text.parse::<HostPattern>().unwrap_err().to_string();
            assert!(error.contains(why), "{text}: {error}");
        }
        assert!("a".repeat(64).parse::<HostPattern>().is_err());
        let long = ["a"; 127].join(".");
        assert!(long.parse::<HostPattern>().is_ok() && format!("{long}.a").parse::<HostPattern>().is_err());
    }

    #[test]
    fn a_star_is_everything_under_a_name_but_not_the_name() {
        let star = host("*.example.com");
        assert!(star.allows("a.example.com") && star.allows("a.b.example.com"));
        assert!(
            !star.allows("example.com") && !star.allows(".example.com") && !star.allows("evilexample.com")
        );
        assert!(
            star.covers(&host("a.example.com"))
                && star.covers(&star)
                && star.covers(&host("*.b.example.com"))
        );
        assert!(!star.covers(&host("example.com")) && !host("*.b.example.com").covers(&star));
        assert!(!host("a.example.com").covers(&host("*.a.example.com")));
        assert!(host("a.b").covers(&host("a.b")) && !host("a.b").allows("x.a.b"));
    }
}
