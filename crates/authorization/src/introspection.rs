//! Token introspection (RFC 7662). Only for clients that authenticate: a public client could probe found tokens.

use serde::Serialize;

use crate::{
    client::ClientId,
    client_auth::{AuthenticatedClient, ClientAuthError},
    parameters::RequestParameters,
    scope::ScopeSet,
    token_reference::TokenReference,
    token_request::TokenError,
};

/// A request to the introspection endpoint.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IntrospectionRequest(pub TokenReference);

impl IntrospectionRequest {
    /// Reads a request: the `Authorization` header, and the form.
    pub fn parse(authorization: Option<&str>, form: &RequestParameters) -> Result<Self, TokenError> {
        TokenReference::parse(authorization, form).map(Self)
    }

    /// Checks that the client may introspect at all.
    pub fn check_caller(client: &AuthenticatedClient) -> Result<(), ClientAuthError> {
        if client.method().is_confidential() { Ok(()) } else { Err(ClientAuthError::MethodNotAllowed) }
    }
}

/// The response to an introspection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum IntrospectionResponse {
    /// Unknown, expired, revoked, or another client's. Nothing else is said.
    Inactive,
    /// Valid.
    Active(ActiveToken),
}

/// What is known about a valid token.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ActiveToken {
    /// Its scopes.
    pub scope: ScopeSet,
    /// The client that it was issued to.
    pub client_id: ClientId,
    /// The user's id; none for a machine.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sub: Option<String>,
    /// The user's name for people.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub username: Option<String>,
    /// `Bearer`, or none for a refresh token.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub token_type: Option<&'static str>,
    /// When it expires, in seconds since 1970.
    pub exp: i64,
    /// When it was issued, in seconds since 1970.
    pub iat: i64,
    /// This server.
    pub iss: String,
    /// The resource that it is for.
    pub aud: String,
    /// Its id.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub jti: Option<String>,
}

/// The wire form.
#[derive(Serialize)]
struct IntrospectionBody<'a> {
    active: bool,
    #[serde(flatten)]
    token: Option<&'a ActiveToken>,
}

impl Serialize for IntrospectionResponse {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let token = match self {
            Self::Inactive => None,
            Self::Active(token) => Some(token),
        };
        IntrospectionBody { active: token.is_some(), token }.serialize(serializer)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_inactive_token_says_nothing_else() {
        assert_eq!(serde_json::to_string(&IntrospectionResponse::Inactive).unwrap(), r#"{"active":false}"#);
    }

    #[test]
    fn an_active_token_is_described() {
        let token = ActiveToken {
            scope: ScopeSet::parse("tools:read").unwrap().scopes,
            client_id: "c".parse().unwrap(),
            sub: Some("ada".to_owned()),
            username: None,
            token_type: Some("Bearer"),
            exp: 20,
            iat: 10,
            iss: "https://tools.example.com".to_owned(),
            aud: "https://tools.example.com/mcp".to_owned(),
            jti: None,
        };
        let expected = json!({
            "active": true, "scope": "tools:read", "client_id": "c", "sub": "ada", "token_type": "Bearer", "exp": 20, "iat": 10,
            "iss": "https://tools.example.com", "aud": "https://tools.example.com/mcp",
        });
        assert_eq!(serde_json::to_value(IntrospectionResponse::Active(token)).unwrap(), expected);
    }

    #[test]
    fn public_clients_cannot_introspect() {
        let id = || "c".parse().unwrap();
        assert_eq!(IntrospectionRequest::check_caller(&AuthenticatedClient::confidential(id())), Ok(()));
        let refused = IntrospectionRequest::check_caller(&AuthenticatedClient::public(id()));
        assert_eq!(refused, Err(ClientAuthError::MethodNotAllowed));
        let form = RequestParameters::parse(b"client_id=c&token=t").unwrap();
        assert_eq!(IntrospectionRequest::parse(None, &form).unwrap().0.token.expose(), "t");
    }
}
