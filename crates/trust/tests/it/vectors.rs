//! Fixed inputs and outputs that every implementation agrees on.

use base64::{Engine as _, engine::general_purpose::STANDARD};
use serde_json::Value;
use toolyard_protocol::plugin::{MAX_MANIFEST_BYTES, Manifest};
use toolyard_trust::{
    KeyError, PublicKey, SecretKey, TrustStatus, canonical_json, content_hash, sign_manifest, signed_bytes,
    tools_hash,
};

use crate::fixture::{OLDER, World, plugin, read, rsa};

const HASH: &str = "e9a3277eb624bd2be8dff56add006df6e142ad8e8b68a16dbaba808c19465651";

fn older() -> Manifest {
    Manifest::parse(OLDER.as_bytes()).unwrap()
}

/// The seed 00, 01, … 1f.
fn seeded() -> SecretKey {
    SecretKey::from_seed(&std::array::from_fn(|n| n as u8)).unwrap()
}

#[test]
fn canonical_bytes_and_hash_of_the_tools() {
    let tools: Value = serde_json::from_str::<Value>(OLDER).unwrap()["tools"].clone();
    let bytes = canonical_json(&tools.to_string()).unwrap();
    assert_eq!((bytes.len(), content_hash(&bytes).as_str()), (282, HASH));
    let text = String::from_utf8(bytes).unwrap();
    let order = ["\"timezone\":", "\"€\":", "\"😀\":", "\"\u{fb33}\":"].map(|name| text.find(name).unwrap());
    assert!(order.is_sorted(), "by UTF-16, not by code points: {text}");
    assert!(text.contains(r#""maximum":1e+21,"minimum":0,"multipleOf":0.1"#), "{text}");
    assert_eq!(tools_hash(&older()).unwrap().as_str(), HASH);
}

#[test]
fn an_ed25519_signature_over_the_text_of_the_hash() {
    let key = seeded();
    let raw = "03a107bff3ce10be1d70dd18e74bc09967e4d6309ba50d5f1ddc8664125531b8";
    let bytes: [u8; 32] = hex::decode(raw).unwrap().try_into().unwrap();
    assert_eq!(key.public_key(), PublicKey::from_ed25519(&bytes));
    let signature =
        "M9AM3Mjholgh+BNbU1QRTCGJg37TeHNz6+w6x3RhHx26K7aJKKZk8KoxZlOp4Wblc/EcMf6FigPV8GXOhCT4Bw==";
    assert_eq!(STANDARD.encode(key.sign(HASH.as_bytes()).unwrap()), signature);
    assert!(key.public_key().verifies(HASH.as_bytes(), &STANDARD.decode(signature).unwrap()));
}

/// Created with `openssl dgst -sha256 -sign` over the 64 letters of the hash.
#[test]
fn an_rs256_signature_over_the_text_of_the_hash() {
    let verdict = World::new().judge(&older());
    assert_eq!(verdict.status, TrustStatus::Signed { by: rsa().id(), owner: "The curators".to_owned() });
}

#[test]
fn a_signature_over_the_bytes_of_the_hash_does_not_count() {
    let raw = STANDARD.decode(include_str!("../data/rs256-raw-digest.sig").trim()).unwrap();
    assert!(rsa().verifies(&hex::decode(HASH).unwrap(), &raw), "it is one");
    let mut value: Value = serde_json::from_str(OLDER).unwrap();
    value["signature"] = STANDARD.encode(raw).into();
    let manifest = Manifest::parse(value.to_string().as_bytes()).unwrap();
    assert_eq!(World::new().judge(&manifest).status, TrustStatus::Modified);
}

#[test]
fn an_rsa_key_has_at_least_2048_bits() {
    let small = include_str!("../data/rsa1024.pub.pem");
    assert_eq!(PublicKey::from_pem(small), Err(KeyError::RsaSize(1024)));
    assert_eq!((rsa().alg(), rsa().to_pem().as_str()), ("RS256", include_str!("../data/rsa2048.pub.pem")));
}

/// What `openssl genpkey -algorithm ed25519` writes: PKCS#8 version 1 around the seed (RFC 8410).
#[test]
fn secret_keys_are_written_as_openssl_does() {
    let seed: Vec<u8> = (0..32).collect();
    let der = [&hex::decode("302e020100300506032b657004220420").unwrap()[..], &seed].concat();
    let pem = format!("-----BEGIN PRIVATE KEY-----\n{}\n-----END PRIVATE KEY-----\n", STANDARD.encode(der));
    assert_eq!(seeded().to_pem().unwrap().expose(), pem);
    assert_eq!(SecretKey::from_pem(&pem).unwrap().public_key(), seeded().public_key());
}

/// A complete example of our own form, for other implementations to compare with.
#[test]
fn a_signed_manifest() {
    let text = r#"{"version":"1.0.0","tools":[{"executorCode":"return 1;","parameters":{"type":"object"},"name":"one"}],
        "schemaVersion":1,"publisher":"Example","name":"One","id":"one","x":[1.0,1e3]}"#;
    let manifest = Manifest::parse(text.as_bytes()).unwrap();
    let covered = r#"{"id":"one","name":"One","publisher":"Example","schemaVersion":1,"tools":[{"executorCode":"return 1;","name":"one","parameters":{"type":"object"}}],"version":"1.0.0","x":[1,1000]}"#;
    assert_eq!(String::from_utf8(signed_bytes(&manifest).unwrap()).unwrap(), covered);
    let signed = sign_manifest(&manifest, &seeded()).unwrap();
    let value: Value = serde_json::from_str(&signed).unwrap();
    assert_eq!(
        (&value["alg"], &value["keyId"]),
        (&"Ed25519".into(), &seeded().public_key().id().as_str().into())
    );
    let signature = STANDARD.decode(value["signature"].as_str().unwrap()).unwrap();
    assert!(seeded().public_key().verifies(covered.as_bytes(), &signature));
    assert!(
        signed.contains(
            r#""tools":[{"executorCode":"return 1;","parameters":{"type":"object"},"name":"one"}]"#
        )
    );
    assert!(signed.contains("[1.0,1e3]"), "what is not the signature stays byte for byte");
}

#[test]
fn a_manifest_without_room_for_a_signature_is_not_signed() {
    let filled = |spare: usize| {
        let mut value = plugin();
        value["x"] = "".into();
        let room = MAX_MANIFEST_BYTES - spare - value.to_string().len();
        value["x"] = "x".repeat(room).into();
        sign_manifest(&read(&value), &seeded()).map(|signed| Manifest::parse(signed.as_bytes()).is_ok())
    };
    assert!(filled(0).is_err_and(|error| error.to_string().contains("no room for the signature")));
    assert_eq!(filled(200), Ok(true));
}
