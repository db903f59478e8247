//! Documents shaped like those of real clients, and what is refused.

use serde_json::{Value, json};

use super::*;
use crate::{client::KeySource, jwt::KeySetError};

const URL: &str = "https://client.example/metadata.json";

/// Documents in the shape of those that clients publish; written from their documented facts, not copied.
/// Name, document, a redirect URI of a request, accepted ways to authenticate.
const REAL_DOCUMENTS: [(&str, &str, &str, &[&str]); 5] = [
    (
        "Claude",
        r#"{"client_id":"https://claude.ai/oauth/mcp-oauth-client-metadata","client_name":"Claude",
            "client_uri":"https://claude.ai","redirect_uris":["https://claude.ai/api/mcp/auth_callback",
            "https://claude.com/api/mcp/auth_callback"],"grant_types":["authorization_code","refresh_token",
            "urn:ietf:params:oauth:grant-type:jwt-bearer"],"response_types":["code"],"token_endpoint_auth_method":"none"}"#,
        "https://claude.ai/api/mcp/auth_callback",
        &["none"],
    ),
    (
        "Claude Code",
        r#"{"client_id":"https://claude.ai/oauth/claude-code-client-metadata","client_name":"Claude Code",
            "redirect_uris":["http://localhost/callback","http://127.0.0.1/callback"],
            "grant_types":["authorization_code","refresh_token"],"response_types":["code"],
            "token_endpoint_auth_method":"none"}"#,
        "http://localhost:53412/callback",
        &["none"],
    ),
    (
        "ChatGPT",
        r#"{"client_id":"https://chatgpt.com/oauth/abc123/client.json","client_name":"ChatGPT",
            "redirect_uris":["https://chatgpt.com/connector/oauth/abc123"],
            "grant_types":["authorization_code","refresh_token"],"response_types":["code"],
            "token_endpoint_auth_method":"private_key_jwt","token_endpoint_auth_signing_alg":"RS256",
            "token_endpoint_auth_methods_supported":["none","private_key_jwt"],
            "jwks_uri":"https://chatgpt.com/oauth/jwks.json"}"#,
        "https://chatgpt.com/connector/oauth/abc123",
        &["none", "private_key_jwt"],
    ),
    (
        "Visual Studio Code",
        r#"{"client_id":"https://vscode.dev/oauth/client-metadata.json","client_name":"Visual Studio Code",
            "client_uri":"https://vscode.dev","logo_uri":"https://vscode.dev/logo.png",
            "redirect_uris":["http://127.0.0.1/","http://127.0.0.1:33418/","https://vscode.dev/redirect"],
            "grant_types":["authorization_code","refresh_token","urn:ietf:params:oauth:grant-type:device_code"],
            "response_types":["code"],"application_type":"native","token_endpoint_auth_method":"none"}"#,
        "http://127.0.0.1:61999/",
        &["none"],
    ),
    (
        "Zed",
        r#"{"client_id":"https://zed.dev/oauth/client-metadata.json","client_name":"Zed",
            "client_uri":"https://zed.dev","redirect_uris":["http://127.0.0.1/callback","zed://oauth/callback"],
            "grant_types":["authorization_code"],"token_endpoint_auth_method":"none"}"#,
        "http://127.0.0.1:4000/callback",
        &["none"],
    ),
];

fn parse(document: &Value) -> Result<OAuthClient, ClientMetadataError> {
    let url = DocumentUrl::parse(&URL.parse().unwrap()).unwrap();
    parse_document(&url, document.to_string().as_bytes())
}

/// A good document with some fields replaced.
fn document(changes: Value) -> Value {
    let mut document = json!({ "client_id": URL, "redirect_uris": ["https://client.example/cb"] });
    document.as_object_mut().unwrap().extend(changes.as_object().unwrap().clone());
    document
}

fn method_names(client: &OAuthClient) -> Vec<&'static str> {
    let name = |way: &ClientAuthentication| match way {
        ClientAuthentication::None => "none",
        ClientAuthentication::Secret { .. } => "secret",
        ClientAuthentication::PrivateKeyJwt { .. } => "private_key_jwt",
    };
    client.authentication.iter().map(name).collect()
}

#[test]
fn documents_of_real_clients_are_accepted() {
    for (name, text, redirect, methods) in REAL_DOCUMENTS {
        let id = serde_json::from_str::<Value>(text).unwrap()["client_id"].as_str().unwrap().to_owned();
        let url = DocumentUrl::parse(&id.parse().unwrap()).unwrap();
        let client = parse_document(&url, text.as_bytes()).unwrap_or_else(|error| panic!("{name}: {error}"));
        assert_eq!((client.name.as_str(), client.id.as_str()), (name, id.as_str()));
        assert_eq!(client.find_redirect(redirect).unwrap().as_str(), redirect, "{name}");
        assert_eq!(method_names(&client), methods, "{name}");
        assert!(
            client.allows_grant(GrantType::AuthorizationCode) && client.allows_grant(GrantType::RefreshToken)
        );
        assert!(
            !client.allows_grant(GrantType::DeviceCode) && !client.allows_grant(GrantType::ClientCredentials)
        );
        assert_eq!(client.is_loopback_only(), name == "Claude Code", "{name}");
    }
}

