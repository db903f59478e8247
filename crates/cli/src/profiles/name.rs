//! Names of profiles.

use std::{fmt, str::FromStr};

use serde::{Deserialize, Serialize};
use url::Url;

/// Longest name, in bytes.
const MAX_NAME_BYTES: usize = 100;

/// The name of a profile: letters, digits and `.`, `_`, `-`, `:`, `@`, starting with a letter, a digit or `:`. It needs no
/// quotes in a shell and is no flag.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub(crate) struct ProfileName(String);

impl ProfileName {
    /// The name for a server: its host, with the port if the URL has one.
    pub(crate) fn from_server(server: &str) -> Option<Self> {
        let url = Url::parse(server).ok()?;
        let host = url.host_str()?.trim_start_matches('[').trim_end_matches(']');
        match url.port() {
            Some(port) => format!("{host}:{port}").parse().ok(),
            None => host.parse().ok(),
        }
    }
}

impl FromStr for ProfileName {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"._-:@".contains(&byte);
        let starts_well = text.starts_with(|first: char| first.is_ascii_alphanumeric() || first == ':');
        if starts_well && text.len() <= MAX_NAME_BYTES && text.bytes().all(allowed) {
            return Ok(Self(text.to_owned()));
        }
        Err(format!(
            "`{}` is not a name of a profile: use 1 to {MAX_NAME_BYTES} letters, digits, `.`, `_`, `-`, `:`, `@`",
            crate::text::first_line(text, MAX_NAME_BYTES)
        ))
    }
}

impl TryFrom<String> for ProfileName {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

impl From<ProfileName> for String {
    fn from(name: ProfileName) -> Self {
        name.0
    }
}

impl fmt::Display for ProfileName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_gives_a_profile_its_name() {
        for (server, expected) in [
            ("https://tools.example.com", "tools.example.com"),
            ("https://tools.example.com:443/base/", "tools.example.com"),
            ("http://127.0.0.1:8787", "127.0.0.1:8787"),
            ("http://[::1]:8787", "::1:8787"),
        ] {
            assert_eq!(ProfileName::from_server(server).unwrap().to_string(), expected);
        }
        assert_eq!(ProfileName::from_server("127.0.0.1:8787"), None);
    }

    #[test]
    fn names_fit_a_command_line() {
        for text in ["work", "Work-2", "ada@example.com", "a.b_c:1"] {
            assert_eq!(text.parse::<ProfileName>().unwrap().to_string(), text);
        }
        for text in ["", "-x", "a b", "ä", "a/b", "$x", &"a".repeat(101)] {
            assert!(text.parse::<ProfileName>().is_err(), "{text}");
        }
    }
}
