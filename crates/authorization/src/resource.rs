//! Resource identifiers (RFC 8707): which server a token is for.

use std::{fmt, str::FromStr};

use serde::{Deserialize, Serialize};
use url::Url;

/// Longest resource identifier, in bytes.
pub const MAX_RESOURCE_BYTES: usize = 2 * 1024;

/// A text that cannot identify a resource of this server.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("a resource must be an http or https URL without user, query and fragment")]
pub struct InvalidResource;

/// The URL that users enter for a resource, without a trailing slash.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct ResourceIdentifier(String);

impl ResourceIdentifier {
    /// The identifier as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether a client means this resource. Clients differ in one trailing slash; everything else is compared byte
    /// by byte, because a token for another path or host is a token for another server.
    pub fn matches(&self, requested: &str) -> bool {
        requested.strip_suffix('/').unwrap_or(requested) == self.0
    }
}

impl FromStr for ResourceIdentifier {
    type Err = InvalidResource;

    fn from_str(text: &str) -> Result<Self, InvalidResource> {
        let text = text.strip_suffix('/').unwrap_or(text);
        if text.len() > MAX_RESOURCE_BYTES {
            return Err(InvalidResource);
        }
        let url = Url::parse(text).map_err(|_| InvalidResource)?;
        let is_web = matches!(url.scheme(), "https" | "http");
        // The same text as clients that parse URLs write. A slash that stands for an empty path is not written here.
        let is_normal = url.as_str() == text || url.as_str().strip_suffix('/') == Some(text);
        let is_plain = url.query().is_none() && url.fragment().is_none() && url.username().is_empty();
        if is_web && is_normal && is_plain && url.password().is_none() {
            Ok(Self(text.to_owned()))
        } else {
            Err(InvalidResource)
        }
    }
}

impl TryFrom<String> for ResourceIdentifier {
    type Error = InvalidResource;

    fn try_from(text: String) -> Result<Self, InvalidResource> {
        text.parse()
    }
}

impl From<ResourceIdentifier> for String {
    fn from(resource: ResourceIdentifier) -> Self {
        resource.0
    }
}

impl fmt::Display for ResourceIdentifier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The resources that tokens of this server can be for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AcceptedResources {
    /// The one that a request means if it names none. The conformance suite and older clients name none.
    pub default: ResourceIdentifier,
    /// Other names that clients may use, for example the origin.
    pub others: Vec<ResourceIdentifier>,
}

impl AcceptedResources {
    /// A server with one resource.
    pub fn single(default: ResourceIdentifier) -> Self {
        Self { default, others: Vec::new() }
    }

    /// The resource that a request names, or the default. `None` if it names another server's.
    pub fn find(&self, requested: Option<&str>) -> Option<&ResourceIdentifier> {
        let Some(requested) = requested else { return Some(&self.default) };
        std::iter::once(&self.default).chain(&self.others).find(|resource| resource.matches(requested))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn resource(text: &str) -> ResourceIdentifier {
        text.parse().unwrap()
    }

    #[test]
    fn only_a_trailing_slash_is_ignored() {
        let ours = resource("https://tools.example.com/mcp/");
        assert_eq!(ours.as_str(), "https://tools.example.com/mcp");
        for same in ["https://tools.example.com/mcp", "https://tools.example.com/mcp/"] {
            assert!(ours.matches(same), "{same}");
        }
        for other in [
            "",
            "https://tools.example.com",
            "https://tools.example.com/mcp//",
            "https://tools.example.com/mcp2",
            "https://tools.example.com/MCP",
            "https://tools.example.com/mcp?x",
            "https://tools.example.com/mcp#x",
            "https://tools.example.com:443/mcp",
            "http://tools.example.com/mcp",
            "https://tools.example.com.evil.example/mcp",
            "https://tools.example.com/x/../mcp",
        ] {
            assert!(!ours.matches(other), "{other}");
        }
    }

    #[test]
    fn a_missing_resource_is_the_default() {
        let origin = resource("https://tools.example.com");
        let accepted = AcceptedResources {
            default: resource("https://tools.example.com/mcp"),
            others: vec![origin.clone()],
        };
        assert_eq!(accepted.find(None), Some(&accepted.default));
        assert_eq!(accepted.find(Some("https://tools.example.com/")), Some(&origin));
        assert_eq!(accepted.find(Some("https://other.example/mcp")), None);
    }

    #[test]
    fn identifiers_are_plain_bounded_urls() {
        for bad in [
            "",
            "/mcp",
            "urn:x",
            "https://a.example/mcp?x",
            "https://a.example/mcp#",
            "https://ada@a.example/mcp",
            "https://A.example/mcp",
            &format!("https://a.example/{}", "x".repeat(MAX_RESOURCE_BYTES)),
        ] {
            assert_eq!(bad.parse::<ResourceIdentifier>(), Err(InvalidResource), "{bad}");
        }
    }
}
