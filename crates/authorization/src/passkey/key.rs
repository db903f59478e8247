//! Public keys of passkeys, and their signatures.

use std::fmt;

use aws_lc_rs::{
    encoding::{AsDer as _, PublicKeyX509Der},
    rsa::PublicEncryptingKey,
    signature::{
        ECDSA_P256_SHA256_ASN1, ED25519, ParsedPublicKey, RSA_PKCS1_2048_8192_SHA256, UnparsedPublicKey,
        VerificationAlgorithm,
    },
};
use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error as _};

use super::error::PasskeyError;

/// Longest public key, in bytes.
pub const MAX_PUBLIC_KEY_BYTES: usize = 4 * 1024;
/// Longest signature, in bytes: that of an RSA key of 8192 bits.
pub const MAX_SIGNATURE_BYTES: usize = 1024;
/// Shortest RSA key, in bits.
pub const MIN_RSA_BITS: usize = 2048;
/// Longest RSA key, in bits.
pub const MAX_RSA_BITS: usize = 8192;

/// How a passkey signs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "i64", into = "i64")]
pub enum PasskeyAlgorithm {
    /// ECDSA with P-256 and SHA-256: nearly all passkeys.
    Es256,
    /// Ed25519: some security keys.
    EdDsa,
    /// RSA PKCS#1 v1.5 with SHA-256: Windows Hello.
    Rs256,
}

/// A registered passkey, as it is stored.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PasskeyKey {
    /// The id that the authenticator chose. Must be unique among all accounts; the caller checks that.
    #[serde(serialize_with = "write_base64url", deserialize_with = "read_base64url")]
    pub credential_id: Vec<u8>,
    /// The public key: SubjectPublicKeyInfo in DER.
    #[serde(serialize_with = "write_base64url", deserialize_with = "read_base64url")]
    pub public_key: Vec<u8>,
    /// How it signs.
    pub algorithm: PasskeyAlgorithm,
    /// The signature counter at the last use. Zero for authenticators without one.
    pub sign_count: u32,
    /// Whether it was synchronized to other devices at the last use.
    pub backed_up: bool,
}

impl PasskeyAlgorithm {
    /// Every algorithm, in the order in which to request them. ES256 comes first, because Safari reports the public key of
    /// no other one.
    pub const ALL: [Self; 3] = [Self::Es256, Self::EdDsa, Self::Rs256];

    /// The number in the COSE registry, as in `pubKeyCredParams`.
    pub const fn cose_number(self) -> i64 {
        match self {
            Self::Es256 => -7,
            Self::EdDsa => -8,
            Self::Rs256 => -257,
        }
    }

    /// The algorithm with a number of the COSE registry.
    pub fn from_cose_number(number: i64) -> Result<Self, PasskeyError> {
        Self::ALL
            .into_iter()
            .find(|algorithm| algorithm.cose_number() == number)
            .ok_or(PasskeyError::Algorithm)
    }

    /// The SubjectPublicKeyInfo of a key of this algorithm, in canonical form.
    ///
    /// The library also reads keys without that envelope, or with bytes after it. Such a key is the same key, so it is
    /// accepted, but only the canonical form is stored.
    pub(super) fn canonical_public_key(self, bytes: &[u8]) -> Result<Vec<u8>, PasskeyError> {
        let key = ParsedPublicKey::new(self.verification(), bytes).map_err(|_| PasskeyError::PublicKey)?;
        let der: PublicKeyX509Der<'_> = key.as_der().map_err(|_| PasskeyError::PublicKey)?;
        if self == Self::Rs256 {
            check_rsa_size(der.as_ref())?;
        }
        Ok(der.as_ref().to_vec())
    }

    fn verification(self) -> &'static dyn VerificationAlgorithm {
        match self {
            Self::Es256 => &ECDSA_P256_SHA256_ASN1,
            Self::EdDsa => &ED25519,
            Self::Rs256 => &RSA_PKCS1_2048_8192_SHA256,
        }
    }
}

/// The library checks the size of an RSA key only when it verifies, which would be after the registration.
fn check_rsa_size(der: &[u8]) -> Result<(), PasskeyError> {
    let bits = PublicEncryptingKey::from_der(der).map_err(|_| PasskeyError::KeySize)?.key_size_bits();
    if (MIN_RSA_BITS..=MAX_RSA_BITS).contains(&bits) { Ok(()) } else { Err(PasskeyError::KeySize) }
}

impl PasskeyKey {
    pub(super) fn verify_signature(&self, message: &[u8], signature: &[u8]) -> Result<(), PasskeyError> {
        UnparsedPublicKey::new(self.algorithm.verification(), &self.public_key)
            .verify(message, signature)
            .map_err(|_| PasskeyError::Signature)
    }
}

impl fmt::Debug for PasskeyKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The bytes of the key would fill a log line, and the id identifies it.
        f.debug_struct("PasskeyKey")
            .field("credential_id", &URL_SAFE_NO_PAD.encode(&self.credential_id))
            .field("algorithm", &self.algorithm)
            .field("sign_count", &self.sign_count)
            .field("backed_up", &self.backed_up)
            .finish_non_exhaustive()
    }
}

impl TryFrom<i64> for PasskeyAlgorithm {
    type Error = PasskeyError;

    fn try_from(number: i64) -> Result<Self, PasskeyError> {
        Self::from_cose_number(number)
    }
}

impl From<PasskeyAlgorithm> for i64 {
    fn from(algorithm: PasskeyAlgorithm) -> Self {
        algorithm.cose_number()
    }
}

fn write_base64url<S: Serializer>(bytes: &[u8], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&URL_SAFE_NO_PAD.encode(bytes))
}

fn read_base64url<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<u8>, D::Error> {
    let text = String::deserialize(deserializer)?;
    URL_SAFE_NO_PAD.decode(text).map_err(D::Error::custom)
}
