//! Identity assertions with generated keys. More forgeries are in `tests/attacks`.

use serde_json::json;

use super::*;
use crate::test_keys::{SigningKey, encode_unsigned, shared_rsa, sign_with_secret};

const PROVIDER: &str = "https://idp.example.com";
const ISSUER: &str = "https://tools.example.com";
const RESOURCE: &str = "https://tools.example.com/mcp";
const NOW: i64 = 1_800_000_000;

fn header() -> Value {
    json!({ "alg": "RS256", "kid": "rsa-1", "typ": ID_JAG_TYPE })
}

fn claims(changes: Value) -> Value {
    let mut claims = json!({
        "iss": PROVIDER, "sub": "u-1", "aud": ISSUER, "client_id": "the-client", "resource": RESOURCE, "jti": "j-1",
        "exp": NOW + 300, "iat": NOW, "scope": "tools:read", "email": "ada@example.com", "email_verified": true,
    });
    claims.as_object_mut().unwrap().extend(changes.as_object().unwrap().clone());
    claims
}

fn verify_with(
    token: &str,
    key: &SigningKey,
    public: bool,
    requested: Option<&str>,
) -> Result<IdentityGrant, GrantError> {
    let keys = KeySet::parse(key.public_set().as_bytes()).unwrap();
    let resources = AcceptedResources::single(RESOURCE.parse().unwrap());
    let id = "the-client".parse().unwrap();
    let client = if public { AuthenticatedClient::public(id) } else { AuthenticatedClient::confidential(id) };
    let rules = IdJagRules {
        provider: PROVIDER,
        provider_keys: &keys,
        issuer: &ISSUER.parse().unwrap(),
        resources: &resources,
        client: &client,
        allow_public_clients: false,
        requested_resource: requested,
        now: Timestamp::from_second(NOW).unwrap(),
    };
    verify_id_jag(token, &rules)
}

fn verify(changes: Value) -> Result<IdentityGrant, GrantError> {
    let key = shared_rsa();
    verify_with(&key.sign(&header(), &claims(changes)), key, false, None)
}

#[test]
fn a_good_assertion_says_who_and_for_what() {
    let grant = verify(json!({})).unwrap();
    assert_eq!((grant.provider.as_str(), grant.subject.as_str()), (PROVIDER, "u-1"));
    let email = AssertedEmail { address: "ada@example.com".to_owned(), verified: Some(true) };
    assert_eq!(grant.email, Some(email));
    assert_eq!(grant.resource.as_str(), RESOURCE);
    assert_eq!(grant.scopes, Some(ScopeSet::parse("tools:read").unwrap().scopes));
    assert_eq!(grant.used.remember_until.as_second(), NOW + 360);
}

#[test]
fn optional_claims_may_be_missing() {
    let grant =
        verify(json!({ "email": null, "scope": null, "resource": [RESOURCE], "aud": [ISSUER] })).unwrap();
    assert_eq!((grant.email, grant.scopes), (None, None));
    for (claim, expected) in [(json!(null), None), (json!(false), Some(false)), (json!("true"), Some(false))]
    {
        let grant = verify(json!({ "email_verified": claim })).unwrap();
        assert_eq!(grant.email.unwrap().verified, expected, "{claim}");
    }
}

#[test]
fn claims_for_others_are_refused() {
    use AssertionError as E;
    for (changes, expected) in [
        (json!({ "iss": "https://other.example" }), E::Issuer),
        (json!({ "aud": "https://other.example" }), E::Audience),
        (json!({ "aud": [ISSUER, "https://other.example"] }), E::Audience),
        (json!({ "aud": null }), E::Audience),
        (json!({ "client_id": "other" }), E::Client),
        (json!({ "client_id": null }), E::Client),
        (json!({ "resource": null }), E::Resource),
        (json!({ "resource": "https://other.example/mcp" }), E::Resource),
        (json!({ "resource": [RESOURCE, "https://other.example/mcp"] }), E::Resource),
        (json!({ "resource": [] }), E::Resource),
        (json!({ "sub": "" }), E::Claim("sub")),
        (json!({ "sub": "x".repeat(MAX_SUBJECT_BYTES + 1) }), E::Claim("sub")),
        (json!({ "email": "x".repeat(MAX_EMAIL_BYTES + 1) }), E::Claim("email")),
        (json!({ "scope": "apps:BAD" }), E::Claim("scope")),
        (json!({ "jti": null }), E::Claim("jti")),
        (json!({ "iat": null }), E::Claim("iat")),
        (json!({ "exp": NOW - 61 }), E::Expired),
        (json!({ "iat": NOW + 61 }), E::NotYetValid),
        (json!({ "exp": NOW + 3_601 }), E::LifetimeTooLong),
    ] {
        assert_eq!(verify(changes.clone()), Err(GrantError::Assertion(expected)), "{changes}");
    }
}

