//! The names of the ways in which clients authenticate.

use std::{fmt, str::FromStr};

use serde::{Deserialize, Serialize};

/// A method of the token endpoint.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ClientAuthMethod {
    /// No authentication: a public client.
    None,
    /// A secret in a Basic header.
    ClientSecretBasic,
    /// A secret in the form.
    ClientSecretPost,
    /// A signed assertion.
    PrivateKeyJwt,
}

/// A method that this server does not know.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the client authentication method is not supported")]
pub struct UnknownAuthMethod;

impl ClientAuthMethod {
    /// All of them, as they are announced. Claude uses metadata documents only if `none` is announced.
    pub const ALL: [Self; 4] =
        [Self::None, Self::PrivateKeyJwt, Self::ClientSecretBasic, Self::ClientSecretPost];

    /// The name on the wire.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::ClientSecretBasic => "client_secret_basic",
            Self::ClientSecretPost => "client_secret_post",
            Self::PrivateKeyJwt => "private_key_jwt",
        }
    }

    /// Whether it proves that the client is who it claims to be.
    pub const fn is_confidential(self) -> bool {
        !matches!(self, Self::None)
    }

    /// Whether it uses a secret.
    pub const fn uses_secret(self) -> bool {
        matches!(self, Self::ClientSecretBasic | Self::ClientSecretPost)
    }
}

impl FromStr for ClientAuthMethod {
    type Err = UnknownAuthMethod;

    fn from_str(text: &str) -> Result<Self, UnknownAuthMethod> {
        Self::ALL.into_iter().find(|method| method.as_str() == text).ok_or(UnknownAuthMethod)
    }
}

impl fmt::Display for ClientAuthMethod {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_method_is_read_as_it_is_written() {
        for method in ClientAuthMethod::ALL {
            assert_eq!(method.to_string().parse(), Ok(method));
            assert_eq!(serde_json::to_string(&method).unwrap(), format!("\"{method}\""));
        }
        for other in ["", "None", "client_secret_jwt", "tls_client_auth"] {
            assert_eq!(other.parse::<ClientAuthMethod>(), Err(UnknownAuthMethod), "{other}");
        }
    }
}
