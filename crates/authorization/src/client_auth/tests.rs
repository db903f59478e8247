//! Clients that authenticate. Forged assertions are in `tests/attacks`.

use serde_json::{Value, json};
use toolyard_protocol::secret::SecretText;

use super::*;
use crate::{
    client::{ClientKind, SecretHash, tests::public_client},
    test_keys::{SigningKey, shared_rsa},
};

const ISSUER: &str = "https://tools.example.com";
const TOKEN_ENDPOINT: &str = "https://tools.example.com/oauth/token";
const NOW: i64 = 1_800_000_000;

fn client(ways: Vec<ClientAuthentication>) -> OAuthClient {
    OAuthClient { authentication: ways, ..public_client() }
}

fn secret_way(secret: &str) -> ClientAuthentication {
    ClientAuthentication::Secret { sha256: SecretHash::from_secret(&SecretText::new(secret)) }
}

fn authenticate(
    client: &OAuthClient,
    proof: ClientProof,
    keys: Option<&KeySet>,
) -> Result<AuthenticatedClient, ClientAuthError> {
    let issuer = ISSUER.parse().unwrap();
    let now = Timestamp::from_second(NOW).unwrap();
    let context =
        AssertionContext { issuer: &issuer, token_endpoint: TOKEN_ENDPOINT, fetched_keys: keys, now };
    authenticate_client(client, &PresentedClient { id: "the-client".parse().unwrap(), proof }, &context)
}

fn claims(changes: Value) -> Value {
    let mut claims = json!({
        "iss": "the-client", "sub": "the-client", "aud": ISSUER, "jti": "j-1", "exp": NOW + 300, "iat": NOW,
    });
    claims.as_object_mut().unwrap().extend(changes.as_object().unwrap().clone());
    claims
}

fn keyed_client(key: &SigningKey) -> OAuthClient {
    let keys = KeySource::Inline(KeySet::parse(key.public_set().as_bytes()).unwrap());
    client(vec![ClientAuthentication::PrivateKeyJwt { keys }])
}

fn assertion(changes: Value) -> Result<AuthenticatedClient, ClientAuthError> {
    let key = shared_rsa();
    let token = key.sign(&json!({ "alg": "RS256", "kid": "rsa-1" }), &claims(changes));
    authenticate(&keyed_client(key), ClientProof::Assertion(SecretText::new(token)), None)
}

#[test]
fn public_clients_prove_nothing() {
    let authenticated = authenticate(&public_client(), ClientProof::None, None).unwrap();
    assert_eq!((authenticated.id().as_str(), authenticated.method()), ("the-client", ClientAuthMethod::None));
    assert_eq!(authenticated.used_assertion(), None);
}

#[test]
fn secrets_are_checked_in_header_and_form() {
    let confidential = client(vec![secret_way("sesame")]);
    let secret = |text: &str| SecretText::new(text);
    assert!(authenticate(&confidential, ClientProof::SecretBasic(secret("sesame")), None).is_ok());
    assert!(authenticate(&confidential, ClientProof::SecretPost(secret("sesame")), None).is_ok());
    let wrong = authenticate(&confidential, ClientProof::SecretPost(secret("Sesame")), None);
    assert_eq!(wrong, Err(ClientAuthError::Secret));
    assert_eq!(authenticate(&confidential, ClientProof::None, None), Err(ClientAuthError::MethodNotAllowed));
    let unexpected = authenticate(&public_client(), ClientProof::SecretPost(secret("x")), None);
    assert_eq!(unexpected, Err(ClientAuthError::MethodNotAllowed));
}

#[test]
fn an_assertion_authenticates_and_is_used_up() {
    for good in [
        json!({}),
        json!({ "aud": TOKEN_ENDPOINT }),
        json!({ "aud": [ISSUER] }),
        json!({ "aud": [ISSUER, TOKEN_ENDPOINT] }),
        json!({ "iat": null }),
        json!({ "exp": NOW as f64 + 10.5 }),
    ] {
        let authenticated = assertion(good.clone()).unwrap_or_else(|error| panic!("{good}: {error}"));
        assert_eq!(authenticated.method(), ClientAuthMethod::PrivateKeyJwt);
        assert_eq!(authenticated.used_assertion().unwrap().replay_key.len(), 64);
    }
    let one = assertion(json!({})).unwrap();
    assert_eq!(one.used_assertion(), assertion(json!({})).unwrap().used_assertion());
    assert_ne!(one.used_assertion(), assertion(json!({ "jti": "j-2" })).unwrap().used_assertion());
    assert_eq!(one.used_assertion().unwrap().remember_until.as_second(), NOW + 360);
}

