//! Damaged bytes: flipped bits and truncated fields. Nothing panics, and nothing damaged signs in.

use serde_json::{Value, json};
use toolyard_authorization::passkey::PasskeyError;

use crate::{
    authenticator::{AuthenticatorKey, CREDENTIAL_ID, Ceremony, decode, encode},
    register, registered, sign_in,
};

/// A response with one member replaced.
fn with_member(response: &Value, member: &str, bytes: &[u8]) -> Value {
    let mut changed = response.clone();
    changed["response"][member] = json!(encode(bytes));
    changed
}

/// Every copy of the bytes with one bit flipped.
fn bit_flips(bytes: &[u8]) -> impl Iterator<Item = Vec<u8>> + '_ {
    (0..bytes.len() * 8).map(|bit| {
        let mut flipped = bytes.to_vec();
        flipped[bit / 8] ^= 1 << (bit % 8);
        flipped
    })
}

#[test]
fn no_flipped_bit_signs_in() {
    for key in AuthenticatorKey::all() {
        let stored = registered(key);
        let response = Ceremony::assertion().sign(key);
        for member in ["signature", "clientDataJSON", "authenticatorData"] {
            for flipped in bit_flips(&decode(&response["response"][member])) {
                let result = sign_in(with_member(&response, member, &flipped), &stored);
                assert!(result.is_err(), "{member} of {}", key.cose_number());
                if member == "signature" {
                    assert_eq!(result, Err(PasskeyError::Signature));
                }
            }
        }
    }
}

#[test]
fn no_truncated_field_signs_in() {
    for key in AuthenticatorKey::all() {
        let stored = registered(key);
        let response = Ceremony::assertion().sign(key);
        for (member, expected) in [
            ("signature", PasskeyError::Signature),
            ("clientDataJSON", PasskeyError::ClientData),
            ("authenticatorData", PasskeyError::AuthenticatorData),
        ] {
            let bytes = decode(&response["response"][member]);
            for length in 0..bytes.len() {
                let result = sign_in(with_member(&response, member, &bytes[..length]), &stored);
                assert_eq!(result, Err(expected), "{member}, {length} bytes");
            }
        }
    }
}

#[test]
fn truncated_registrations_are_refused() {
    let key = AuthenticatorKey::es256();
    let response = Ceremony::registration().register(&key);
    let bytes = decode(&response["response"]["authenticatorData"]);
    // Hash, flags, counter, model, length of the id, id, and one byte of the key, which is not read.
    let shortest = 32 + 1 + 4 + 16 + 2 + CREDENTIAL_ID.len() + 1;
    for length in 0..bytes.len() {
        let result = register(with_member(&response, "authenticatorData", &bytes[..length]));
        if length < shortest {
            assert_eq!(result, Err(PasskeyError::AuthenticatorData), "{length} bytes");
        } else {
            assert!(result.is_ok(), "{length} bytes");
        }
    }
    let public_key = key.public_key();
    for length in 0..public_key.len() {
        let result = register(with_member(&response, "publicKey", &public_key[..length]));
        assert_eq!(result, Err(PasskeyError::PublicKey), "{length} bytes of the key");
    }
}

#[test]
fn damaged_registrations_do_not_panic() {
    for key in AuthenticatorKey::all() {
        let response = Ceremony::registration().register(key);
        for member in ["publicKey", "clientDataJSON", "authenticatorData"] {
            for flipped in bit_flips(&decode(&response["response"][member])) {
                // A flipped bit of the model, counter or key can be another valid registration.
                if let Ok(passkey) = register(with_member(&response, member, &flipped)) {
                    assert_eq!(passkey.credential_id, CREDENTIAL_ID);
                    assert_eq!(passkey.algorithm.cose_number(), key.cose_number());
                }
            }
        }
    }
}
