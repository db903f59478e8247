//! Token revocation (RFC 7009).

use crate::{
    client::ClientId,
    client_auth::AuthenticatedClient,
    parameters::RequestParameters,
    refresh::GrantId,
    token_reference::{TokenReference, may_reference},
    token_request::TokenError,
};

/// A request to the revocation endpoint. Public clients may revoke as well: having a token is enough to end it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RevocationRequest(pub TokenReference);

/// What a token belongs to, as the caller found it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RevocableToken {
    /// The client that it was issued to.
    pub client_id: ClientId,
    /// The grant that it belongs to.
    pub grant: GrantId,
    /// Whether it is a refresh token.
    pub is_refresh_token: bool,
}

/// What to revoke.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RevocationDecision {
    /// The whole grant, with all its tokens.
    Grant(GrantId),
    /// This access token only.
    AccessToken,
    /// Nothing. The response is the same as after a revocation: 200 with an empty body.
    Nothing,
}

impl RevocationRequest {
    /// Reads a request: the `Authorization` header, and the form.
    pub fn parse(authorization: Option<&str>, form: &RequestParameters) -> Result<Self, TokenError> {
        TokenReference::parse(authorization, form).map(Self)
    }
}

/// Decides what a client may revoke. `found` is `None` for an unknown or expired token.
pub fn decide_revocation(client: &AuthenticatedClient, found: Option<&RevocableToken>) -> RevocationDecision {
    match found {
        Some(token) if !may_reference(client, &token.client_id) => RevocationDecision::Nothing,
        Some(token) if token.is_refresh_token => RevocationDecision::Grant(token.grant),
        Some(_) => RevocationDecision::AccessToken,
        None => RevocationDecision::Nothing,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refresh_token_ends_its_grant() {
        let grant = GrantId::from_bytes([1; 16]);
        let token = |client: &str, is_refresh_token: bool| RevocableToken {
            client_id: client.parse().unwrap(),
            grant,
            is_refresh_token,
        };
        let client = AuthenticatedClient::public("c".parse().unwrap());
        for (found, expected) in [
            (None, RevocationDecision::Nothing),
            (Some(token("c", true)), RevocationDecision::Grant(grant)),
            (Some(token("c", false)), RevocationDecision::AccessToken),
            (Some(token("other", true)), RevocationDecision::Nothing),
            (Some(token("other", false)), RevocationDecision::Nothing),
        ] {
            assert_eq!(decide_revocation(&client, found.as_ref()), expected, "{found:?}");
        }
    }

    #[test]
    fn a_request_is_read() {
        let form =
            RequestParameters::parse(b"client_id=c&token=tyr_x&token_type_hint=refresh_token").unwrap();
        assert_eq!(RevocationRequest::parse(None, &form).unwrap().0.token.expose(), "tyr_x");
    }
}
