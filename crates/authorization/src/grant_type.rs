//! Grant types: how a client gets a token.

use std::{fmt, str::FromStr};

use serde::{Deserialize, Serialize};

/// A grant of the token endpoint.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "&'static str")]
pub enum GrantType {
    /// A code from the authorization endpoint.
    AuthorizationCode,
    /// A refresh token.
    RefreshToken,
    /// The client itself, without a person.
    ClientCredentials,
    /// An identity assertion of a company's identity provider (ID-JAG).
    JwtBearer,
    /// A code that a person entered on another device.
    DeviceCode,
}

/// A text that is not a grant type of this server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the grant type is not supported; see grant_types_supported in the metadata of this server")]
pub struct UnknownGrantType;

impl GrantType {
    /// All of them.
    pub const ALL: [Self; 5] = [
        Self::AuthorizationCode,
        Self::RefreshToken,
        Self::ClientCredentials,
        Self::JwtBearer,
        Self::DeviceCode,
    ];

    /// The name on the wire.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::AuthorizationCode => "authorization_code",
            Self::RefreshToken => "refresh_token",
            Self::ClientCredentials => "client_credentials",
            Self::JwtBearer => "urn:ietf:params:oauth:grant-type:jwt-bearer",
            Self::DeviceCode => "urn:ietf:params:oauth:grant-type:device_code",
        }
    }
}

impl FromStr for GrantType {
    type Err = UnknownGrantType;

    fn from_str(text: &str) -> Result<Self, UnknownGrantType> {
        Self::ALL.into_iter().find(|grant| grant.as_str() == text).ok_or(UnknownGrantType)
    }
}

impl TryFrom<String> for GrantType {
    type Error = UnknownGrantType;

    fn try_from(text: String) -> Result<Self, UnknownGrantType> {
        text.parse()
    }
}

impl From<GrantType> for &'static str {
    fn from(grant: GrantType) -> Self {
        grant.as_str()
    }
}

impl fmt::Display for GrantType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_grant_type_is_read_as_it_is_written() {
        for grant in GrantType::ALL {
            assert_eq!(grant.to_string().parse(), Ok(grant));
            let stored = serde_json::to_string(&grant).unwrap();
            assert_eq!(serde_json::from_str::<GrantType>(&stored).unwrap(), grant);
        }
        for other in ["", "password", "implicit", "Authorization_code", "authorization_code "] {
            assert_eq!(other.parse::<GrantType>(), Err(UnknownGrantType), "{other}");
        }
    }
}
