//! Attacks and near-misses. Each row is a name, a change and the error that must come out.

use serde_json::{Value, json};
use toolyard_authorization::passkey::{
    MAX_AUTHENTICATOR_DATA_BYTES, MAX_CLIENT_DATA_BYTES, MAX_CREDENTIAL_ID_BYTES, MAX_PUBLIC_KEY_BYTES,
    MAX_SIGNATURE_BYTES, MAX_USER_HANDLE_BYTES, PasskeyError, PasskeyError as E, PasskeyKey,
    verify_assertion, verify_registration,
};

use crate::{
    authenticator::{
        AuthenticatorKey, BACKED_UP, CHALLENGE, Ceremony, HAS_CREDENTIAL, HAS_EXTENSIONS, USER_HANDLE,
        USER_PRESENT, USER_VERIFIED, encode, relying_party, rsa_public_key,
    },
    register, registered, sign_in,
};

type CeremonyAttack = (&'static str, fn(&mut Ceremony), PasskeyError);
type ResponseAttack = (&'static str, fn(&mut Value), PasskeyError);

/// For both ceremonies. The key signs what is wrong, as the authenticator of a victim would on a wrong page.
const CEREMONY_ATTACKS: &[CeremonyAttack] = &[
    ("other challenge", |c| c.client_data["challenge"] = json!(encode(&[7; 32])), E::Challenge),
    (
        "prefix of the challenge",
        |c| c.client_data["challenge"] = json!(encode(&CHALLENGE[..31])),
        E::Challenge,
    ),
    ("empty challenge", |c| c.client_data["challenge"] = json!(""), E::Challenge),
    (
        "padded challenge",
        |c| c.client_data["challenge"] = json!(format!("{}=", encode(CHALLENGE))),
        E::Challenge,
    ),
    ("other port", |c| c.client_data["origin"] = json!("https://tools.example.com:9443"), E::Origin),
    ("default port", |c| c.client_data["origin"] = json!("https://tools.example.com"), E::Origin),
    ("plain http", |c| c.client_data["origin"] = json!("http://tools.example.com:8443"), E::Origin),
    ("subdomain", |c| c.client_data["origin"] = json!("https://evil.tools.example.com:8443"), E::Origin),
    ("parent domain", |c| c.client_data["origin"] = json!("https://example.com:8443"), E::Origin),
    ("trailing slash", |c| c.client_data["origin"] = json!("https://tools.example.com:8443/"), E::Origin),
    ("case of the origin", |c| c.client_data["origin"] = json!("https://Tools.example.com:8443"), E::Origin),
    ("longer port", |c| c.client_data["origin"] = json!("https://tools.example.com:84430"), E::Origin),
    ("empty origin", |c| c.client_data["origin"] = json!(""), E::Origin),
    ("opaque origin", |c| c.client_data["origin"] = json!("null"), E::Origin),
    ("embedded", |c| c.client_data["crossOrigin"] = json!(true), E::CrossOrigin),
    ("top origin", |c| c.client_data["topOrigin"] = json!("https://evil.example"), E::CrossOrigin),
    ("cross-origin as text", |c| c.client_data["crossOrigin"] = json!("false"), E::ClientData),
    ("no type", |c| c.client_data["type"] = json!(null), E::ClientData),
    ("type of payments", |c| c.client_data["type"] = json!("payment.get"), E::Ceremony),
    ("client data is no JSON", |c| c.raw_client_data = Some(b"webauthn.get".to_vec()), E::ClientData),
    ("client data is a list", |c| c.client_data = json!([c.client_data]), E::ClientData),
    ("client data is empty", |c| c.raw_client_data = Some(Vec::new()), E::ClientData),
    (
        "client data is not UTF-8",
        |c| c.raw_client_data = Some(b"{\"type\":\"\xff\"}".to_vec()),
        E::ClientData,
    ),
    (
        "client data with text after it",
        |c| c.raw_client_data = Some(format!("{} {{}}", c.client_data).into_bytes()),
        E::ClientData,
    ),
    (
        "two challenges",
        |c| {
            let other = c.client_data.to_string().replacen('{', "{\"challenge\":\"AAAA\",", 1);
            c.raw_client_data = Some(other.into_bytes());
        },
        E::ClientData,
    ),
    ("other relying party", |c| c.relying_party_id = "evil.example", E::RelyingParty),
    ("parent as the relying party", |c| c.relying_party_id = "example.com", E::RelyingParty),
    ("subdomain as the relying party", |c| c.relying_party_id = "a.tools.example.com", E::RelyingParty),
    (
        "origin as the relying party",
        |c| c.relying_party_id = "https://tools.example.com:8443",
        E::RelyingParty,
    ),
    ("not present", |c| c.flags &= !USER_PRESENT, E::UserNotPresent),
    ("not verified", |c| c.flags &= !USER_VERIFIED, E::UserNotVerified),
    ("backed up without being eligible", |c| c.flags |= BACKED_UP, E::BackupFlags),
    ("empty id", |c| c.credential_id.clear(), E::CredentialId),
    ("too long id", |c| c.credential_id = vec![1; MAX_CREDENTIAL_ID_BYTES + 1], E::TooLong("id")),
    (
        "too long client data",
        |c| c.client_data["padding"] = json!("x".repeat(MAX_CLIENT_DATA_BYTES)),
        E::TooLong("clientDataJSON"),
    ),
    (
        "too long authenticator data",
        |c| {
            c.flags |= HAS_EXTENSIONS;
            c.extensions = vec![0; MAX_AUTHENTICATOR_DATA_BYTES];
        },
        E::TooLong("authenticatorData"),
    ),
];

/// For both ceremonies: changes of the response on its way.
const RESPONSE_ATTACKS: &[ResponseAttack] = &[
    ("other type", |r| r["type"] = json!("password"), E::CredentialType),
    ("type in other case", |r| r["type"] = json!("Public-Key"), E::CredentialType),
    ("ids differ", |r| r["rawId"] = json!("AAAA"), E::CredentialId),
    ("id is not base64url", |r| (r["id"], r["rawId"]) = (json!("a+/b"), json!("a+/b")), E::Encoding("id")),
    (
        "client data is not base64url",
        |r| r["response"]["clientDataJSON"] = json!("{}"),
        E::Encoding("clientDataJSON"),
    ),
    (
        "authenticator data with padding",
        |r| r["response"]["authenticatorData"] = json!("AA=="),
        E::Encoding("authenticatorData"),
    ),
    ("empty authenticator data", |r| r["response"]["authenticatorData"] = json!(""), E::AuthenticatorData),
];

const REGISTRATION_CEREMONY_ATTACKS: &[CeremonyAttack] = &[
    ("sign-in as a registration", |c| c.client_data["type"] = json!("webauthn.get"), E::Ceremony),
    ("no credential", |c| c.flags &= !HAS_CREDENTIAL, E::NoCredential),
    ("other credential", |c| c.credential_id = b"credential-2".to_vec(), E::OtherCredential),
    ("attested id is longer", |c| c.attested_id.push(0), E::OtherCredential),
    ("attested id is empty", |c| c.attested_id.clear(), E::OtherCredential),
];

const REGISTRATION_RESPONSE_ATTACKS: &[ResponseAttack] = &[
    ("unknown algorithm", |r| r["response"]["publicKeyAlgorithm"] = json!(-37), E::Algorithm),
    ("RSA with SHA-1", |r| r["response"]["publicKeyAlgorithm"] = json!(-65535), E::Algorithm),
    ("no algorithm", |r| r["response"]["publicKeyAlgorithm"] = json!(0), E::Algorithm),
    ("P-256 as Ed25519", |r| r["response"]["publicKeyAlgorithm"] = json!(-8), E::PublicKey),
    ("P-256 as RSA", |r| r["response"]["publicKeyAlgorithm"] = json!(-257), E::PublicKey),
    ("Ed25519 as P-256", |r| set_key(r, &AuthenticatorKey::ed_dsa().public_key()), E::PublicKey),
    ("P-384 as P-256", |r| set_key(r, &AuthenticatorKey::p384().public_key()), E::PublicKey),
    ("no key", |r| r["response"]["publicKey"] = json!(null), E::NoPublicKey),
    ("empty key", |r| set_key(r, &[]), E::PublicKey),
    ("point that is not on the curve", |r| set_key(r, &[&[4; 1][..], &[1; 64]].concat()), E::PublicKey),
    ("key is not base64url", |r| r["response"]["publicKey"] = json!("=="), E::Encoding("publicKey")),
    ("too long key", |r| set_key(r, &vec![0; MAX_PUBLIC_KEY_BYTES + 1]), E::TooLong("publicKey")),
    ("RSA key of 1024 bits", |r| set_rsa_key(r, 1024, &[1, 0, 1]), E::KeySize),
    ("RSA key of 2040 bits", |r| set_rsa_key(r, 2040, &[1, 0, 1]), E::KeySize),
    ("RSA key of 8200 bits", |r| set_rsa_key(r, 8200, &[1, 0, 1]), E::KeySize),
    ("RSA key with exponent 1", |r| set_rsa_key(r, 2048, &[1]), E::PublicKey),
];

const ASSERTION_CEREMONY_ATTACKS: &[CeremonyAttack] = &[
    ("registration as a sign-in", |c| c.client_data["type"] = json!("webauthn.create"), E::Ceremony),
    ("other passkey", |c| c.credential_id = b"credential-2".to_vec(), E::UnknownPasskey),
    ("prefix of the id", |c| c.credential_id.truncate(11), E::UnknownPasskey),
    ("other account", |c| c.user_handle = Some(b"account-18".to_vec()), E::UserHandle),
    ("prefix of the account", |c| c.user_handle = Some(b"account-1".to_vec()), E::UserHandle),
    ("empty account", |c| c.user_handle = Some(Vec::new()), E::UserHandle),
    (
        "too long account",
        |c| c.user_handle = Some(vec![1; MAX_USER_HANDLE_BYTES + 1]),
        E::TooLong("userHandle"),
    ),
    ("same counter", |c| c.sign_count = 7, E::ClonedKey),
    ("lower counter", |c| c.sign_count = 6, E::ClonedKey),
    ("counter is gone", |c| c.sign_count = 0, E::ClonedKey),
    ("bytes after the data", |c| c.extensions = vec![0], E::AuthenticatorData),
    ("extensions are missing", |c| c.flags |= HAS_EXTENSIONS, E::AuthenticatorData),
];

const ASSERTION_RESPONSE_ATTACKS: &[ResponseAttack] = &[
    ("empty signature", |r| r["response"]["signature"] = json!(""), E::Signature),
    ("signature of zeros", |r| r["response"]["signature"] = json!(encode(&[0; 64])), E::Signature),
    ("signature is not base64url", |r| r["response"]["signature"] = json!("%"), E::Encoding("signature")),
    (
        "too long signature",
        |r| r["response"]["signature"] = json!(encode(&[0; MAX_SIGNATURE_BYTES + 1])),
        E::TooLong("signature"),
    ),
    ("account is not base64url", |r| r["response"]["userHandle"] = json!("a b"), E::Encoding("userHandle")),
];

fn set_key(response: &mut Value, key: &[u8]) {
    response["response"]["publicKey"] = json!(encode(key));
}

fn set_rsa_key(response: &mut Value, bits: usize, exponent: &[u8]) {
    response["response"]["publicKeyAlgorithm"] = json!(-257);
    set_key(response, &rsa_public_key(bits, exponent));
}

#[test]
fn registrations_cannot_be_forged_or_diverted() {
    let key = AuthenticatorKey::es256();
    for (name, change, expected) in CEREMONY_ATTACKS.iter().chain(REGISTRATION_CEREMONY_ATTACKS) {
        let mut ceremony = Ceremony::registration();
        change(&mut ceremony);
        assert_eq!(register(ceremony.register(&key)), Err(*expected), "{name}");
    }
    for (name, change, expected) in RESPONSE_ATTACKS.iter().chain(REGISTRATION_RESPONSE_ATTACKS) {
        let mut response = Ceremony::registration().register(&key);
        change(&mut response);
        assert_eq!(register(response), Err(*expected), "{name}");
    }
}

#[test]
fn sign_ins_cannot_be_forged_or_diverted() {
    for key in AuthenticatorKey::all() {
        let stored = registered(key);
        for (name, change, expected) in CEREMONY_ATTACKS.iter().chain(ASSERTION_CEREMONY_ATTACKS) {
            let mut ceremony = Ceremony::assertion();
            change(&mut ceremony);
            assert_eq!(sign_in(ceremony.sign(key), &stored), Err(*expected), "{name}");
        }
        for (name, change, expected) in RESPONSE_ATTACKS.iter().chain(ASSERTION_RESPONSE_ATTACKS) {
            let mut response = Ceremony::assertion().sign(key);
            change(&mut response);
            assert_eq!(sign_in(response, &stored), Err(*expected), "{name}");
        }
    }
}

#[test]
fn another_key_does_not_sign_in() {
    let keys = AuthenticatorKey::all();
    let others = [AuthenticatorKey::es256(), AuthenticatorKey::ed_dsa()];
    for (index, key) in keys.iter().enumerate() {
        let stored = registered(key);
        let strangers = keys.iter().enumerate().filter(|(other, _)| *other != index).map(|(_, key)| key);
        for stranger in strangers.chain(&others) {
            let response = Ceremony::assertion().sign(stranger);
            assert_eq!(sign_in(response, &stored), Err(E::Signature), "stored: {}", key.cose_number());
        }
    }
}

#[test]
fn a_replaced_key_does_not_sign_in() {
    let key = AuthenticatorKey::es256();
    let replaced = PasskeyKey { public_key: AuthenticatorKey::es256().public_key(), ..registered(&key) };
    assert_eq!(sign_in(Ceremony::assertion().sign(&key), &replaced), Err(E::Signature));
    for public_key in [Vec::new(), b"damaged".to_vec(), rsa_public_key(1024, &[1, 0, 1])] {
        let damaged = PasskeyKey { public_key, ..registered(&key) };
        assert_eq!(sign_in(Ceremony::assertion().sign(&key), &damaged), Err(E::Signature));
    }
}

#[test]
fn a_response_is_bound_to_its_signed_parts() {
    // Each part is genuine, but of another response of the same key.
    let key = AuthenticatorKey::es256();
    let stored = registered(&key);
    let later = Ceremony { sign_count: 9, ..Ceremony::assertion() }.sign(&key);
    let mut other_page = Ceremony::assertion();
    other_page.client_data["extra"] = json!(1);
    let other_page = other_page.sign(&key);
    for (member, source) in
        [("authenticatorData", &later), ("clientDataJSON", &other_page), ("signature", &later)]
    {
        let mut mixed = Ceremony::assertion().sign(&key);
        mixed["response"][member] = source["response"][member].clone();
        assert_eq!(sign_in(mixed, &stored), Err(E::Signature), "{member}");
    }
}

#[test]
fn a_short_challenge_is_a_mistake_of_the_caller() {
    let key = AuthenticatorKey::es256();
    let stored = registered(&key);
    for challenge in [&b""[..], b"15 bytes, not 16"[..15].as_ref()] {
        let mut ceremony = Ceremony::registration();
        ceremony.client_data["challenge"] = json!(encode(challenge));
        let registration = serde_json::from_value(ceremony.register(&key)).unwrap();
        assert_eq!(verify_registration(&registration, challenge, &relying_party()), Err(E::Challenge));
        let mut ceremony = Ceremony::assertion();
        ceremony.client_data["challenge"] = json!(encode(challenge));
        let assertion = serde_json::from_value(ceremony.sign(&key)).unwrap();
        let result = verify_assertion(&assertion, challenge, &relying_party(), &stored, USER_HANDLE);
        assert_eq!(result, Err(E::Challenge));
    }
}

#[test]
fn bounds_are_inclusive() {
    let key = AuthenticatorKey::es256();
    let id = vec![1; MAX_CREDENTIAL_ID_BYTES];
    let ceremony =
        Ceremony { credential_id: id.clone(), attested_id: id.clone(), ..Ceremony::registration() };
    assert_eq!(register(ceremony.register(&key)).unwrap().credential_id, id);
    for bits in [2048, 8192] {
        let mut response = Ceremony::registration().register(&key);
        set_rsa_key(&mut response, bits, &[1, 0, 1]);
        assert!(register(response).is_ok(), "{bits} bits");
    }
}
