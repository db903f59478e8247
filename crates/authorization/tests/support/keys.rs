//! Generated keys for tests: signs any header and claims, also those that no honest library would write.

use std::sync::OnceLock;

use aws_lc_rs::{
    encoding::{AsBigEndian as _, EcPublicKeyUncompressedBin},
    rand::SystemRandom,
    rsa::{KeyPair as RsaKeyPair, KeySize},
    signature::{
        ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, Ed25519KeyPair, KeyPair as _, RSA_PKCS1_SHA256,
        RSA_PSS_SHA256,
    },
};
use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use hmac::{Hmac, KeyInit as _, Mac as _};
use serde_json::{Value, json};
use sha2::Sha256;

/// A key pair with its published part.
pub(crate) struct SigningKey {
    pair: KeyPairKind,
    /// The published key.
    pub(crate) jwk: Value,
}

enum KeyPairKind {
    Rsa(RsaKeyPair),
    RsaPss(RsaKeyPair),
    Ec(EcdsaKeyPair),
    Ed(Ed25519KeyPair),
}

impl SigningKey {
    /// Generates a key for an algorithm.
    pub(crate) fn generate(algorithm: &str, id: &str) -> Self {
        let (pair, mut jwk) = match algorithm {
            "RS256" | "PS256" => {
                let pair = RsaKeyPair::generate(KeySize::Rsa2048).unwrap();
                let jwk = rsa_jwk(&pair);
                let kind = if algorithm == "RS256" { KeyPairKind::Rsa } else { KeyPairKind::RsaPss };
                (kind(pair), jwk)
            }
            "ES256" => {
                let pair = EcdsaKeyPair::generate(&ECDSA_P256_SHA256_FIXED_SIGNING).unwrap();
                let point: EcPublicKeyUncompressedBin<'_> = pair.public_key().as_be_bytes().unwrap();
                let (x, y) = point.as_ref()[1..].split_at(32);
                let jwk = json!({ "kty": "EC", "crv": "P-256", "x": encode(x), "y": encode(y) });
                (KeyPairKind::Ec(pair), jwk)
            }
            "EdDSA" => {
                let pair = Ed25519KeyPair::generate().unwrap();
                let jwk = json!({ "kty": "OKP", "crv": "Ed25519", "x": encode(pair.public_key().as_ref()) });
                (KeyPairKind::Ed(pair), jwk)
            }
            other => panic!("no keys for {other}"),
        };
        jwk["kid"] = json!(id);
        Self { pair, jwk }
    }

    /// A JWK set with this key.
    pub(crate) fn public_set(&self) -> String {
        json!({ "keys": [self.jwk] }).to_string()
    }

    /// Signs header and claims as they are.
    pub(crate) fn sign(&self, header: &Value, claims: &Value) -> String {
        let message = message_of(header, claims);
        let (bytes, random) = (message.as_bytes(), SystemRandom::new());
        let signature = match &self.pair {
            KeyPairKind::Rsa(pair) => {
                let mut signature = vec![0; pair.public_modulus_len()];
                pair.sign(&RSA_PKCS1_SHA256, &random, bytes, &mut signature).unwrap();
                signature
            }
            KeyPairKind::RsaPss(pair) => {
                let mut signature = vec![0; pair.public_modulus_len()];
                pair.sign(&RSA_PSS_SHA256, &random, bytes, &mut signature).unwrap();
                signature
            }
            KeyPairKind::Ec(pair) => pair.sign(&random, bytes).unwrap().as_ref().to_vec(),
            KeyPairKind::Ed(pair) => pair.sign(bytes).as_ref().to_vec(),
        };
        format!("{message}.{}", encode(&signature))
    }
}

/// One RSA key for a whole test binary: generating one takes long.
pub(crate) fn shared_rsa() -> &'static SigningKey {
    static KEY: OnceLock<SigningKey> = OnceLock::new();
    KEY.get_or_init(|| SigningKey::generate("RS256", "rsa-1"))
}

/// A token without a signature, as for `alg: none`.
pub(crate) fn encode_unsigned(header: &Value, claims: &Value) -> String {
    format!("{}.", message_of(header, claims))
}

/// A token signed with HMAC, for example with the text of a public key as the secret.
pub(crate) fn sign_with_secret(header: &Value, claims: &Value, secret: &[u8]) -> String {
    let message = message_of(header, claims);
    let mut mac = Hmac::<Sha256>::new_from_slice(secret).unwrap();
    mac.update(message.as_bytes());
    format!("{message}.{}", encode(&mac.finalize().into_bytes()))
}

fn message_of(header: &Value, claims: &Value) -> String {
    format!("{}.{}", encode(header.to_string().as_bytes()), encode(claims.to_string().as_bytes()))
}

fn rsa_jwk(pair: &RsaKeyPair) -> Value {
    let key = pair.public_key();
    let (n, e) =
        (key.modulus().big_endian_without_leading_zero(), key.exponent().big_endian_without_leading_zero());
    json!({ "kty": "RSA", "n": encode(n), "e": encode(e) })
}

fn encode(bytes: &[u8]) -> String {
    URL_SAFE_NO_PAD.encode(bytes)
}
