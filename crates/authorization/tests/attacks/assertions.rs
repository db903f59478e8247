//! Forged and diverted assertions: of clients (`private_key_jwt`) and of identity providers (ID-JAG).

use serde_json::{Value, json};
use toolyard_authorization::{
    client_auth::{AssertionContext, AuthenticatedClient, ClientAuthError, authenticate_client},
    id_jag::{IdJagRules, IdentityGrant, select_issuer, verify_id_jag},
    jwt::{AssertionError, AssertionError as E, KeySet, MAX_ASSERTION_BYTES},
    token_request::{ClientProof, GrantError, PresentedClient},
};
use toolyard_protocol::secret::SecretText;

use crate::{
    ISSUER, NOW, RESOURCE, TOKEN_ENDPOINT, issuer,
    keys::{SigningKey, encode_unsigned, shared_rsa, sign_with_secret},
    now, resources, secret_victim, victim, with,
};

const PROVIDER: &str = "https://idp.example.com";

fn header(changes: Value) -> Value {
    with(json!({ "alg": "RS256", "kid": "rsa-1" }), changes)
}

fn client_claims(changes: Value) -> Value {
    let good =
        json!({ "iss": "victim", "sub": "victim", "aud": ISSUER, "jti": "j-1", "exp": NOW + 60, "iat": NOW });
    with(good, changes)
}

fn identity_claims(changes: Value) -> Value {
    let good = json!({
        "iss": PROVIDER, "sub": "u-1", "aud": ISSUER, "client_id": "victim", "resource": RESOURCE, "jti": "j-1",
        "exp": NOW + 60, "iat": NOW,
    });
    with(good, changes)
}

/// Ways to forge any assertion: name, token, error. `typ` is what an honest one has.
fn forgeries(typ: &Value, claims: &Value) -> Vec<(&'static str, String, AssertionError)> {
    let key = shared_rsa();
    let header = |changes: Value| with(header(json!({ "typ": typ })), changes);
    let attacker = SigningKey::generate("EdDSA", "rsa-1");
    let attacker_rsa = SigningKey::generate("RS256", "rsa-1");
    let modulus = key.jwk["n"].as_str().unwrap().as_bytes();
    let set = key.public_set();
    let good = key.sign(&header(json!({})), claims);
    let (signed, signature) = good.rsplit_once('.').unwrap();
    let other_claims =
        encode_unsigned(&header(json!({})), &with(claims.clone(), json!({ "jti": "changed" })));
    vec![
        ("alg none", encode_unsigned(&header(json!({ "alg": "none" })), claims), E::Algorithm),
        ("alg None", encode_unsigned(&header(json!({ "alg": "None" })), claims), E::Algorithm),
        (
            "HS256 with the modulus",
            sign_with_secret(&header(json!({ "alg": "HS256" })), claims, modulus),
            E::Algorithm,
        ),
        (
            "HS256 with the key set",
            sign_with_secret(&header(json!({ "alg": "HS256" })), claims, set.as_bytes()),
            E::Algorithm,
        ),
        ("HS256 called RS256", sign_with_secret(&header(json!({})), claims, modulus), E::Signature),
        ("no signature", format!("{signed}."), E::Signature),
        ("signature of other claims", format!("{other_claims}{signature}"), E::Signature),
        (
            "another algorithm of the same key",
            key.sign(&header(json!({ "alg": "PS256" })), claims),
            E::Signature,
        ),
        (
            "an algorithm that is not accepted",
            key.sign(&header(json!({ "alg": "RS1" })), claims),
            E::Algorithm,
        ),
        ("own key with the id of ours", attacker_rsa.sign(&header(json!({})), claims), E::Signature),
        (
            "own key in the header",
            attacker_rsa.sign(&header(json!({ "jwk": attacker_rsa.jwk })), claims),
            E::Signature,
        ),
        (
            "own key and algorithm in the header",
            attacker.sign(&header(json!({ "alg": "EdDSA", "jwk": attacker.jwk })), claims),
            E::UnknownKey,
        ),
        (
            "own keys at a URL",
            attacker_rsa.sign(&header(json!({ "jku": "https://evil.example/jwks" })), claims),
            E::Signature,
        ),
        ("retired key id", key.sign(&header(json!({ "kid": "rsa-0" })), claims), E::UnknownKey),
        ("key id as a path", key.sign(&header(json!({ "kid": "../../dev/null" })), claims), E::UnknownKey),
        (
            "critical extension",
            key.sign(&header(json!({ "crit": ["x"], "x": 1 })), claims),
            E::CriticalHeader,
        ),
        ("type of an access token", key.sign(&header(json!({ "typ": "at+jwt" })), claims), E::TokenType),
        ("type of a logout token", key.sign(&header(json!({ "typ": "logout+jwt" })), claims), E::TokenType),
        ("claims that are a list", key.sign(&header(json!({})), &json!([claims])), E::Claims),
        (
            "large assertion",
            key.sign(
                &header(json!({})),
                &with(claims.clone(), json!({ "x": "x".repeat(MAX_ASSERTION_BYTES) })),
            ),
            E::TooLarge,
        ),
        ("not a token", "a.b.c".to_owned(), E::Malformed),
        ("encrypted token", "a.b.c.d.e".to_owned(), E::Malformed),
    ]
}

