//! A token that a request names, to introspect or revoke it.

use toolyard_protocol::secret::SecretText;

use crate::{
    parameters::RequestParameters,
    token_request::{PresentedClient, TokenError},
};

/// Longest token that is looked up, in bytes.
pub const MAX_TOKEN_BYTES: usize = 16 * 1024;

/// What the client believes the token to be. Only where to look first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TokenTypeHint {
    /// An access token.
    AccessToken,
    /// A refresh token.
    RefreshToken,
}

/// A request that names a token.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TokenReference {
    /// Who asks, not yet authenticated.
    pub client: PresentedClient,
    /// The token.
    pub token: SecretText,
    /// The hint; an unknown one is ignored.
    pub hint: Option<TokenTypeHint>,
}

impl TokenReference {
    /// Reads a request: the `Authorization` header, and the form.
    pub fn parse(authorization: Option<&str>, form: &RequestParameters) -> Result<Self, TokenError> {
        form.refuse_duplicates()?;
        let hint = match form.get("token_type_hint") {
            Some("access_token") => Some(TokenTypeHint::AccessToken),
            Some("refresh_token") => Some(TokenTypeHint::RefreshToken),
            _ => None,
        };
        let client = PresentedClient::parse(authorization, form)?;
        Ok(Self { client, token: SecretText::new(form.required("token", MAX_TOKEN_BYTES)?), hint })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parameters::ParameterError;

    fn parse(form: &str) -> Result<TokenReference, TokenError> {
        TokenReference::parse(None, &RequestParameters::parse(form.as_bytes()).unwrap())
    }

    #[test]
    fn token_and_hint_are_read() {
        for (hint, expected) in [
            ("", None),
            ("&token_type_hint=access_token", Some(TokenTypeHint::AccessToken)),
            ("&token_type_hint=refresh_token", Some(TokenTypeHint::RefreshToken)),
            ("&token_type_hint=saml", None),
        ] {
            let request = parse(&format!("client_id=c&token=t{hint}")).unwrap();
            assert_eq!((request.token.expose(), request.hint), ("t", expected), "{hint}");
        }
    }

    #[test]
    fn bad_requests_are_refused() {
        let long = format!("client_id=c&token={}", "t".repeat(MAX_TOKEN_BYTES + 1));
        for (form, expected) in [
            ("client_id=c", ParameterError::Missing("token")),
            ("client_id=c&token=a&token=b", ParameterError::Duplicated("token")),
            (long.as_str(), ParameterError::TooLong("token", MAX_TOKEN_BYTES)),
        ] {
            assert_eq!(parse(form), Err(TokenError::Parameter(expected)));
        }
    }
}
