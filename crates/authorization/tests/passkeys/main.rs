//! Passkeys, with a software authenticator instead of a browser.

#![cfg(test)]

mod attacks;
mod authenticator;
mod corruption;

use serde_json::{Value, json};
use toolyard_authorization::passkey::{
    AssertedPasskey, PasskeyAlgorithm, PasskeyError, PasskeyKey, PasskeyRegistration, RelyingParty,
    verify_assertion, verify_registration,
};

use crate::authenticator::{
    AuthenticatorKey, BACKED_UP, BACKUP_ELIGIBLE, CHALLENGE, CREDENTIAL_ID, Ceremony, HAS_EXTENSIONS,
    USER_HANDLE, encode, relying_party,
};

fn register(response: Value) -> Result<PasskeyKey, PasskeyError> {
    verify_registration(&serde_json::from_value(response).unwrap(), CHALLENGE, &relying_party())
}

fn sign_in(response: Value, key: &PasskeyKey) -> Result<AssertedPasskey, PasskeyError> {
    let assertion = serde_json::from_value(response).unwrap();
    verify_assertion(&assertion, CHALLENGE, &relying_party(), key, USER_HANDLE)
}

/// The stored passkey of a key.
fn registered(key: &AuthenticatorKey) -> PasskeyKey {
    register(Ceremony::registration().register(key)).unwrap()
}

#[test]
fn every_algorithm_registers_and_signs_in() {
    for (key, algorithm) in AuthenticatorKey::all().iter().zip(PasskeyAlgorithm::ALL) {
        let stored = registered(key);
        assert_eq!(stored.credential_id, CREDENTIAL_ID);
        assert_eq!(stored.public_key, key.public_key());
        assert_eq!((stored.algorithm, stored.sign_count, stored.backed_up), (algorithm, 7, false));
        let asserted = sign_in(Ceremony::assertion().sign(key), &stored);
        assert_eq!(asserted, Ok(AssertedPasskey { sign_count: 8, backed_up: false }), "{algorithm:?}");
    }
}

#[test]
fn a_stored_key_is_compact_text() {
    let key = AuthenticatorKey::ed_dsa();
    let stored = registered(&key);
    let text = serde_json::to_value(&stored).unwrap();
    let expected = json!({
        "credential_id": encode(CREDENTIAL_ID),
        "public_key": encode(&key.public_key()),
        "algorithm": -8,
        "sign_count": 7,
        "backed_up": false,
    });
    assert_eq!(text, expected);
    assert_eq!(serde_json::from_value::<PasskeyKey>(text).unwrap(), stored);
    for change in [json!({ "algorithm": -9 }), json!({ "public_key": "not base64url!" })] {
        let mut damaged = expected.clone();
        damaged.as_object_mut().unwrap().extend(change.as_object().unwrap().clone());
        assert!(serde_json::from_value::<PasskeyKey>(damaged).is_err(), "{change}");
    }
}

#[test]
fn counters_increase_or_stay_at_zero() {
    let key = AuthenticatorKey::ed_dsa();
    let rows = [
        (0, 0, true),
        (0, 1, true),
        (7, 8, true),
        (7, 4_000_000_000, true),
        (7, 7, false),
        (7, 6, false),
        (7, 0, false),
        (1, 0, false),
        (u32::MAX, u32::MAX, false),
        (u32::MAX, 0, false),
    ];
    for (stored_count, sign_count, is_accepted) in rows {
        let stored = PasskeyKey { sign_count: stored_count, ..registered(&key) };
        let response = Ceremony { sign_count, ..Ceremony::assertion() }.sign(&key);
        let expected = if is_accepted {
            Ok(AssertedPasskey { sign_count, backed_up: false })
        } else {
            Err(PasskeyError::ClonedKey)
        };
        assert_eq!(sign_in(response, &stored), expected, "{stored_count} to {sign_count}");
    }
}

type BrowserVariant = (&'static str, fn(&mut Ceremony));

const VARIANTS: &[BrowserVariant] = &[
    ("without a user handle", |ceremony| ceremony.user_handle = None),
    ("without crossOrigin", |ceremony| {
        ceremony.client_data.as_object_mut().unwrap().remove("crossOrigin");
    }),
    ("with extensions", |ceremony| {
        ceremony.flags |= HAS_EXTENSIONS;
        ceremony.extensions = b"\xa1\x63abc\xf5".to_vec();
    }),
    ("eligible for backup", |ceremony| ceremony.flags |= BACKUP_ELIGIBLE),
    ("reserved flags", |ceremony| ceremony.flags |= 0x22),
];

#[test]
fn what_real_browsers_vary_is_accepted() {
    let key = AuthenticatorKey::es256();
    let stored = registered(&key);
    for (name, change) in VARIANTS {
        let mut ceremony = Ceremony::assertion();
        change(&mut ceremony);
        assert!(sign_in(ceremony.sign(&key), &stored).is_ok(), "{name}");
        let mut ceremony = Ceremony::registration();
        change(&mut ceremony);
        assert_eq!(register(ceremony.register(&key)).as_ref(), Ok(&stored), "{name}");
    }
    let mut bare = Ceremony::registration().register(&key);
    bare["response"].as_object_mut().unwrap().retain(|name, _| name != "transports");
    assert!(register(bare).is_ok(), "without transports");
}

#[test]
fn the_state_of_the_backup_is_reported() {
    let key = AuthenticatorKey::es256();
    let mut ceremony = Ceremony::registration();
    ceremony.flags |= BACKUP_ELIGIBLE | BACKED_UP;
    let stored = register(ceremony.register(&key)).unwrap();
    assert!(stored.backed_up);
    let mut ceremony = Ceremony::assertion();
    ceremony.flags |= BACKUP_ELIGIBLE | BACKED_UP;
    assert!(sign_in(ceremony.sign(&key), &stored).unwrap().backed_up);
}

#[test]
fn only_known_transports_are_kept() {
    let response = Ceremony::registration().register(&AuthenticatorKey::es256());
    let registration: PasskeyRegistration = serde_json::from_value(response).unwrap();
    assert_eq!(registration.transports(), ["hybrid", "internal"]);
}

#[test]
fn other_encodings_of_a_key_are_stored_in_the_canonical_one() {
    for key in AuthenticatorKey::all() {
        let mut response = Ceremony::registration().register(key);
        let longer = [key.public_key().as_slice(), b"more"].concat();
        response["response"]["publicKey"] = json!(encode(&longer));
        assert_eq!(register(response), Ok(registered(key)));
    }
    let key = AuthenticatorKey::ed_dsa();
    let spki = key.public_key();
    let mut response = Ceremony::registration().register(&key);
    response["response"]["publicKey"] = json!(encode(spki.last_chunk::<32>().unwrap()));
    assert_eq!(register(response), Ok(registered(&key)), "without its envelope");
}

#[test]
fn the_relying_party_comes_from_the_issuer() {
    let from = |issuer: &str| RelyingParty::from_issuer(&issuer.parse().unwrap());
    assert_eq!(from("https://tools.example.com:8443"), Some(relying_party()));
    let local = RelyingParty { id: "localhost".to_owned(), origin: "http://localhost:8080".to_owned() };
    assert_eq!(from("http://localhost:8080"), Some(local));
    assert_eq!(from("http://127.0.0.1:8080"), None);
    assert_eq!(from("http://[::1]:8080"), None);
}
