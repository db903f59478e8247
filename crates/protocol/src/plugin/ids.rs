//! Ids in a manifest: plugin id, key id, content hash.

use std::{fmt, str::FromStr};

use serde::{Deserialize, Serialize};

use crate::name::{PackageName, text_excerpt};

/// Longest plugin id.
pub const MAX_ID_CHARS: usize = 64;
/// Hex digits of a key id.
const KEY_ID_CHARS: usize = 16;
/// Hex digits of a SHA-256 hash.
const HASH_CHARS: usize = 64;
/// Prefix of a plugin's package: `plugin.` and the id.
const PREFIX: &str = "plugin.";

/// Why a text is not a valid id.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum InvalidManifestId {
    /// Not a plugin id.
    #[error(
        "`{0}` is not a plugin id: 1 to {MAX_ID_CHARS} of a-z, 0-9, `.`, `_`, `-`, beginning with a letter or digit"
    )]
    Id(String),
    /// Not a key id.
    #[error("`{0}` is not a key id: expected {KEY_ID_CHARS} hex digits in lower case")]
    Key(String),
    /// Not a content hash.
    #[error("`{0}` is not a content hash: expected {HASH_CHARS} hex digits in lower case")]
    Hash(String),
}

fn is_hex(text: &str, chars: usize) -> bool {
    text.len() == chars && text.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'))
}

macro_rules! word {
    ($(#[$doc:meta])* $name:ident, $wrong:ident, $fits:expr, $pattern:expr) => {
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
        #[serde(try_from = "String", into = "String")]
        pub struct $name(String);

        impl $name {
            /// As text.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl FromStr for $name {
            type Err = InvalidManifestId;

            fn from_str(text: &str) -> Result<Self, InvalidManifestId> {
                let fits: fn(&str) -> bool = $fits;
                if fits(text) { Ok(Self(text.to_owned())) } else { Err(InvalidManifestId::$wrong(text_excerpt(text))) }
            }
        }

        impl TryFrom<String> for $name {
            type Error = InvalidManifestId;

            fn try_from(text: String) -> Result<Self, InvalidManifestId> {
                text.parse()
            }
        }

        impl From<$name> for String {
            fn from(word: $name) -> Self {
                word.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl schemars::JsonSchema for $name {
            fn schema_name() -> std::borrow::Cow<'static, str> {
                stringify!($name).into()
            }

            fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
                schemars::json_schema!({ "type": "string", "pattern": $pattern })
            }
        }
    };
}

word!(
    /// The unique id of a plugin: `dev-time-plugin`, `com.example.time`.
    PluginId,
    Id,
    |text| {
        let allowed = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b"._-".contains(&b);
        (1..=MAX_ID_CHARS).contains(&text.len())
            && text.bytes().all(allowed)
            && text.starts_with(|c: char| c.is_ascii_alphanumeric())
    },
    format!("^[a-z0-9][a-z0-9._-]{{0,{}}}$", MAX_ID_CHARS - 1)
);

word!(
    /// The id of a key: the first 16 hex digits of SHA-256 of the public key.
    KeyId,
    Key,
    |text| is_hex(text, KEY_ID_CHARS),
    format!("^[0-9a-f]{{{KEY_ID_CHARS}}}$")
);

word!(
    /// The hash of a content: SHA-256 of its canonical form, in hex.
    ContentHash,
    Hash,
    |text| is_hex(text, HASH_CHARS),
    format!("^[0-9a-f]{{{HASH_CHARS}}}$")
);

impl PluginId {
    /// The package of its tools: `plugin.dev-time-plugin`.
    pub fn package(&self) -> Option<PackageName> {
        format!("{PREFIX}{self}").parse().ok()
    }
}

impl KeyId {
    /// From SHA-256 of the public key.
    pub fn from_digest(digest: &[u8; 32]) -> Self {
        Self(hex::encode(&digest[..KEY_ID_CHARS / 2]))
    }
}

impl ContentHash {
    /// From SHA-256 of a canonical form.
    pub fn from_digest(digest: &[u8; 32]) -> Self {
        Self(hex::encode(digest))
    }
}

/// Who signed a plugin. Stored data belongs to the signer: anyone can use the same plugin id, so a plugin of another signer
/// cannot read it.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum PluginSigner {
    /// The owner of this key.
    Key(KeyId),
    /// The plugin is unsigned.
    Unsigned,
}

impl PluginSigner {
    /// As text. No key id equals the text for unsigned.
    pub fn as_str(&self) -> &str {
        match self {
            Self::Key(id) => id.as_str(),
            Self::Unsigned => "unsigned",
        }
    }
}

impl fmt::Display for PluginSigner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_keep_their_rules() {
        let id: PluginId = "dev-time-plugin".parse().unwrap();
        assert_eq!(id.package().unwrap().as_str(), "plugin.dev-time-plugin");
        let longest = "a".repeat(MAX_ID_CHARS);
        assert!(longest.parse::<PluginId>().unwrap().package().is_some());
        for wrong in ["", ".a", "-a", "_a", "A", "a b", "a/b", "ä", &format!("{longest}a")] {
            assert!(wrong.parse::<PluginId>().is_err(), "{wrong}");
        }
        let (key, hash) = ("0123456789abcdef", "0123456789abcdef".repeat(4));
        assert!(key.parse::<KeyId>().is_ok() && hash.parse::<ContentHash>().is_ok());
        for wrong in ["", &key[1..], "0123456789ABCDEF", "0123456789abcdeg"] {
            assert!(wrong.parse::<KeyId>().is_err() && wrong.parse::<ContentHash>().is_err(), "{wrong}");
        }
        assert!(KeyId::from_digest(&[7; 32]).as_str().parse::<KeyId>().is_ok());
        assert!(ContentHash::from_digest(&[7; 32]).as_str().parse::<ContentHash>().is_ok());
        assert!(serde_json::from_str::<KeyId>(r#""x""#).unwrap_err().to_string().contains("16 hex digits"));
    }
}
