//! An authenticator and its browser, with one passkey.

use aws_lc_rs::{
    encoding::{AsDer as _, PublicKeyX509Der},
    rand::SystemRandom,
    signature::{ECDSA_P256_SHA256_ASN1_SIGNING, EcdsaKeyPair, KeyPair as _},
};
use base64::{Engine as _, prelude::BASE64_URL_SAFE_NO_PAD};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

const PRESENT_AND_VERIFIED: u8 = 0x05;
const HAS_CREDENTIAL: u8 = 0x40;

pub(super) struct Authenticator {
    key: EcdsaKeyPair,
    id: [u8; 16],
    pub(super) origin: String,
    pub(super) sign_count: u32,
}

fn encode(bytes: &[u8]) -> String {
    BASE64_URL_SAFE_NO_PAD.encode(bytes)
}

impl Authenticator {
    pub(super) fn new(id: u8, origin: &str) -> Self {
        let key = EcdsaKeyPair::generate(&ECDSA_P256_SHA256_ASN1_SIGNING).unwrap();
        Self { key, id: [id; 16], origin: origin.to_owned(), sign_count: 0 }
    }

    fn client_data(&self, kind: &str, options: &Value) -> Vec<u8> {
        let data = json!({ "type": kind, "challenge": options["challenge"], "origin": self.origin,
            "crossOrigin": false });
        data.to_string().into_bytes()
    }

    fn head(&mut self, rp_id: &Value, flags: u8) -> Vec<u8> {
        self.sign_count += 1;
        let mut data = Sha256::digest(rp_id.as_str().unwrap()).to_vec();
        data.push(flags);
        data.extend(self.sign_count.to_be_bytes());
        data
    }

    /// What `navigator.credentials.create` returns.
    pub(super) fn create(&mut self, options: &Value) -> Value {
        let mut data = self.head(&options["rp"]["id"], PRESENT_AND_VERIFIED | HAS_CREDENTIAL);
        data.extend([0; 16]);
        data.extend(16_u16.to_be_bytes());
        data.extend(self.id);
        // The key in CBOR, which the server does not read.
        data.extend([0xa0]);
        let spki: PublicKeyX509Der<'_> = self.key.public_key().as_der().unwrap();
        json!({ "id": encode(&self.id), "rawId": encode(&self.id), "type": "public-key", "response": {
            "clientDataJSON": encode(&self.client_data("webauthn.create", options)),
            "authenticatorData": encode(&data),
            "publicKey": encode(spki.as_ref()),
            "publicKeyAlgorithm": -7,
        } })
    }

    /// What `navigator.credentials.get` returns.
    pub(super) fn get(&mut self, options: &Value) -> Value {
        let (data, client_data) =
            (self.head(&options["rpId"], PRESENT_AND_VERIFIED), self.client_data("webauthn.get", options));
        let signed = [data.as_slice(), &Sha256::digest(&client_data)].concat();
        let signature = self.key.sign(&SystemRandom::new(), &signed).unwrap();
        json!({ "id": encode(&self.id), "rawId": encode(&self.id), "type": "public-key", "response": {
            "clientDataJSON": encode(&client_data),
            "authenticatorData": encode(&data),
            "signature": encode(signature.as_ref()),
        } })
    }
}