#[test]
fn ids_of_two_issuers_are_different_ids() {
    let until = Timestamp::UNIX_EPOCH;
    assert_ne!(UsedAssertion::new("a", "bc", until), UsedAssertion::new("ab", "c", until));
}

#[test]
fn claims_must_be_for_this_server_and_client() {
    use AssertionError as E;
    for (changes, expected) in [
        (json!({ "iss": "other" }), E::Issuer),
        (json!({ "iss": null }), E::Claim("iss")),
        (json!({ "sub": "other" }), E::Subject),
        (json!({ "sub": "" }), E::Claim("sub")),
        (json!({ "aud": "https://evil.example" }), E::Audience),
        (json!({ "aud": "https://tools.example.com/" }), E::Audience),
        (json!({ "aud": [ISSUER, "https://evil.example"] }), E::Audience),
        (json!({ "aud": [] }), E::Audience),
        (json!({ "aud": null }), E::Claim("aud")),
        (json!({ "jti": null }), E::Claim("jti")),
        (json!({ "jti": "x".repeat(MAX_JTI_BYTES + 1) }), E::Claim("jti")),
        (json!({ "exp": null }), E::Claim("exp")),
        (json!({ "exp": NOW - 61 }), E::Expired),
        (json!({ "nbf": NOW + 61 }), E::NotYetValid),
        (json!({ "exp": NOW + 3_601 }), E::LifetimeTooLong),
        (json!({ "exp": "soon" }), E::Claims),
    ] {
        assert_eq!(assertion(changes.clone()), Err(ClientAuthError::Assertion(expected)), "{changes}");
    }
}

#[test]
fn keys_at_a_url_must_have_been_fetched() {
    let key = shared_rsa();
    let way = ClientAuthentication::PrivateKeyJwt {
        keys: KeySource::Url("https://a.example/jwks".parse().unwrap()),
    };
    // As ChatGPT: both ways are accepted, and the client chooses.
    let client = client(vec![ClientAuthentication::None, way]);
    let token = key.sign(&json!({ "alg": "RS256", "kid": "rsa-1" }), &claims(json!({})));
    let proof = || ClientProof::Assertion(SecretText::new(token.clone()));
    let keys = KeySet::parse(key.public_set().as_bytes()).unwrap();
    assert!(authenticate(&client, proof(), Some(&keys)).is_ok());
    assert!(authenticate(&client, ClientProof::None, None).is_ok());
    assert_eq!(authenticate(&client, proof(), None), Err(ClientAuthError::KeysUnavailable));
    assert_eq!(authenticate(&public_client(), proof(), Some(&keys)), Err(ClientAuthError::MethodNotAllowed));
}

#[test]
fn grants_need_permission_and_machines_need_proof() {
    let mut machine = client(vec![secret_way("sesame"), ClientAuthentication::None]);
    machine.grant_types = vec![GrantType::ClientCredentials];
    let proven = AuthenticatedClient::confidential(machine.id.clone());
    let public = AuthenticatedClient::public(machine.id.clone());
    assert_eq!(proven.check_grant(&machine, GrantType::ClientCredentials), Ok(()));
    assert_eq!(public.check_grant(&machine, GrantType::ClientCredentials), Err(GrantError::PublicClient));
    assert_eq!(proven.check_grant(&machine, GrantType::AuthorizationCode), Err(GrantError::GrantNotAllowed));
    machine.kind = ClientKind::Dynamic;
    assert_eq!(proven.check_grant(&machine, GrantType::ClientCredentials), Err(GrantError::GrantNotAllowed));
    let other = AuthenticatedClient::confidential("other".parse().unwrap());
    assert_eq!(other.check_grant(&machine, GrantType::RefreshToken), Err(GrantError::GrantNotAllowed));
}

#[test]
fn the_record_must_be_that_of_the_presented_client() {
    let other = OAuthClient { id: "other".parse().unwrap(), ..public_client() };
    assert_eq!(authenticate(&other, ClientProof::None, None), Err(ClientAuthError::UnknownClient));
}
