//! Registrations: defaults, quirks, bounds.

use serde_json::{Value, json};

use super::*;
use crate::{error::OAuthErrorCode, redirect::RedirectError};

fn register(request: &Value) -> Result<RegisteredClient, ClientMetadataError> {
    let bytes = RegistrationBytes { id: [1; 16], secret: Zeroizing::new([2; 32]) };
    register_client(request.to_string().as_bytes(), bytes, Timestamp::from_second(1_000).unwrap())
}

/// A good request with some fields replaced.
fn request(changes: Value) -> Value {
    let mut request = json!({ "redirect_uris": ["https://client.example/cb"] });
    request.as_object_mut().unwrap().extend(changes.as_object().unwrap().clone());
    request
}

#[test]
fn a_short_request_gets_the_defaults() {
    let registered = register(&request(json!({}))).unwrap();
    let expected = json!({
        "client_id": "tyc_AQEBAQEBAQEBAQEBAQEBAQ",
        "client_id_issued_at": 1_000,
        "client_name": "Unnamed client",
        "redirect_uris": ["https://client.example/cb"],
        "grant_types": ["authorization_code", "refresh_token"],
        "response_types": ["code"],
        "token_endpoint_auth_method": "none",
    });
    assert_eq!(serde_json::to_value(&registered.response).unwrap(), expected);
    assert_eq!(registered.client.authentication, [ClientAuthentication::None]);
    assert_eq!(registered.client.kind, ClientKind::Dynamic);
}

#[test]
fn the_response_lists_refresh_tokens_whatever_was_requested() {
    for grants in [
        json!(null),
        json!([]),
        json!(["authorization_code"]),
        json!(["refresh_token", "authorization_code"]),
    ] {
        let registered = register(&request(json!({ "grant_types": grants }))).unwrap();
        let response = serde_json::to_value(&registered.response).unwrap();
        assert_eq!(response["grant_types"], json!(["authorization_code", "refresh_token"]), "{grants}");
    }
    let registered = register(&request(json!({
        "grant_types": ["authorization_code", "client_credentials", "urn:ietf:params:oauth:grant-type:device_code"],
    })));
    let client = registered.unwrap().client;
    assert_eq!(client.grant_types, [GrantType::AuthorizationCode, GrantType::RefreshToken]);
}

#[test]
fn secrets_are_issued_when_requested_and_stored_as_a_hash() {
    for method in ["client_secret_basic", "client_secret_post"] {
        let registered = register(&request(json!({ "token_endpoint_auth_method": method }))).unwrap();
        let response = serde_json::to_value(&registered.response).unwrap();
        assert_eq!(response["token_endpoint_auth_method"], method);
        assert_eq!(response["client_secret_expires_at"], 0);
        let secret = SecretText::new(response["client_secret"].as_str().unwrap());
        let [ClientAuthentication::Secret { sha256 }] = &registered.client.authentication[..] else {
            panic!("no secret")
        };
        assert!(sha256.verify(&secret));
        assert!(!serde_json::to_string(&registered.client).unwrap().contains(secret.expose()));
        assert!(!format!("{registered:?}").contains(secret.expose()));
    }
}

#[test]
fn perplexity_gets_the_secret_that_it_needs() {
    let quirk = |uri: &str| {
        let changes = json!({ "redirect_uris": [uri], "token_endpoint_auth_method": "none" });
        register(&request(changes)).unwrap().response
    };
    for uri in CONFIDENTIAL_REDIRECTS {
        let response = quirk(uri);
        assert_eq!(response.token_endpoint_auth_method, ClientAuthMethod::ClientSecretPost, "{uri}");
        assert!(response.client_secret.is_some());
    }
    for uri in [
        "https://www.perplexity.ai/rest/connections/oauth_callback/",
        "https://www.perplexity.ai.evil.example/rest/connections/oauth_callback",
    ] {
        assert_eq!(quirk(uri).token_endpoint_auth_method, ClientAuthMethod::None, "{uri}");
    }
}

#[test]
fn keys_can_be_registered() {
    let registered = register(&request(json!({
        "token_endpoint_auth_method": "private_key_jwt", "jwks_uri": "https://client.example/jwks",
    })));
    let registered = registered.unwrap();
    assert_eq!(registered.response.jwks_uri.unwrap().as_str(), "https://client.example/jwks");
    assert_eq!(registered.client.key_url().unwrap().as_str(), "https://client.example/jwks");
}

#[test]
fn bad_requests_are_refused_with_the_code_of_rfc_7591() {
    let redirect = OAuthErrorCode::InvalidRedirectUri;
    let metadata = OAuthErrorCode::InvalidClientMetadata;
    for (changes, expected, code) in [
        (json!({ "redirect_uris": [] }), ClientMetadataError::NoRedirect, redirect),
        (
            json!({ "redirect_uris": ["https://a.example/cb", "http://a.example/cb"] }),
            ClientMetadataError::Redirect(RedirectError::Insecure),
            redirect,
        ),
        (
            json!({ "redirect_uris": vec!["https://a.example/"; 51] }),
            ClientMetadataError::TooManyRedirects,
            redirect,
        ),
        (json!({ "token_endpoint_auth_method": "private_key_jwt" }), ClientMetadataError::NoKeys, metadata),
        (json!({ "token_endpoint_auth_method": "tls" }), ClientMetadataError::AuthenticationMethod, metadata),
        (json!({ "grant_types": ["client_credentials"] }), ClientMetadataError::GrantType, metadata),
        (json!({ "grant_types": ["refresh_token"] }), ClientMetadataError::GrantType, metadata),
        (json!({ "grant_types": vec!["x"; 21] }), ClientMetadataError::TooManyItems("grant_types"), metadata),
        (json!({ "response_types": ["token"] }), ClientMetadataError::ResponseType, metadata),
        (json!({ "client_name": ["x"] }), ClientMetadataError::Malformed, metadata),
        (
            json!({ "x": "x".repeat(MAX_REGISTRATION_BYTES) }),
            ClientMetadataError::TooLarge(MAX_REGISTRATION_BYTES),
            metadata,
        ),
    ] {
        let error = register(&request(changes.clone())).unwrap_err();
        assert_eq!((error, error.code()), (expected, code), "{changes}");
        assert_eq!(crate::error::ErrorResponse::from(error).status, 400);
    }
}

#[test]
fn a_client_cannot_choose_its_id_or_name_tricks() {
    let registered = register(&request(json!({
        "client_id": "https://claude.ai/oauth", "client_secret": "mine", "client_name": "Cla\u{ad}ude \u{202e}\n\n",
    })));
    let client = registered.unwrap().client;
    assert_eq!((client.id.as_str(), client.name.as_str()), ("tyc_AQEBAQEBAQEBAQEBAQEBAQ", "Claude"));
    let long = register(&request(json!({ "client_name": "x".repeat(1_000) }))).unwrap().client.name;
    assert_eq!(long.as_str().chars().count(), super::super::MAX_NAME_CHARS + 1, "cut, with an ellipsis");
}
