//! Client ids.

use std::{fmt, str::FromStr};

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use serde::{Deserialize, Serialize};

/// Longest client id, in bytes.
pub const MAX_CLIENT_ID_BYTES: usize = 1024;
/// The start of ids that this server issues.
const ISSUED_PREFIX: &str = "tyc_";

/// A text that cannot be a client id.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the client id must have 1 to {MAX_CLIENT_ID_BYTES} visible ASCII characters")]
pub struct InvalidClientId;

/// The id of a client: chosen by an operator, issued by this server, or the URL of a metadata document.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct ClientId(String);

impl ClientId {
    /// An id of 16 random bytes, for a dynamic registration.
    pub fn from_bytes(bytes: [u8; 16]) -> Self {
        Self(format!("{ISSUED_PREFIX}{}", URL_SAFE_NO_PAD.encode(bytes)))
    }

    /// The id as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether it is the URL of a metadata document. Such an id is never looked up among registered clients.
    pub fn is_document_url(&self) -> bool {
        self.0.starts_with("https://")
    }

    /// Whether this server issued it in a dynamic registration.
    pub fn is_issued(&self) -> bool {
        self.0.starts_with(ISSUED_PREFIX)
    }
}

impl FromStr for ClientId {
    type Err = InvalidClientId;

    fn from_str(text: &str) -> Result<Self, InvalidClientId> {
        let fits = (1..=MAX_CLIENT_ID_BYTES).contains(&text.len());
        if fits && text.bytes().all(|byte| byte.is_ascii_graphic()) {
            Ok(Self(text.to_owned()))
        } else {
            Err(InvalidClientId)
        }
    }
}

impl TryFrom<String> for ClientId {
    type Error = InvalidClientId;

    fn try_from(text: String) -> Result<Self, InvalidClientId> {
        text.parse()
    }
}

impl From<ClientId> for String {
    fn from(id: ClientId) -> Self {
        id.0
    }
}

impl fmt::Display for ClientId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for ClientId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_visible_and_bounded() {
        for good in
            ["a", "https://claude.ai/oauth/claude-code-client-metadata", &"a".repeat(MAX_CLIENT_ID_BYTES)]
        {
            assert_eq!(good.parse::<ClientId>().unwrap().as_str(), good);
        }
        for bad in ["", "a b", "a\n", "ä", "a\u{200b}", &"a".repeat(MAX_CLIENT_ID_BYTES + 1)] {
            assert_eq!(bad.parse::<ClientId>(), Err(InvalidClientId), "{bad:?}");
        }
    }

    #[test]
    fn the_kind_of_an_id_shows() {
        let issued = ClientId::from_bytes([1; 16]);
        assert_eq!(issued.as_str(), "tyc_AQEBAQEBAQEBAQEBAQEBAQ");
        assert!(issued.is_issued() && !issued.is_document_url());
        assert!("https://a.example/c".parse::<ClientId>().unwrap().is_document_url());
        assert!(!"HTTPS://a.example/c".parse::<ClientId>().unwrap().is_document_url());
        assert!(!"http://a.example/c".parse::<ClientId>().unwrap().is_document_url());
    }
}
