//! Client secrets: issued once, stored as SHA-256.

use std::fmt;

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};
use subtle::ConstantTimeEq as _;
use toolyard_protocol::secret::SecretText;

/// Longest secret that a client may send, in bytes.
pub const MAX_SECRET_BYTES: usize = 512;

/// The SHA-256 of a secret. Secrets are 32 random bytes, so a slow hash would protect nothing and cost the server time that
/// anyone can spend.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct SecretHash([u8; 32]);

impl SecretHash {
    /// The hash of a secret.
    pub fn from_secret(secret: &SecretText) -> Self {
        Self(Sha256::digest(secret.expose().as_bytes()).into())
    }

    /// Whether this is the hash of a secret. Takes the same time for each wrong secret.
    pub fn verify(&self, secret: &SecretText) -> bool {
        self.0.ct_eq(&Self::from_secret(secret).0).into()
    }
}

/// A client secret of 32 random bytes.
pub fn secret_from_bytes(bytes: [u8; 32]) -> SecretText {
    SecretText::new(format!("tys_{}", URL_SAFE_NO_PAD.encode(bytes)))
}

impl TryFrom<String> for SecretHash {
    type Error = hex::FromHexError;

    fn try_from(text: String) -> Result<Self, hex::FromHexError> {
        let mut hash = [0; 32];
        hex::decode_to_slice(text, &mut hash)?;
        Ok(Self(hash))
    }
}

impl From<SecretHash> for String {
    fn from(hash: SecretHash) -> Self {
        hex::encode(hash.0)
    }
}

impl fmt::Debug for SecretHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SecretHash(..)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_same_secret_verifies() {
        let secret = secret_from_bytes([7; 32]);
        assert!(secret.expose().starts_with("tys_") && secret.expose().len() == 47);
        let hash = SecretHash::from_secret(&secret);
        assert!(hash.verify(&secret));
        for wrong in ["", "tys_", &secret.expose()[..46], &format!("{}x", secret.expose())] {
            assert!(!hash.verify(&SecretText::new(wrong)), "{wrong}");
        }
    }

    #[test]
    fn a_hash_is_stored_in_hex_and_not_shown() {
        let hash = SecretHash::from_secret(&SecretText::new("sesame"));
        let stored = serde_json::to_string(&hash).unwrap();
        assert_eq!(serde_json::from_str::<SecretHash>(&stored).unwrap(), hash);
        assert!(!format!("{hash:?}").contains(&stored[1..9]));
        for bad in ["\"\"", "\"zz\"", "\"ab\""] {
            assert!(serde_json::from_str::<SecretHash>(bad).is_err(), "{bad}");
        }
    }
}
