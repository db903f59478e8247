//! Renews a grant at the authorization server that issued it.

use http::Uri;
use jiff::Timestamp;
use toolyard_protocol::secret::SecretText;

use super::discover::discover_authorization_server;
use super::error::OAuthError;
use super::record::OAuthGrant;
use super::requests::StepHttpClient;
use super::token::{TokenReply, TokenResponse, grant_from_response, no_token_error, request_token};

/// Result of a renewal.
#[derive(Debug)]
pub(super) enum RenewalOutcome {
    /// New tokens.
    Renewed(Box<OAuthGrant>),
    /// The authorization server no longer knows the refresh token or the client.
    Rejected,
    /// The upstream now trusts another authorization server, which must not see these tokens.
    Moved,
}

/// Renews a grant. Scopes are not requested: without them the new token has the same ones.
pub(super) async fn refresh_grant(
    url: &Uri,
    requests: &StepHttpClient,
    challenge: Option<&str>,
    grant: &OAuthGrant,
    refresh_token: &SecretText,
    now: Timestamp,
) -> Result<RenewalOutcome, OAuthError> {
    let found = discover_authorization_server(url, requests, challenge).await?;
    if found.server.issuer != grant.issuer {
        return Ok(RenewalOutcome::Moved);
    }
    let fields = [("grant_type", "refresh_token"), ("refresh_token", refresh_token.expose())];
    match request_token(&found, requests, &grant.client, &fields).await? {
        TokenReply::Issued(tokens) => {
            let renewed = renewed_grant(grant, tokens, refresh_token, now)?;
            Ok(RenewalOutcome::Renewed(Box::new(renewed)))
        }
        TokenReply::Refused(code) => match code.as_deref() {
            Some("invalid_grant" | "invalid_client" | "unauthorized_client") => Ok(RenewalOutcome::Rejected),
            _ => Err(no_token_error(code)),
        },
    }
}

/// The grant with its new tokens. A server that does not rotate its refresh tokens sends none; then the old one stays
/// valid.
fn renewed_grant(
    grant: &OAuthGrant,
    tokens: TokenResponse,
    refresh_token: &SecretText,
    now: Timestamp,
) -> Result<OAuthGrant, OAuthError> {
    let renewed = grant_from_response(tokens, &grant.issuer, grant.client.clone(), &grant.scopes, now)?;
    Ok(OAuthGrant {
        refresh_token: renewed.refresh_token.or_else(|| Some(refresh_token.clone())),
        renewed_at: Some(now),
        requested: grant.requested.clone(),
        ..renewed
    })
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::super::record::OAuthClient;
    use super::*;

    const NOW: Timestamp = Timestamp::UNIX_EPOCH;

    fn renewed(answer: Value) -> Result<OAuthGrant, OAuthError> {
        let old = SecretText::new("refresh-1");
        let grant = OAuthGrant {
            issuer: "https://as.example".to_owned(),
            client: OAuthClient {
                id: "id".to_owned(),
                secret: None,
                redirect_uri: "http://localhost".to_owned(),
            },
            access_token: SecretText::new("access-1"),
            refresh_token: Some(old.clone()),
            expires_at: Some(NOW),
            renewed_at: None,
            requested: vec!["read".to_owned(), "write".to_owned()],
            scopes: vec!["read".to_owned()],
        };
        renewed_grant(&grant, serde_json::from_value(answer).unwrap(), &old, NOW)
    }

    #[test]
    fn a_rotated_refresh_token_replaces_the_old_one() {
        let grant = renewed(
            json!({ "access_token": "access-2", "token_type": "bearer", "refresh_token": "refresh-2" }),
        );
        let grant = grant.unwrap();
        assert_eq!(grant.access_token, SecretText::new("access-2"));
        assert_eq!(grant.refresh_token, Some(SecretText::new("refresh-2")));
        assert_eq!((grant.renewed_at, grant.expires_at), (Some(NOW), None));
        assert_eq!(
            (grant.scopes, grant.requested),
            (vec!["read".to_owned()], vec!["read".to_owned(), "write".to_owned()])
        );
    }

    #[test]
    fn a_refresh_token_that_is_not_rotated_stays() {
        let grant = renewed(json!({ "access_token": "access-2", "token_type": "bearer" })).unwrap();
        assert_eq!(grant.refresh_token, Some(SecretText::new("refresh-1")));
    }

    #[test]
    fn an_unusable_refresh_token_is_not_stored() {
        let empty =
            renewed(json!({ "access_token": "access-2", "token_type": "bearer", "refresh_token": "" }));
        assert!(matches!(empty, Err(OAuthError::NoToken(_))));
    }
}
