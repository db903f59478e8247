//! Signatures with generated keys. The attacks are in `tests/attacks`.

use serde_json::{Value, json};

use super::*;
use crate::test_keys::{SigningKey, encode_unsigned};

fn key_set(key: &SigningKey) -> KeySet {
    KeySet::parse(key.public_set().as_bytes()).unwrap()
}

fn verify(token: &str, keys: &KeySet) -> Result<Value, AssertionError> {
    verify_signature(token, keys, |kind| kind.is_none_or(|kind| kind == "JWT"))
}

#[test]
fn each_accepted_algorithm_verifies_with_its_key() {
    for name in SIGNING_ALGORITHMS {
        let key = SigningKey::generate(name, "k1");
        let token = key.sign(&json!({ "alg": name, "kid": "k1" }), &json!({ "sub": "ada" }));
        assert_eq!(verify(&token, &key_set(&key)), Ok(json!({ "sub": "ada" })), "{name}");
        let token = key.sign(&json!({ "alg": name }), &json!({ "sub": "ada" }));
        assert!(verify(&token, &key_set(&key)).is_ok(), "{name} without a key id");
        let other = SigningKey::generate(name, "k1");
        assert_eq!(verify(&token, &key_set(&other)), Err(AssertionError::Signature), "{name}");
    }
}

#[test]
fn headers_that_change_the_meaning_are_refused() {
    let key = SigningKey::generate("EdDSA", "k1");
    let header = |extra: Value| {
        let mut header = json!({ "alg": "EdDSA", "kid": "k1" });
        header.as_object_mut().unwrap().extend(extra.as_object().unwrap().clone());
        key.sign(&header, &json!({}))
    };
    for (extra, expected) in [
        (json!({ "crit": ["b64"], "b64": false }), AssertionError::CriticalHeader),
        (json!({ "typ": "at+jwt" }), AssertionError::TokenType),
        (json!({ "kid": "k2" }), AssertionError::UnknownKey),
        (json!({ "alg": "ES256" }), AssertionError::UnknownKey),
        (json!({ "alg": "RS512" }), AssertionError::Algorithm),
        (json!({ "alg": "eddsa" }), AssertionError::Algorithm),
    ] {
        assert_eq!(verify(&header(extra.clone()), &key_set(&key)), Err(expected), "{extra}");
    }
}

#[test]
fn malformed_and_large_assertions_are_refused() {
    let key = SigningKey::generate("EdDSA", "k1");
    let good = key.sign(&json!({ "alg": "EdDSA" }), &json!({ "a": 1 }));
    let parts: Vec<&str> = good.split('.').collect();
    for bad in [
        String::new(),
        "a.b.c".to_owned(),
        format!("{}.{}", parts[0], parts[1]),
        format!("{good}."),
        format!("{good}.x"),
        format!("{}=.{}.{}", parts[0], parts[1], parts[2]),
        format!(" {good}"),
        encode_unsigned(&json!([]), &json!({})),
    ] {
        assert_eq!(verify(&bad, &key_set(&key)), Err(AssertionError::Malformed), "{bad}");
    }
    let not_claims = key.sign(&json!({ "alg": "EdDSA" }), &json!("text"));
    let read = verify_signature::<serde_json::Map<String, Value>>(&not_claims, &key_set(&key), |_| true);
    assert_eq!(read, Err(AssertionError::Claims));
    let large = key.sign(&json!({ "alg": "EdDSA" }), &json!({ "a": "x".repeat(MAX_ASSERTION_BYTES) }));
    assert_eq!(verify(&large, &key_set(&key)), Err(AssertionError::TooLarge));
}

#[test]
fn a_cut_or_changed_signature_does_not_verify() {
    let key = SigningKey::generate("ES256", "k1");
    let good = key.sign(&json!({ "alg": "ES256" }), &json!({}));
    let (message, _) = good.rsplit_once('.').unwrap();
    for bad in [format!("{message}."), format!("{message}.AAAA"), format!("{message}.{}", "A".repeat(86))] {
        assert_eq!(verify(&bad, &key_set(&key)), Err(AssertionError::Signature), "{bad}");
    }
}

#[test]
fn an_audience_is_ours_alone() {
    let read = |value: Value| serde_json::from_value::<OneOrMany>(value).unwrap();
    let is_ours = |text: &str| text == "a" || text == "b";
    for good in [json!("a"), json!(["a"]), json!(["a", "b"])] {
        assert!(read(good.clone()).all(is_ours), "{good}");
    }
    for bad in [json!("x"), json!([]), json!(["a", "x"])] {
        assert!(!read(bad.clone()).all(is_ours), "{bad}");
    }
}
