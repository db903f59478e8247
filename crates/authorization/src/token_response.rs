//! The response of the token endpoint.

use serde::Serialize;
use toolyard_protocol::secret::SecretText;

use crate::scope::ScopeSet;

/// Issued tokens. Sent with `Cache-Control: no-store`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct TokenResponse {
    /// The access token.
    pub access_token: SecretText,
    /// Always `Bearer`.
    pub token_type: TokenKind,
    /// Lifetime of the access token, in seconds.
    pub expires_in: u32,
    /// The refresh token; none for machines and identity assertions.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub refresh_token: Option<SecretText>,
    /// The scopes that were granted, which can be fewer than requested.
    pub scope: ScopeSet,
    /// The ID token, if `openid` was granted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub id_token: Option<SecretText>,
}

/// The kind of access token.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub enum TokenKind {
    /// Possession is enough to use it.
    #[default]
    Bearer,
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_response_has_what_was_issued_and_hides_it_from_logs() {
        let mut response = TokenResponse {
            access_token: SecretText::new("the-access"),
            token_type: TokenKind::Bearer,
            expires_in: 3_600,
            refresh_token: Some(SecretText::new("the-refresh")),
            scope: ScopeSet::parse("tools:read openid").unwrap().scopes,
            id_token: None,
        };
        let expected = json!({
            "access_token": "the-access", "token_type": "Bearer", "expires_in": 3_600, "refresh_token": "the-refresh",
            "scope": "tools:read openid",
        });
        assert_eq!(serde_json::to_value(&response).unwrap(), expected);
        assert!(!format!("{response:?}").contains("the-"));
        response.refresh_token = None;
        assert!(serde_json::to_value(&response).unwrap().get("refresh_token").is_none());
    }
}
