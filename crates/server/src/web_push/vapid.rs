//! The key by which push services recognize this server: RFC 8292. It is derived from the root key, so it outlives restarts
//! and needs no setting.

use aws_lc_rs::{
    agreement::{ECDH_P256, PrivateKey},
    rand::SystemRandom,
    signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair},
};
use base64::{Engine as _, prelude::BASE64_URL_SAFE_NO_PAD};
use serde_json::json;
use sha2::{Digest as _, Sha256};
use toolyard_core::ports::SecretSealer;

/// What the key is derived for.
const PURPOSE: &str = "web-push";
/// How long a signature is valid, in seconds. Push services accept at most 24 hours.
const VALID_S: i64 = 12 * 60 * 60;
/// Random bytes are not a private key in one of 2^32 cases; then the next one is taken.
const KEY_ATTEMPTS: u8 = 4;

/// A signing key of this server.
pub(super) struct VapidKey {
    key_pair: EcdsaKeyPair,
    /// The public key in base64url.
    pub(super) public_key: String,
}

impl VapidKey {
    /// The keys of the root keys, the current one first. Browsers that subscribed before a rotation need the old one.
    pub(super) fn derive_all(secrets: &dyn SecretSealer) -> Vec<Self> {
        secrets.derive_keys(PURPOSE).iter().filter_map(Self::from_seed).collect()
    }

    fn from_seed(seed: &[u8; 32]) -> Option<Self> {
        let candidates = (0..KEY_ATTEMPTS).map(|attempt| match attempt {
            0 => *seed,
            again => Sha256::new().chain_update(seed).chain_update([again]).finalize().into(),
        });
        candidates.into_iter().find_map(|bytes: [u8; 32]| {
            let point = PrivateKey::from_private_key(&ECDH_P256, &bytes).ok()?.compute_public_key().ok()?;
            let algorithm = &ECDSA_P256_SHA256_FIXED_SIGNING;
            let key_pair =
                EcdsaKeyPair::from_private_key_and_public_key(algorithm, &bytes, point.as_ref()).ok()?;
            Some(Self { key_pair, public_key: BASE64_URL_SAFE_NO_PAD.encode(point.as_ref()) })
        })
    }

    /// The header `Authorization` for a push service.
    pub(super) fn authorization(&self, origin: &str, contact: &str, now_s: i64) -> Option<String> {
        let claims = json!({ "aud": origin, "exp": now_s.saturating_add(VALID_S), "sub": contact });
        let header = json!({ "typ": "JWT", "alg": "ES256" });
        let encode = |part: String| BASE64_URL_SAFE_NO_PAD.encode(part);
        let signed = format!("{}.{}", encode(header.to_string()), encode(claims.to_string()));
        let signature = self.key_pair.sign(&SystemRandom::new(), signed.as_bytes()).ok()?;
        let signature = BASE64_URL_SAFE_NO_PAD.encode(signature.as_ref());
        Some(format!("vapid t={signed}.{signature}, k={}", self.public_key))
    }
}
