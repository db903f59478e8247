//! Scopes: what a token may do.
//!
//! `tools:destructive` contains `tools:write`, which contains `tools:read`. A scope `apps:<package>` restricts: if one
//! or more are present, only these apps are visible.

mod set;

use std::{fmt, str::FromStr};

use toolyard_protocol::PackageName;

pub use set::{MAX_APP_SCOPES, MAX_SCOPE_BYTES, MAX_UNKNOWN_SCOPES, ParsedScopes, ScopeError, ScopeSet};

const APP_PREFIX: &str = "apps:";

/// One scope.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum OAuthScope {
    /// `tools:read`: call tools that only read.
    ToolsRead,
    /// `tools:write`: call tools that change something.
    ToolsWrite,
    /// `tools:destructive`: call tools that delete or cannot be undone.
    ToolsDestructive,
    /// `apps:<package>`: only the tools of this app, and of others that are named too.
    App(PackageName),
    /// `chat`: send chat requests.
    Chat,
    /// `account`: manage the user's own account, tokens and installed apps.
    Account,
    /// `openid`: sign in with this server.
    OpenId,
    /// `profile`: the user's name.
    Profile,
    /// `email`: the user's e-mail address.
    Email,
    /// `offline_access`: a refresh token.
    OfflineAccess,
}

/// Why a word is not a scope of this server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ScopeWordError {
    /// Not one of ours.
    Unknown,
    /// `apps:` with a text that is not a package name.
    InvalidApp,
}

impl OAuthScope {
    /// How far a scope for tools reaches. Each level contains the ones below.
    const fn tool_level(&self) -> Option<u8> {
        match self {
            Self::ToolsRead => Some(1),
            Self::ToolsWrite => Some(2),
            Self::ToolsDestructive => Some(3),
            _ => None,
        }
    }

    /// Whether this scope, alone, contains another one.
    pub fn contains(&self, other: &Self) -> bool {
        match (self.tool_level(), other.tool_level()) {
            (Some(own), Some(needed)) => own >= needed,
            _ => self == other,
        }
    }
}

impl FromStr for OAuthScope {
    type Err = ScopeWordError;

    fn from_str(word: &str) -> Result<Self, ScopeWordError> {
        if let Some(package) = word.strip_prefix(APP_PREFIX) {
            return package.parse().map(Self::App).map_err(|_| ScopeWordError::InvalidApp);
        }
        Ok(match word {
            "tools:read" => Self::ToolsRead,
            "tools:write" => Self::ToolsWrite,
            "tools:destructive" => Self::ToolsDestructive,
            "chat" => Self::Chat,
            "account" => Self::Account,
            "openid" => Self::OpenId,
            "profile" => Self::Profile,
            "email" => Self::Email,
            "offline_access" => Self::OfflineAccess,
            _ => return Err(ScopeWordError::Unknown),
        })
    }
}

impl fmt::Display for OAuthScope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let word = match self {
            Self::ToolsRead => "tools:read",
            Self::ToolsWrite => "tools:write",
            Self::ToolsDestructive => "tools:destructive",
            Self::App(package) => return write!(f, "{APP_PREFIX}{package}"),
            Self::Chat => "chat",
            Self::Account => "account",
            Self::OpenId => "openid",
            Self::Profile => "profile",
            Self::Email => "email",
            Self::OfflineAccess => "offline_access",
        };
        f.write_str(word)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_scope_is_read_as_it_is_written() {
        let words = "tools:read tools:write tools:destructive apps:com.example.todo chat account openid profile email \
                     offline_access";
        for word in words.split(' ') {
            assert_eq!(word.parse::<OAuthScope>().unwrap().to_string(), word);
        }
    }

    #[test]
    fn other_words_are_not_scopes() {
        for word in ["", "Tools:read", "tools", "tools:*", "*", "claudeai", "openid "] {
            assert_eq!(word.parse::<OAuthScope>(), Err(ScopeWordError::Unknown), "{word}");
        }
        for word in ["apps:", "apps:*", "apps:Com.Example", "apps:a/b", &format!("apps:{}", "a".repeat(101))]
        {
            assert_eq!(word.parse::<OAuthScope>(), Err(ScopeWordError::InvalidApp), "{word}");
        }
    }

    #[test]
    fn wide_tool_scopes_contain_narrow_ones() {
        use OAuthScope::{Chat, ToolsDestructive, ToolsRead, ToolsWrite};
        let levels = [ToolsRead, ToolsWrite, ToolsDestructive];
        for (own, wide) in levels.iter().enumerate() {
            for (needed, narrow) in levels.iter().enumerate() {
                assert_eq!(wide.contains(narrow), own >= needed, "{wide} {narrow}");
            }
            assert!(!wide.contains(&Chat) && !Chat.contains(wide));
        }
        assert!(Chat.contains(&Chat));
    }
}
