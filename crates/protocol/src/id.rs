//! Ids of users, calls, app sessions, tokens, approvals, changed definitions and browsers.

use std::{fmt, str::FromStr, sync::Arc};

use serde::{Deserialize, Serialize, de};

use crate::name::{text_excerpt, text_type};
pub use crate::user_id::{MAX_USER_BYTES, UserId};

/// A text that is not a valid id.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` is not {what}")]
pub struct InvalidId {
    pub(crate) text: String,
    pub(crate) what: &'static str,
}

/// Parses an opaque id: visible ASCII of limited length, so that it fits headers and URLs.
fn parse_opaque_id(text: &str, what: &'static str) -> Result<Arc<str>, InvalidId> {
    let visible = |b: u8| b.is_ascii_alphanumeric() || b"-_.:@+".contains(&b);
    if text.is_empty() || text.len() > 512 || !text.bytes().all(visible) {
        return Err(InvalidId { text: text_excerpt(text), what });
    }
    Ok(text.into())
}

/// The id of a tool call, in the ledger, in logs and in requests to the app.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct CallId(Arc<str>);

impl CallId {
    /// An id of 16 bytes, in hex.
    pub fn from_bytes(bytes: [u8; 16]) -> Self {
        Self(hex::encode(bytes).into())
    }

    /// The id as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for CallId {
    type Err = InvalidId;

    fn from_str(text: &str) -> Result<Self, InvalidId> {
        parse_opaque_id(text, "a call id").map(Self)
    }
}

/// The id of one run of an app for a user. Issued by the platform, never parsed.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct AppSessionId(Arc<str>);

impl AppSessionId {
    /// The id as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for AppSessionId {
    type Err = InvalidId;

    fn from_str(text: &str) -> Result<Self, InvalidId> {
        parse_opaque_id(text, "an app session id").map(Self)
    }
}

/// The id of a token of this server, to list and revoke it. Reveals nothing about the token.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TokenId(Arc<str>);

impl TokenId {
    /// An id of 16 bytes, in hex.
    pub fn from_bytes(bytes: [u8; 16]) -> Self {
        Self(hex::encode(bytes).into())
    }

    /// The id as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for TokenId {
    type Err = InvalidId;

    fn from_str(text: &str) -> Result<Self, InvalidId> {
        parse_hex_id(text, "a token id: 32 hex digits").map(Self)
    }
}

/// The id of an approval. Unguessable, because its page is reached by it.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ApprovalId(Arc<str>);

impl ApprovalId {
    /// An id of 16 random bytes, in hex.
    pub fn from_bytes(bytes: [u8; 16]) -> Self {
        Self(hex::encode(bytes).into())
    }

    /// The id as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for ApprovalId {
    type Err = InvalidId;

    fn from_str(text: &str) -> Result<Self, InvalidId> {
        parse_hex_id(text, "an approval id: 32 hex digits").map(Self)
    }
}

/// The id of a changed definition. It follows from package, user and subject, so it stays the same for later versions.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct DefinitionChangeId(Arc<str>);

impl DefinitionChangeId {
    /// An id of 16 bytes, in hex.
    pub fn from_bytes(bytes: [u8; 16]) -> Self {
        Self(hex::encode(bytes).into())
    }

    /// The id as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for DefinitionChangeId {
    type Err = InvalidId;

    fn from_str(text: &str) -> Result<Self, InvalidId> {
        parse_hex_id(text, "the id of a changed definition: 32 hex digits").map(Self)
    }
}

/// The id of a browser that is notified. It follows from its URL at the push service.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct PushSubscriptionId(Arc<str>);

impl PushSubscriptionId {
    /// An id of 16 bytes, in hex.
    pub fn from_bytes(bytes: [u8; 16]) -> Self {
        Self(hex::encode(bytes).into())
    }

    /// The id as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for PushSubscriptionId {
    type Err = InvalidId;

    fn from_str(text: &str) -> Result<Self, InvalidId> {
        parse_hex_id(text, "the id of a browser: 32 hex digits").map(Self)
    }
}

/// Parses an id of 16 bytes in hex.
fn parse_hex_id(text: &str, what: &'static str) -> Result<Arc<str>, InvalidId> {
    let is_hex = |b: u8| b.is_ascii_digit() || (b'a'..=b'f').contains(&b);
    if text.len() != 32 || !text.bytes().all(is_hex) {
        return Err(InvalidId { text: text_excerpt(text), what });
    }
    Ok(text.into())
}

text_type!(UserId, CallId, AppSessionId, TokenId, ApprovalId, DefinitionChangeId, PushSubscriptionId);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn token_ids_are_hex_digits() {
        let id = TokenId::from_bytes([0xab; 16]);
        assert_eq!(id.as_str().parse::<TokenId>().unwrap(), id);
        for text in ["", "ab", &"AB".repeat(16), &"zz".repeat(16), &"ab".repeat(17)] {
            assert!(text.parse::<TokenId>().is_err(), "{text}");
        }
    }
}