#[test]
fn forged_signatures_are_refused() {
    use AssertionError as E;
    let key = shared_rsa();
    let other = SigningKey::generate("EdDSA", "rsa-1");
    let with = |name: &str, value: Value| {
        let mut header = header();
        header[name] = value;
        header
    };
    let none = encode_unsigned(&with("alg", json!("none")), &claims(json!({})));
    let public_key = key.jwk["n"].as_str().unwrap();
    let confused = sign_with_secret(&with("alg", json!("HS256")), &claims(json!({})), public_key.as_bytes());
    let embedded = other.sign(
        &json!({ "alg": "EdDSA", "kid": "rsa-1", "typ": ID_JAG_TYPE, "jwk": other.jwk }),
        &claims(json!({})),
    );
    for (token, expected) in [
        (none, E::Algorithm),
        (confused, E::Algorithm),
        (embedded, E::UnknownKey),
        (key.sign(&with("kid", json!("retired")), &claims(json!({}))), E::UnknownKey),
        (key.sign(&with("typ", json!("JWT")), &claims(json!({}))), E::TokenType),
        (key.sign(&json!({ "alg": "RS256", "kid": "rsa-1" }), &claims(json!({}))), E::TokenType),
    ] {
        assert_eq!(verify_with(&token, key, false, None), Err(GrantError::Assertion(expected)));
    }
    // A key that was replaced under the same id.
    let stale = key.sign(&header(), &claims(json!({})));
    let replaced = SigningKey::generate("RS256", "rsa-1");
    assert_eq!(verify_with(&stale, &replaced, false, None), Err(GrantError::Assertion(E::Signature)));
    for name in ["application/oauth-id-jag+jwt", "OAUTH-ID-JAG+JWT"] {
        assert!(
            verify_with(&key.sign(&with("typ", json!(name)), &claims(json!({}))), key, false, None).is_ok()
        );
    }
}

#[test]
fn clients_must_be_proven_and_name_the_same_resource() {
    let key = shared_rsa();
    let token = key.sign(&header(), &claims(json!({})));
    assert_eq!(verify_with(&token, key, true, None), Err(GrantError::PublicClient));
    assert!(verify_with(&token, key, false, Some(RESOURCE)).is_ok());
    let other = verify_with(&token, key, false, Some("https://other.example/mcp"));
    assert_eq!(other, Err(GrantError::Resource));
}

#[test]
fn providers_are_chosen_from_the_list() {
    let trusted = [PROVIDER.to_owned(), "https://b.example".to_owned()];
    let token = |issuer: Value| encode_unsigned(&header(), &claims(json!({ "iss": issuer })));
    assert_eq!(select_issuer(&token(json!("https://b.example")), &trusted), Ok("https://b.example"));
    for other in [json!("https://idp.example.com/"), json!("https://IDP.example.com"), json!(null), json!("")]
    {
        assert_eq!(
            select_issuer(&token(other.clone()), &trusted),
            Err(GrantError::UntrustedIssuer),
            "{other}"
        );
    }
    assert_eq!(select_issuer("x", &trusted), Err(GrantError::Assertion(AssertionError::Malformed)));
    assert_eq!(select_issuer(&token(json!("")), &[]), Err(GrantError::UntrustedIssuer));
}
