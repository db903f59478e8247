//! Requests tokens: proves who the client is, names the resource, and reads the response of the token endpoint.

use std::time::Duration;

use base64::{Engine as _, engine::general_purpose::STANDARD};
use http::HeaderValue;
use jiff::Timestamp;
use serde::Deserialize;
use toolyard_protocol::secret::SecretText;
use url::form_urlencoded;

use super::discover::DiscoveredServer;
use super::error::{OAuthError, sanitize_foreign_text};
use super::record::{OAuthClient, OAuthGrant, add_scopes};
use super::requests::{OAuthResponse, StepHttpClient};

/// Longest token, in bytes: it must fit into a header.
const MAX_TOKEN_BYTES: usize = 16 * 1024;
/// Longest lifetime that is accepted.
const MAX_LIFE: Duration = Duration::from_secs(10 * 366 * 24 * 3600);

/// What the token endpoint responded.
#[derive(Debug)]
pub(super) enum TokenReply {
    /// Tokens, not checked yet.
    Issued(TokenResponse),
    /// A refusal with its error code, such as `invalid_grant`; `None` if the response is not valid OAuth.
    Refused(Option<String>),
}

/// The tokens in a response.
#[derive(Debug, Deserialize)]
pub(super) struct TokenResponse {
    access_token: SecretText,
    token_type: String,
    expires_in: Option<u64>,
    refresh_token: Option<SecretText>,
    scope: Option<String>,
}

/// The error body of authorization servers.
#[derive(Deserialize)]
struct TokenErrorBody {
    error: String,
}

/// Requests tokens. `fields` are those of the grant; the client and the resource are added here.
pub(super) async fn request_token(
    found: &DiscoveredServer,
    requests: &StepHttpClient,
    client: &OAuthClient,
    fields: &[(&str, &str)],
) -> Result<TokenReply, OAuthError> {
    let (form, authorization) = token_form(found, client, fields)?;
    let answer = requests.post_form(&found.server.token_endpoint, form, authorization).await?;
    Ok(read_reply(&answer))
}

/// The body of a token request, and the header that proves who the client is.
fn token_form(
    found: &DiscoveredServer,
    client: &OAuthClient,
    fields: &[(&str, &str)],
) -> Result<(String, Option<HeaderValue>), OAuthError> {
    let mut form = form_urlencoded::Serializer::new(String::new());
    form.extend_pairs(fields).append_pair("resource", &found.resource);
    match &client.secret {
        Some(secret) if !found.server.secret_in_body => {
            Ok((form.finish(), Some(basic_header(&client.id, secret)?)))
        }
        secret => {
            form.append_pair("client_id", &client.id);
            form.extend_pairs(secret.iter().map(|secret| ("client_secret", secret.expose())));
            Ok((form.finish(), None))
        }
    }
}

/// RFC 6749, 2.3.1: both are encoded as in a form first.
fn basic_header(id: &str, secret: &SecretText) -> Result<HeaderValue, OAuthError> {
    let encoded = |text: &str| form_urlencoded::byte_serialize(text.as_bytes()).collect::<String>();
    let pair = format!("{}:{}", encoded(id), encoded(secret.expose()));
    let value = HeaderValue::try_from(format!("Basic {}", STANDARD.encode(pair)));
    let mut value = value.map_err(|_| OAuthError::NoToken("the client secret fits no header".to_owned()))?;
    value.set_sensitive(true);
    Ok(value)
}

/// Some servers refuse with the status 200. A failing server refuses nothing.
fn read_reply(answer: &OAuthResponse) -> TokenReply {
    let status = answer.status();
    if status.is_success()
        && let Ok(response) = serde_json::from_slice(answer.body())
    {
        return TokenReply::Issued(response);
    }
    let readable = status.is_success() || status.is_client_error();
    let refusal = readable.then(|| serde_json::from_slice::<TokenErrorBody>(answer.body()).ok()).flatten();
    TokenReply::Refused(refusal.map(|refusal| sanitize_foreign_text(&refusal.error)))
}

/// The error for a refusal: its code, and never the response itself, which may contain tokens.
pub(super) fn no_token_error(code: Option<String>) -> OAuthError {
    OAuthError::NoToken(code.unwrap_or_else(|| "its response is not valid OAuth".to_owned()))
}