fn signed(claims: &Value) -> String {
    shared_rsa().sign(&header(json!({})), claims)
}

pub(crate) fn client_attacks() -> Vec<(&'static str, String, AssertionError)> {
    let claims = |changes: Value| signed(&client_claims(changes));
    let mut rows = forgeries(&json!("JWT"), &client_claims(json!({})));
    rows.extend([
        (
            "identity assertion as a client",
            shared_rsa().sign(&header(json!({ "typ": "oauth-id-jag+jwt" })), &client_claims(json!({}))),
            E::TokenType,
        ),
        ("issued by another client", claims(json!({ "iss": "attacker" })), E::Issuer),
        ("about another client", claims(json!({ "sub": "attacker" })), E::Subject),
        ("for another server", claims(json!({ "aud": "https://evil.example" })), E::Audience),
        ("also for another server", claims(json!({ "aud": [ISSUER, "https://evil.example"] })), E::Audience),
        ("for our host as a prefix", claims(json!({ "aud": format!("{ISSUER}.evil.example") })), E::Audience),
        ("for no server", claims(json!({ "aud": [] })), E::Audience),
        ("expired", claims(json!({ "exp": NOW - 3_600, "iat": NOW - 7_000 })), E::Expired),
        ("not valid yet", claims(json!({ "nbf": NOW + 3_600 })), E::NotYetValid),
        ("issued in the future", claims(json!({ "iat": NOW + 3_600, "exp": NOW + 3_700 })), E::NotYetValid),
        ("valid for a year", claims(json!({ "exp": NOW + 31_536_000 })), E::LifetimeTooLong),
        ("valid for ever", claims(json!({ "exp": i64::MAX, "iat": null })), E::LifetimeTooLong),
        ("without an expiry", claims(json!({ "exp": null })), E::Claim("exp")),
        ("without an id", claims(json!({ "jti": null })), E::Claim("jti")),
        ("with an empty id", claims(json!({ "jti": "" })), E::Claim("jti")),
        ("expiry as a text", claims(json!({ "exp": "9999999999" })), E::Claims),
        ("expiry that overflows", claims(json!({ "exp": 1e300 })), E::Claims),
    ]);
    rows
}

