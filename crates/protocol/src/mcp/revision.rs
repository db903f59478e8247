//! Protocol revisions.

use std::{fmt, str::FromStr};

/// A known revision, oldest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum McpRevision {
    /// The first revision. Old programs use it over stdio; our servers do not support it.
    V2024_11_05,
    /// Streamable HTTP.
    V2025_03_26,
    /// Structured content, elicitation, the version header.
    V2025_06_18,
    /// Input errors are tool errors; icons.
    V2025_11_25,
    /// No handshake: every request carries client info and capabilities.
    V2026_07_28,
}

impl McpRevision {
    /// Every revision, oldest first.
    pub const ALL: [Self; 5] =
        [Self::V2024_11_05, Self::V2025_03_26, Self::V2025_06_18, Self::V2025_11_25, Self::V2026_07_28];
    /// The revisions that our servers support, newest first.
    pub const SERVED: [Self; 4] =
        [Self::V2026_07_28, Self::V2025_11_25, Self::V2025_06_18, Self::V2025_03_26];
    /// The newest revision with a handshake.
    pub const NEWEST_HANDSHAKE: Self = Self::V2025_11_25;
    /// The newest revision.
    pub const NEWEST: Self = Self::V2026_07_28;

    /// The name on the wire.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::V2024_11_05 => "2024-11-05",
            Self::V2025_03_26 => "2025-03-26",
            Self::V2025_06_18 => "2025-06-18",
            Self::V2025_11_25 => "2025-11-25",
            Self::V2026_07_28 => "2026-07-28",
        }
    }

    /// The revision with that name, if our servers support it.
    pub fn parse_served(name: &str) -> Option<Self> {
        Self::SERVED.into_iter().find(|revision| revision.as_str() == name)
    }

    /// Whether it works without a handshake.
    pub const fn is_modern(self) -> bool {
        matches!(self, Self::V2026_07_28)
    }
}

/// Not a known revision.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("not a supported protocol revision")]
pub struct UnknownRevision;

impl FromStr for McpRevision {
    type Err = UnknownRevision;

    fn from_str(text: &str) -> Result<Self, UnknownRevision> {
        Self::ALL.into_iter().find(|revision| revision.as_str() == text).ok_or(UnknownRevision)
    }
}

impl fmt::Display for McpRevision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_what_it_writes_and_nothing_else() {
        for revision in McpRevision::ALL {
            assert_eq!(revision.as_str().parse(), Ok(revision));
        }
        assert!("2024-10-07".parse::<McpRevision>().is_err());
        assert_eq!(McpRevision::parse_served("2024-11-05"), None);
        assert_eq!(McpRevision::parse_served("2025-06-18"), Some(McpRevision::V2025_06_18));
        assert!(McpRevision::NEWEST.is_modern() && !McpRevision::NEWEST_HANDSHAKE.is_modern());
    }
}