/// The grant in a response of the token endpoint. A response without scopes grants the requested ones.
pub(super) fn grant_from_response(
    tokens: TokenResponse,
    issuer: &str,
    client: OAuthClient,
    requested: &[String],
    now: Timestamp,
) -> Result<OAuthGrant, OAuthError> {
    let unusable = |what: &str| OAuthError::NoToken(what.to_owned());
    if !tokens.token_type.eq_ignore_ascii_case("bearer") {
        return Err(unusable("it is not a bearer token"));
    }
    let fits = |token: &SecretText| (1..=MAX_TOKEN_BYTES).contains(&token.expose().len());
    if !fits(&tokens.access_token) || !tokens.refresh_token.as_ref().is_none_or(fits) {
        return Err(unusable("it is empty or too long"));
    }
    let life = tokens.expires_in.map(|seconds| Duration::from_secs(seconds).min(MAX_LIFE));
    let mut scopes = Vec::new();
    match tokens.scope {
        Some(given) => add_scopes(&mut scopes, given.split_whitespace().map(str::to_owned)),
        None => add_scopes(&mut scopes, requested.iter().cloned()),
    }
    Ok(OAuthGrant {
        issuer: issuer.to_owned(),
        client,
        access_token: tokens.access_token,
        refresh_token: tokens.refresh_token,
        expires_at: life.and_then(|life| now.checked_add(life).ok()),
        renewed_at: None,
        requested: requested.to_vec(),
        scopes,
    })
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;
    use serde_json::{Value, json};

    use super::*;

    const NOW: Timestamp = Timestamp::UNIX_EPOCH;

    fn given(answer: Value) -> Result<OAuthGrant, OAuthError> {
        let client =
            OAuthClient { id: "id".to_owned(), secret: None, redirect_uri: "http://localhost".to_owned() };
        let answer = serde_json::from_value(answer).unwrap();
        grant_from_response(answer, "https://as.example", client, &["asked".to_owned()], NOW)
    }

    fn reply(status: u16, body: &Value) -> TokenReply {
        let answer = http::Response::builder().status(status).body(Bytes::from(body.to_string()));
        read_reply(&answer.unwrap())
    }

    #[test]
    fn an_answer_is_read() {
        let grant = given(json!({
            "access_token": "a", "token_type": "BEARER", "expires_in": 60, "refresh_token": "r",
            "scope": "x y", "id_token": "not kept",
        }));
        let grant = grant.unwrap();
        assert_eq!(
            (grant.access_token, grant.refresh_token),
            (SecretText::new("a"), Some(SecretText::new("r")))
        );
        assert_eq!(grant.expires_at, Some(Timestamp::from_second(60).unwrap()));
        assert_eq!(grant.scopes, ["x", "y"]);
    }

    #[test]
    fn a_token_response_without_scopes_grants_the_requested_ones() {
        let grant = given(json!({ "access_token": "a", "token_type": "bearer" })).unwrap();
        assert_eq!((grant.scopes, grant.expires_at), (vec!["asked".to_owned()], None));
    }

    #[test]
    fn only_bearers_that_fit_into_a_header_are_taken() {
        let long = "a".repeat(MAX_TOKEN_BYTES + 1);
        for answer in [
            json!({ "access_token": "a", "token_type": "mac" }),
            json!({ "access_token": "", "token_type": "bearer" }),
            json!({ "access_token": long, "token_type": "bearer" }),
            json!({ "access_token": "a", "token_type": "bearer", "refresh_token": long }),
        ] {
            assert!(matches!(given(answer), Err(OAuthError::NoToken(_))));
        }
        let longest = "a".repeat(MAX_TOKEN_BYTES);
        assert!(given(json!({ "access_token": longest, "token_type": "bearer" })).is_ok());
    }

    #[test]
    fn token_lifetimes_are_clamped() {
        let grant = given(json!({ "access_token": "a", "token_type": "bearer", "expires_in": u64::MAX }));
        assert_eq!(grant.unwrap().expires_at, NOW.checked_add(MAX_LIFE).ok());
    }

    #[test]
    fn a_refusal_has_its_code_and_a_failure_has_none() {
        let refusal = json!({ "error": "invalid_grant", "access_token": "sesame" });
        for (status, code) in
            [(400, Some("invalid_grant")), (200, Some("invalid_grant")), (500, None), (302, None)]
        {
            let reply = reply(status, &refusal);
            assert!(
                matches!(&reply, TokenReply::Refused(read) if read.as_deref() == code),
                "{status} {reply:?}"
            );
        }
        let tokens = json!({ "access_token": "sesame", "token_type": "bearer" });
        let issued = reply(200, &tokens);
        assert!(matches!(issued, TokenReply::Issued(_)) && !format!("{issued:?}").contains("sesame"));
        assert!(matches!(reply(400, &tokens), TokenReply::Refused(None)));
    }

    #[test]
    fn id_and_secret_are_encoded_before_they_are_joined() {
        let header = basic_header("a:b", &SecretText::new("ä c")).unwrap();
        let expected = format!("Basic {}", STANDARD.encode("a%3Ab:%C3%A4+c"));
        assert_eq!(header.to_str().unwrap(), expected);
        assert!(header.is_sensitive());
    }
}