pub(crate) fn identity_attacks() -> Vec<(&'static str, String, AssertionError)> {
    let header = header(json!({ "typ": "oauth-id-jag+jwt" }));
    let claims = |changes: Value| shared_rsa().sign(&header, &identity_claims(changes));
    let mut rows = forgeries(&json!("oauth-id-jag+jwt"), &identity_claims(json!({})));
    rows.extend([
        ("ID token as a grant", signed(&identity_claims(json!({}))), E::TokenType),
        ("another provider", claims(json!({ "iss": "https://idp.example.com.evil.example" })), E::Issuer),
        ("for another server", claims(json!({ "aud": "https://other.example.com" })), E::Audience),
        (
            "also for another server",
            claims(json!({ "aud": [ISSUER, "https://other.example.com"] })),
            E::Audience,
        ),
        ("for the token endpoint", claims(json!({ "aud": TOKEN_ENDPOINT })), E::Audience),
        ("for another client", claims(json!({ "client_id": "other" })), E::Client),
        ("for no client", claims(json!({ "client_id": null })), E::Client),
        ("for another resource", claims(json!({ "resource": "https://other.example.com/mcp" })), E::Resource),
        (
            "also for another resource",
            claims(json!({ "resource": [RESOURCE, "https://other.example.com"] })),
            E::Resource,
        ),
        ("for no resource", claims(json!({ "resource": null })), E::Resource),
        ("for an empty resource", claims(json!({ "resource": "" })), E::Resource),
        ("expired", claims(json!({ "exp": NOW - 61 })), E::Expired),
        ("not valid yet", claims(json!({ "nbf": NOW + 61 })), E::NotYetValid),
        ("valid for a day", claims(json!({ "exp": NOW + 86_400 })), E::LifetimeTooLong),
        ("without an id", claims(json!({ "jti": null })), E::Claim("jti")),
        ("without a subject", claims(json!({ "sub": null })), E::Claim("sub")),
        (
            "scopes that would lift a restriction",
            claims(json!({ "scope": "tools:read apps:*" })),
            E::Claim("scope"),
        ),
    ]);
    rows
}

fn authenticate(assertion: &str) -> Result<AuthenticatedClient, ClientAuthError> {
    let keys: Value = serde_json::from_str(&shared_rsa().public_set()).unwrap();
    let client = victim(json!({ "method": "private_key_jwt", "keys": { "inline": keys } }));
    let proof = ClientProof::Assertion(SecretText::new(assertion));
    let presented = PresentedClient { id: "victim".parse().unwrap(), proof };
    let context = AssertionContext {
        issuer: &issuer(),
        token_endpoint: TOKEN_ENDPOINT,
        fetched_keys: None,
        now: now(),
    };
    authenticate_client(&client, &presented, &context)
}

fn redeem(assertion: &str) -> Result<IdentityGrant, GrantError> {
    let secret = SecretText::new("sesame");
    let presented = PresentedClient { id: "victim".parse().unwrap(), proof: ClientProof::SecretPost(secret) };
    let context = AssertionContext {
        issuer: &issuer(),
        token_endpoint: TOKEN_ENDPOINT,
        fetched_keys: None,
        now: now(),
    };
    let client = authenticate_client(&secret_victim("sesame"), &presented, &context).unwrap();
    let keys = KeySet::parse(shared_rsa().public_set().as_bytes()).unwrap();
    let rules = IdJagRules {
        provider: PROVIDER,
        provider_keys: &keys,
        issuer: &issuer(),
        resources: &resources(),
        client: &client,
        allow_public_clients: false,
        requested_resource: None,
        now: now(),
    };
    verify_id_jag(assertion, &rules)
}

#[test]
fn client_assertions_cannot_be_forged_or_diverted() {
    assert!(authenticate(&signed(&client_claims(json!({})))).is_ok());
    for (name, token, expected) in client_attacks() {
        assert_eq!(authenticate(&token), Err(ClientAuthError::Assertion(expected)), "{name}");
    }
}

#[test]
fn identity_assertions_cannot_be_forged_or_diverted() {
    let good = shared_rsa().sign(&header(json!({ "typ": "oauth-id-jag+jwt" })), &identity_claims(json!({})));
    assert!(redeem(&good).is_ok());
    for (name, token, expected) in identity_attacks() {
        assert_eq!(redeem(&token), Err(GrantError::Assertion(expected)), "{name}");
    }
}

#[test]
fn an_assertion_that_is_used_twice_has_the_same_key() {
    let key = |token: &str| authenticate(token).unwrap().used_assertion().unwrap().replay_key.clone();
    let (first, again) =
        (signed(&client_claims(json!({}))), signed(&client_claims(json!({ "exp": NOW + 61 }))));
    assert_eq!(key(&first), key(&again), "the id decides, not the text of the token");
}

#[test]
fn strangers_are_not_on_the_list_of_providers() {
    let trusted = [PROVIDER.to_owned()];
    for stranger in
        ["https://evil.example", "https://idp.example.com/", "https://idp.example.com.evil.example", ""]
    {
        let token = encode_unsigned(&header(json!({})), &identity_claims(json!({ "iss": stranger })));
        assert_eq!(select_issuer(&token, &trusted), Err(GrantError::UntrustedIssuer), "{stranger}");
    }
}