#[test]
fn either_field_can_allow_a_method() {
    let keys = json!("https://client.example/jwks");
    for (changes, expected) in [
        (json!({}), Ok(vec!["none"])),
        (
            json!({ "token_endpoint_auth_method": "client_secret_basic" }),
            Err(ClientMetadataError::AuthenticationMethod),
        ),
        (
            json!({ "token_endpoint_auth_method": "client_secret_basic", "token_endpoint_auth_methods_supported": ["none"] }),
            Ok(vec!["none"]),
        ),
        (json!({ "token_endpoint_auth_method": "private_key_jwt" }), Err(ClientMetadataError::NoKeys)),
        (
            json!({ "token_endpoint_auth_method": "private_key_jwt", "jwks_uri": keys }),
            Ok(vec!["private_key_jwt"]),
        ),
        (
            json!({ "token_endpoint_auth_method": "none", "token_endpoint_auth_methods_supported": ["private_key_jwt"] }),
            Ok(vec!["none"]),
        ),
        (json!({ "token_endpoint_auth_method": "none", "jwks_uri": keys }), Ok(vec!["none"])),
    ] {
        let client = parse(&document(changes.clone()));
        assert_eq!(client.as_ref().map(method_names).map_err(|error| *error), expected, "{changes}");
    }
}

#[test]
fn keys_are_public_and_in_one_place() {
    let key = json!({ "kty": "OKP", "crv": "Ed25519", "x": "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo" });
    let mut private = key.clone();
    private["d"] = json!("x");
    let keyed = |changes: Value| {
        let mut document = document(changes);
        document["token_endpoint_auth_method"] = json!("private_key_jwt");
        document
    };
    let client = parse(&keyed(json!({ "jwks": { "keys": [key] } }))).unwrap();
    assert!(matches!(
        &client.authentication[0],
        ClientAuthentication::PrivateKeyJwt { keys: KeySource::Inline(_) }
    ));
    for (changes, expected) in [
        (
            json!({ "jwks": { "keys": [key] }, "jwks_uri": "https://a.example/" }),
            ClientMetadataError::TwoKeySets,
        ),
        (json!({ "jwks": { "keys": [private] } }), ClientMetadataError::Keys(KeySetError::Private)),
        (json!({ "jwks": {} }), ClientMetadataError::Keys(KeySetError::Malformed)),
        (json!({ "jwks_uri": "http://a.example/" }), ClientMetadataError::KeyUrl),
    ] {
        assert_eq!(parse(&keyed(changes.clone())), Err(expected), "{changes}");
    }
    let leaked = parse(&document(json!({ "jwks": { "keys": [private] } })));
    assert_eq!(leaked, Err(ClientMetadataError::Keys(KeySetError::Private)));
}

#[test]
fn hostile_and_broken_documents_are_refused() {
    let many = |count: usize| vec!["https://client.example/cb"; count];
    for (changes, expected) in [
        (json!({ "client_id": "https://client.example/metadata.json/" }), ClientMetadataError::OtherClient),
        (json!({ "client_id": "https://client.example/Metadata.json" }), ClientMetadataError::OtherClient),
        (json!({ "client_id": null }), ClientMetadataError::OtherClient),
        (json!({ "client_secret": "sesame" }), ClientMetadataError::PublishedSecret),
        (json!({ "client_secret_expires_at": 0 }), ClientMetadataError::PublishedSecret),
        (json!({ "redirect_uris": [] }), ClientMetadataError::NoRedirect),
        (
            json!({ "redirect_uris": ["javascript:alert(1)", "http://a.example"] }),
            ClientMetadataError::NoRedirect,
        ),
        (json!({ "redirect_uris": "https://client.example/cb" }), ClientMetadataError::Malformed),
        (json!({ "redirect_uris": many(MAX_REDIRECTS + 1) }), ClientMetadataError::TooManyRedirects),
        (
            json!({ "grant_types": vec!["x"; MAX_ITEMS + 1] }),
            ClientMetadataError::TooManyItems("grant_types"),
        ),
        (json!({ "grant_types": ["implicit", "client_credentials"] }), ClientMetadataError::GrantType),
        (json!({ "response_types": ["token"] }), ClientMetadataError::ResponseType),
        (json!({ "client_name": 5 }), ClientMetadataError::Malformed),
        (json!({ "x": "x".repeat(MAX_DOCUMENT_BYTES) }), ClientMetadataError::TooLarge(MAX_DOCUMENT_BYTES)),
    ] {
        assert_eq!(parse(&document(changes.clone())), Err(expected), "{changes}");
    }
    assert!(parse(&document(json!({ "redirect_uris": many(MAX_REDIRECTS) }))).is_ok());
    let url = DocumentUrl::parse(&URL.parse().unwrap()).unwrap();
    let twice =
        format!(r#"{{"client_id":"{URL}","client_id":"{URL}","redirect_uris":["https://a.example/"]}}"#);
    for bad in ["", "[]", "<html>", twice.as_str()] {
        assert_eq!(parse_document(&url, bad.as_bytes()), Err(ClientMetadataError::Malformed), "{bad}");
    }
}

#[test]
fn unusable_extras_are_left_out() {
    let client = parse(&document(json!({
        "client_name": "Cl\u{200b}aude\u{202e}\n", "logo_uri": "http://a.example/l", "client_uri": "javascript:x",
        "redirect_uris": ["ftp://a.example/", "https://client.example/cb"],
    })));
    let client = client.unwrap();
    assert_eq!((client.name.as_str(), client.logo, client.client_uri), ("Claude", None, None));
    assert_eq!(client.redirect_uris.len(), 1);
    let unnamed = parse(&document(json!({ "client_name": "\u{200b}" }))).unwrap();
    assert_eq!(unnamed.name.as_str(), "client.example");
}

const MAX_REDIRECTS: usize = crate::client::MAX_REDIRECT_URIS;
const MAX_ITEMS: usize = crate::client::MAX_METADATA_ITEMS;
