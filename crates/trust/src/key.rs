//! Keys. The text forms are standard: PKCS#8 for secret keys, SPKI for public keys, in PEM.

use std::fmt;

use aws_lc_rs::{
    encoding::AsDer as _,
    rsa,
    signature::{
        ED25519, Ed25519KeyPair, KeyPair as _, RSA_PKCS1_2048_8192_SHA256, RsaParameters, UnparsedPublicKey,
    },
};
use base64::{Engine as _, engine::general_purpose::STANDARD};
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};
use toolyard_protocol::{plugin::KeyId, secret::SecretText};

use crate::pem;

/// The prefix of the 32 bytes of an Ed25519 key in SPKI (RFC 8410).
const ED25519_SPKI: [u8; 12] = [0x30, 0x2a, 0x30, 0x05, 0x06, 0x03, 0x2b, 0x65, 0x70, 0x03, 0x21, 0x00];
const PUBLIC: &str = "PUBLIC KEY";
const PRIVATE: &str = "PRIVATE KEY";
/// Minimum number of bits of an RSA key.
const MIN_RSA_BITS: u32 = 2048;
/// Maximum number of bits of an RSA key.
const MAX_RSA_BITS: u32 = 8192;

/// Why a text is not a valid key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum KeyError {
    /// Not a public key.
    #[error("no public key: expected `-----BEGIN PUBLIC KEY-----` with an Ed25519 or RSA key")]
    NotPublic,
    /// A secret key instead of a public one.
    #[error("this is a secret key; use the public key, and keep this one secret")]
    SecretAsPublic,
    /// Not a supported key.
    #[error("not an Ed25519 key, nor an RSA key, in SPKI form")]
    NotSpki,
    /// An RSA key that is too small, or too large to verify in reasonable time.
    #[error("an RSA key of {0} bits; expected {MIN_RSA_BITS} to {MAX_RSA_BITS}")]
    RsaSize(u32),
    /// Not a secret key.
    #[error("no secret key: expected `-----BEGIN PRIVATE KEY-----` with an Ed25519 key, not encrypted")]
    NotSecret,
    /// The library failed to sign.
    #[error("the key cannot sign")]
    CannotSign,
}

/// A public key.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct PublicKey {
    kind: PublicKeyKind,
    spki: Vec<u8>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum PublicKeyKind {
    Ed25519,
    Rsa,
}

impl PublicKey {
    /// A key in SPKI form.
    pub fn from_spki(der: &[u8]) -> Result<Self, KeyError> {
        if der.len() == ED25519_SPKI.len() + 32 && der.starts_with(&ED25519_SPKI) {
            return Ok(Self { kind: PublicKeyKind::Ed25519, spki: der.to_vec() });
        }
        let key = rsa::PublicKey::from_der(der).map_err(|_| KeyError::NotSpki)?;
        // One key, one id: other encodings of the same key are rejected.
        let spki = key.as_der().map_err(|_| KeyError::NotSpki)?;
        if spki.as_ref() != der {
            return Err(KeyError::NotSpki);
        }
        match RsaParameters::public_modulus_len(key.as_ref()) {
            Ok(MIN_RSA_BITS..=MAX_RSA_BITS) => Ok(Self { kind: PublicKeyKind::Rsa, spki: der.to_vec() }),
            Ok(bits) => Err(KeyError::RsaSize(bits)),
            Err(_) => Err(KeyError::NotSpki),
        }
    }

    /// The 32 bytes of an Ed25519 key.
    pub fn from_ed25519(bytes: &[u8; 32]) -> Self {
        Self { kind: PublicKeyKind::Ed25519, spki: [&ED25519_SPKI[..], bytes].concat() }
    }

    /// A key in PEM.
    pub fn from_pem(text: &str) -> Result<Self, KeyError> {
        match pem::decode_pem(PUBLIC, text) {
            Some(der) => Self::from_spki(&der),
            None if text.contains("PRIVATE KEY-----") => Err(KeyError::SecretAsPublic),
            None => Err(KeyError::NotPublic),
        }
    }

    /// In PEM.
    pub fn to_pem(&self) -> String {
        pem::encode_pem(PUBLIC, &self.spki)
    }

    /// In SPKI form.
    pub fn spki(&self) -> &[u8] {
        &self.spki
    }

