//! What clients may do, and how they are stored.

use serde_json::json;
use toolyard_protocol::secret::SecretText;

use super::*;

/// A public client with one redirect URI.
pub(crate) fn public_client() -> OAuthClient {
    OAuthClient {
        id: "the-client".parse().unwrap(),
        name: DisplayName::clean("The client").unwrap(),
        kind: ClientKind::Preregistered,
        redirect_uris: vec!["https://client.example/cb".parse().unwrap()],
        authentication: vec![ClientAuthentication::None],
        grant_types: vec![GrantType::AuthorizationCode],
        logo: None,
        client_uri: None,
        access_token_s: None,
    }
}

#[test]
fn a_redirect_must_be_registered() {
    let mut client = public_client();
    client.redirect_uris.push("http://localhost/cb".parse().unwrap());
    assert_eq!(client.find_redirect("http://localhost:9/cb").unwrap().as_str(), "http://localhost:9/cb");
    assert!(client.find_redirect("https://client.example/cb").is_ok());
    assert_eq!(client.find_redirect("https://client.example/cb2"), Err(RedirectError::NotRegistered));
    assert_eq!(client.find_redirect("javascript:x"), Err(RedirectError::Scheme));
}

#[test]
fn grants_depend_on_the_kind_of_client() {
    use GrantType::{AuthorizationCode, ClientCredentials, DeviceCode, JwtBearer, RefreshToken};
    let mut client = public_client();
    for (grant, allowed) in [
        (AuthorizationCode, true),
        (RefreshToken, true),
        (ClientCredentials, false),
        (JwtBearer, true),
        (DeviceCode, false),
    ] {
        assert_eq!(client.allows_grant(grant), allowed, "{grant}");
    }
    client.grant_types = vec![ClientCredentials, DeviceCode];
    for (kind, machine, assertion) in [
        (ClientKind::Preregistered, true, true),
        (ClientKind::MetadataDocument, false, true),
        (ClientKind::Dynamic, false, false),
    ] {
        client.kind = kind;
        assert_eq!(client.allows_grant(ClientCredentials), machine, "{kind:?}");
        assert_eq!(client.allows_grant(JwtBearer), assertion, "{kind:?}");
        assert_eq!(
            (client.allows_grant(DeviceCode), client.allows_grant(RefreshToken)),
            (machine, machine),
            "{kind:?}"
        );
        assert!(!client.allows_grant(AuthorizationCode));
    }
}

#[test]
fn token_lifetimes_are_bounded() {
    let mut client = public_client();
    assert_eq!(client.access_token_lifetime(3_600), 3_600);
    for (set, expected) in [(86_400, 86_400), (0, MIN_ACCESS_TOKEN_S), (u32::MAX, MAX_ACCESS_TOKEN_S)] {
        client.access_token_s = Some(set);
        assert_eq!(client.access_token_lifetime(3_600), expected);
    }
}

#[test]
fn a_client_is_stored_and_loaded() {
    let mut client = public_client();
    client.authentication = vec![
        ClientAuthentication::None,
        ClientAuthentication::Secret { sha256: SecretHash::from_secret(&SecretText::new("s")) },
        ClientAuthentication::PrivateKeyJwt {
            keys: KeySource::Url("https://client.example/jwks".parse().unwrap()),
        },
    ];
    client.logo = Some("https://client.example/logo.png".parse().unwrap());
    client.access_token_s = Some(86_400);
    let stored = serde_json::to_value(&client).unwrap();
    assert_eq!(serde_json::from_value::<OAuthClient>(stored.clone()).unwrap(), client);
    assert_eq!(stored["authentication"][0], json!({ "method": "none" }));
    assert_eq!(stored["authentication"][2]["keys"], json!({ "url": "https://client.example/jwks" }));
    assert_eq!(client.key_url().unwrap().as_str(), "https://client.example/jwks");
    assert_eq!(public_client().key_url(), None);
}
