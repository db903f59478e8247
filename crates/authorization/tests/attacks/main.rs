//! Attacks on the authorization server. Each row is a name, an input and the error that must come out.
//!
//! Attacks on what the caller does (replay of codes and ids, sessions, fetches) are tested with the caller.

#![cfg(test)]

mod assertions;
mod authorize;
mod documents;
#[path = "../support/keys.rs"]
mod keys;
mod redirects;
mod tokens;

use jiff::Timestamp;
use serde_json::{Value, json};
use toolyard_authorization::{
    client::{OAuthClient, SecretHash},
    issuer::IssuerOrigin,
    resource::AcceptedResources,
};
use toolyard_protocol::secret::SecretText;

const ISSUER: &str = "https://tools.example.com";
const TOKEN_ENDPOINT: &str = "https://tools.example.com/oauth/token";
const RESOURCE: &str = "https://tools.example.com/mcp";
const NOW: i64 = 1_800_000_000;

fn issuer() -> IssuerOrigin {
    ISSUER.parse().unwrap()
}

fn resources() -> AcceptedResources {
    AcceptedResources::single(RESOURCE.parse().unwrap())
}

fn now() -> Timestamp {
    Timestamp::from_second(NOW).unwrap()
}

/// The attacked client: `victim`, with one way to authenticate, as it would be stored.
fn victim(authentication: Value) -> OAuthClient {
    let stored = json!({
        "id": "victim",
        "name": "The victim",
        "kind": "preregistered",
        "redirect_uris": [
            "https://client.example/cb", "https://client.example/Path?fixed=1", "http://localhost/cb", "cursor://app/cb",
        ],
        "authentication": [authentication],
        "grant_types": ["authorization_code", "client_credentials"],
    });
    serde_json::from_value(stored).unwrap()
}

fn public_victim() -> OAuthClient {
    victim(json!({ "method": "none" }))
}

fn secret_victim(secret: &str) -> OAuthClient {
    victim(json!({ "method": "secret", "sha256": SecretHash::from_secret(&SecretText::new(secret)) }))
}

/// An object with some members replaced.
fn with(mut object: Value, changes: Value) -> Value {
    object.as_object_mut().unwrap().extend(changes.as_object().unwrap().clone());
    object
}

#[test]
fn there_are_many_attacks() {
    let rows = redirects::ATTACKS.len()
        + authorize::attacks().len()
        + documents::attacks().len()
        + assertions::client_attacks().len()
        + assertions::identity_attacks().len()
        + tokens::attacks().len();
    assert!(rows >= 120, "{rows} rows");
}