    /// The value of `alg` in its signatures.
    pub const fn alg(&self) -> &'static str {
        match self.kind {
            PublicKeyKind::Ed25519 => "Ed25519",
            PublicKeyKind::Rsa => "RS256",
        }
    }

    /// Whether it is an Ed25519 key.
    pub(crate) const fn is_ed25519(&self) -> bool {
        matches!(self.kind, PublicKeyKind::Ed25519)
    }

    /// The first 16 hex digits of SHA-256 of the SPKI form.
    pub fn id(&self) -> KeyId {
        KeyId::from_digest(&Sha256::digest(&self.spki).into())
    }

    /// Whether this key signed these bytes: Ed25519, or RSA PKCS#1 v1.5 with SHA-256.
    pub fn verifies(&self, message: &[u8], signature: &[u8]) -> bool {
        match self.kind {
            PublicKeyKind::Ed25519 => {
                let raw = self.spki.get(ED25519_SPKI.len()..).unwrap_or_default();
                UnparsedPublicKey::new(&ED25519, raw).verify(message, signature).is_ok()
            }
            PublicKeyKind::Rsa => UnparsedPublicKey::new(&RSA_PKCS1_2048_8192_SHA256, &self.spki)
                .verify(message, signature)
                .is_ok(),
        }
    }
}

impl fmt::Debug for PublicKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} key {}", self.alg(), self.id())
    }
}

impl TryFrom<String> for PublicKey {
    type Error = KeyError;

    fn try_from(text: String) -> Result<Self, KeyError> {
        if text.len() > pem::MAX_PEM_BYTES {
            return Err(KeyError::NotSpki);
        }
        Self::from_spki(&STANDARD.decode(text).map_err(|_| KeyError::NotSpki)?)
    }
}

impl From<PublicKey> for String {
    fn from(key: PublicKey) -> Self {
        STANDARD.encode(key.spki)
    }
}

/// An Ed25519 secret key. It never appears in a log.
pub struct SecretKey(Ed25519KeyPair);

impl SecretKey {
    /// A key from 32 random bytes.
    pub fn from_seed(seed: &[u8; 32]) -> Result<Self, KeyError> {
        Ed25519KeyPair::from_seed_unchecked(seed).map(Self).map_err(|_| KeyError::NotSecret)
    }

    /// A key in PEM, as we write it and as `openssl genpkey -algorithm ed25519` does.
    pub fn from_pem(text: &str) -> Result<Self, KeyError> {
        let der = pem::decode_pem(PRIVATE, text).ok_or(KeyError::NotSecret)?;
        Ed25519KeyPair::from_pkcs8(&der).map(Self).map_err(|_| KeyError::NotSecret)
    }

    /// In PEM.
    pub fn to_pem(&self) -> Result<SecretText, KeyError> {
        let der = self.0.to_pkcs8v1().map_err(|_| KeyError::CannotSign)?;
        Ok(SecretText::new(pem::encode_pem(PRIVATE, der.as_ref())))
    }

    /// The public key.
    pub fn public_key(&self) -> PublicKey {
        let bytes = self.0.public_key().as_ref();
        PublicKey { kind: PublicKeyKind::Ed25519, spki: [&ED25519_SPKI[..], bytes].concat() }
    }

    /// The signature of a message: 64 bytes.
    pub fn sign(&self, message: &[u8]) -> Result<Vec<u8>, KeyError> {
        let signature = self.0.try_sign(message).map_err(|_| KeyError::CannotSign)?;
        Ok(signature.as_ref().to_vec())
    }
}

impl fmt::Debug for SecretKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "secret key {}", self.public_key().id())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key() -> SecretKey {
        SecretKey::from_seed(&std::array::from_fn(|n| n as u8)).unwrap()
    }

    #[test]
    fn keys_come_back_from_their_text() {
        let key = key();
        let (secret, public) = (key.to_pem().unwrap(), key.public_key().to_pem());
        let again = SecretKey::from_pem(secret.expose()).unwrap();
        assert_eq!(again.public_key(), PublicKey::from_pem(&public).unwrap());
        assert_eq!(
            serde_json::from_str::<PublicKey>(&serde_json::to_string(&key.public_key()).unwrap()).unwrap(),
            key.public_key()
        );
        assert!(again.public_key().verifies(b"m", &key.sign(b"m").unwrap()));
        assert!(!again.public_key().verifies(b"n", &key.sign(b"m").unwrap()));
        assert!(!again.public_key().verifies(b"m", b"short"));
    }

    #[test]
    fn nothing_of_a_secret_key_is_printed() {
        let printed = format!("{:?}", key());
        assert_eq!(printed, format!("secret key {}", key().public_key().id()));
    }

    #[test]
    fn public_and_secret_keys_are_not_confused() {
        let (secret, public) = (key().to_pem().unwrap(), key().public_key().to_pem());
        assert_eq!(PublicKey::from_pem(secret.expose()), Err(KeyError::SecretAsPublic));
        assert_eq!(SecretKey::from_pem(&public).unwrap_err(), KeyError::NotSecret);
        assert_eq!(PublicKey::from_pem("hello"), Err(KeyError::NotPublic));
        assert_eq!(PublicKey::from_spki(&[0; 44]), Err(KeyError::NotSpki));
        assert!(serde_json::from_str::<PublicKey>("\"AAAA\"").is_err());
    }
}
